package llm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
)

// echo is a provider that repeats the last message.
type echo struct{}

func (echo) Name() string { return "echo" }

func (echo) Stream(_ context.Context, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	b := llm.NewBuilder(emit)
	if err := b.Text("You said: " + req.Messages[len(req.Messages)-1].Content.PlainText()); err != nil {
		return nil, err
	}
	model := llm.Model{Provider: "echo", ID: req.Model}
	return b.Finish(model, perdure.StopEndTurn, perdure.Usage{Input: 3, Output: 2, Calls: 1}, nil)
}

// A provider calls a model once and streams the answer. A Builder emits the pieces and collects
// them.
func ExampleProvider() {
	var provider llm.Provider = echo{}
	request := llm.Request{Model: "any", Messages: []perdure.Message{perdure.UserText("hello")}}
	answer, err := provider.Stream(context.Background(), request, func(d llm.Delta) error {
		fmt.Printf("%s: %s\n", d.Kind, d.Text)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.PlainText(), answer.StopReason)
	// Output:
	// text: You said: hello
	// You said: hello end_turn
}

// Providers are found by the name that a model's configuration uses.
func ExampleProviders() {
	providers := llm.NewProviders(echo{}, scripted.New(scripted.Config{}))
	fmt.Println(providers.Names())
	_, err := providers.Lookup("other")
	fmt.Println(err)
	// Output:
	// [echo scripted]
	// invalid_argument: provider: "other" is unknown; there are: echo, scripted
}

// Fold assembles the parts of an answer from its deltas.
func ExampleFold() {
	parts := llm.Fold([]llm.Delta{
		{Kind: llm.DeltaText, Text: "Hello "},
		{Kind: llm.DeltaText, Text: "Ann"},
	})
	fmt.Println(len(parts), parts[0].Text)
	// Output: 1 Hello Ann
}

func ExampleParseModel() {
	model, err := llm.ParseModel("openai/gpt-5.4")
	fmt.Println(model.Provider, model.ID, err)
	_, err = llm.ParseModel("gpt-5.4")
	fmt.Println(err != nil)
	// Output:
	// openai gpt-5.4 <nil>
	// true
}

// Cost is computed from list prices. The price of a model also applies to its dated versions.
func ExamplePrices_Cost() {
	prices := llm.Prices{{Provider: "acme", ID: "m1"}: {Input: 2, Output: 8}}
	cost := prices.Cost(llm.Model{Provider: "acme", ID: "m1-2026-01-31"}, perdure.Usage{Input: 1_000_000, Output: 500_000})
	fmt.Println(cost.Input, cost.Output, cost.Total)
	fmt.Println(prices.Cost(llm.Model{Provider: "acme", ID: "m2"}, perdure.Usage{Input: 1}) == nil)
	// Output:
	// 2 4 6
	// true
}

// A definition may name another server only if the operator allows that server together with the
// environment variable of its key.
func ExampleEndpoints() {
	allowed, err := llm.ParseEndpoint("https://models.example.com/v1=EXAMPLE_KEY")
	if err != nil {
		fmt.Println(err)
		return
	}
	environment := func(name string) string { return map[string]string{"EXAMPLE_KEY": "secret"}[name] }
	endpoints, err := llm.NewEndpoints(environment, allowed)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := endpoints.Resolve("openai", "https://models.example.com/v1", "EXAMPLE_KEY")
	fmt.Println(e.BaseURL, err)
	_, err = endpoints.Resolve("openai", "https://elsewhere.example.com", "EXAMPLE_KEY")
	fmt.Println(perdure.CodeOf(err))
	// Output:
	// https://models.example.com/v1 <nil>
	// permission_denied
}

// These are the known providers, with the environment variables of their keys and their default models.
func ExampleKnownProviders() {
	for _, p := range llm.KnownProviders() {
		fmt.Println(p.Name, p.APIKeyEnvs, p.DefaultModel)
	}
	// Output:
	// anthropic [ANTHROPIC_API_KEY] claude-sonnet-5-5
	// openai [OPENAI_API_KEY] gpt-5.4
	// openai-responses [OPENAI_API_KEY] gpt-5.4
	// gemini [GEMINI_API_KEY GOOGLE_API_KEY] gemini-3-flash-preview
	// scripted []
}

// The error of a failed call says whether a retry may succeed.
func ExampleError() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script := "turn\n  fail overloaded too many requests\n"
	if err := os.WriteFile(filepath.Join(dir, "busy"), []byte(script), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	request := llm.Request{Model: "busy", Messages: []perdure.Message{perdure.UserText("hello")}}
	_, err = scripted.New(scripted.Config{Dir: dir}).Stream(context.Background(), request, func(llm.Delta) error { return nil })
	var failed *llm.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Kind, failed.Retryable)
	}
	// Output: overloaded true
}

// A prompt of a million bytes does not fit into the window of most models.
func ExampleEstimate() {
	limits, known := llm.Windows(nil).Limits("anthropic", "claude-sonnet-4-5")
	prompt := []perdure.Message{perdure.UserText(strings.Repeat("word ", 200_000))}
	fmt.Println(known, llm.Estimate("Be brief.", nil, prompt, limits) < limits.Window)
	// Output: true false
}

// Every provider refuses a conversation that ends with a tool call.
func ExampleCheckMessages() {
	call := perdure.Part{Type: perdure.PartToolCall, ID: "call_1", Name: "find", RawArguments: "{}"}
	err := llm.CheckMessages(nil, []perdure.Message{
		perdure.UserText("Where is it?"),
		{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{call}}},
	})
	var broken *llm.RuleError
	fmt.Println(errors.As(err, &broken), broken.Rule, broken.Message)
	// Output: true tool_result_missing 1
}
