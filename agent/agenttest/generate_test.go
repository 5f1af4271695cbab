package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
)

// writer is an agent that asks a model twice, in one conversation, and stores the last answer.
func writer(model perdure.ModelConfig) agent.Definition {
	return agent.DefineFunc("writer", func(ctx agent.Context, topic string) (string, error) {
		talk := []perdure.Message{perdure.UserText("Outline a text about " + topic)}
		first, err := react.Generate(ctx, talk, react.GenerateOptions{Model: model, Name: "outline", System: "Be brief.", Silent: true})
		if err != nil {
			return "", err
		}
		talk = append(talk, first.Message, perdure.UserText("Now write it"))
		second, err := react.Generate(ctx, talk, react.GenerateOptions{Model: model})
		if err != nil {
			return "", err
		}
		if _, err := ctx.Append(second.Message, agent.WithEntryID(second.EntryID), agent.WithKey("text")); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s / %s (%d tokens)", first.Text(), second.Text(), first.Usage.TotalTokens+second.Usage.TotalTokens), nil
	})
}

// TestGenerate checks that an agent of any kind gets each answer of the model once, and that the
// model receives the agent's messages. This holds under every fault that agenttest injects.
func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	script := "turn\n  expect Outline a text about snow\n  text One, two.\n  usage in=10 out=5\nturn\n  expect Now write it\n  text It snows.\n  usage in=20 out=5\n"
	if err := os.WriteFile(filepath.Join(dir, "m"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := react.Config{Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: dir}))}
	s := agenttest.Scenario{Agent: writer(perdure.ModelConfig{Provider: "scripted", ModelID: "m"}), Input: "snow"}
	for _, task := range react.ModelTasks(c) {
		s.Tasks = append(s.Tasks, task)
	}
	o := agenttest.Run(t, s)
	if string(o.Output) != `"One, two. / It snows. (40 tokens)"` || o.Ran[react.ModelTask] != 2 || !strings.Contains(o.Text(), "assistant: It snows.") {
		t.Errorf("the output is %s after %d calls, %v:\n%s", o.Output, o.Ran[react.ModelTask], o.Error, o.Text())
	}
	agenttest.AllOfSample(t, s)
}

// TestWhatGenerateRefuses checks that Generate refuses a request that no provider accepts, before it
// schedules a task.
func TestWhatGenerateRefuses(t *testing.T) {
	model := perdure.ModelConfig{Provider: "scripted", ModelID: "m"}
	hello := []perdure.Message{perdure.UserText("hello")}
	call := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartToolCall, ID: "c", Name: "x", Arguments: []byte(`{}`)}}}}
	for field, ask := range map[string]func(ctx agent.Context) error{
		"model": func(ctx agent.Context) error {
			_, err := react.Generate(ctx, hello, react.GenerateOptions{})
			return err
		},
		"model.modelId": func(ctx agent.Context) error {
			_, err := react.Generate(ctx, hello, react.GenerateOptions{Model: perdure.ModelConfig{Provider: "scripted"}})
			return err
		},
		"messages": func(ctx agent.Context) error {
			for _, messages := range [][]perdure.Message{nil, {call}, append([]perdure.Message{call}, hello...)} {
				if _, err := react.Generate(ctx, messages, react.GenerateOptions{Model: model}); err == nil || !perdure.IsCode(err, perdure.InvalidArgument) {
					return fmt.Errorf("%v is answered %w", messages, err)
				}
			}
			_, err := react.Generate(ctx, nil, react.GenerateOptions{Model: model})
			return err
		},
	} {
		s := agenttest.Scenario{Input: 1, Agent: agent.DefineFunc("bad", func(ctx agent.Context, _ int) (string, error) { return "", ask(ctx) })}
		o := agenttest.Run(t, s)
		if o.Status != perdure.StatusFailed || !strings.Contains(o.Error, field) {
			t.Errorf("%s: %s, %v", field, o.Status, o.Error)
		}
	}
}

// TestGenerateInALoop checks that each call of a loop's step can use the same name for a new
// request to the model. Outside of a loop, Generate refuses a second request with the same name and
// other messages.
func TestGenerateInALoop(t *testing.T) {
	longtest.Skip(t, "seconds")
	o := react.GenerateOptions{Model: part().Model, Name: "n"}
	ask := func(ctx agent.Context, text string) (react.GenerateResult, error) {
		return react.Generate(ctx, []perdure.Message{perdure.UserText(text)}, o)
	}
	s := agenttest.Scenario{Input: "x", Tasks: partTasks(t, "turn\n  when one\n    text First.\n  else\n    text Second.\n")}
	s.Agent = agent.DefineFunc("loop", func(ctx agent.Context, _ string) ([]string, error) {
		var said []string
		err := agent.Loop(ctx, &said, func(ctx agent.Context, said *[]string) (bool, error) {
			g, err := ask(ctx, []string{"one", "two"}[len(*said)])
			if err != nil {
				return false, err
			}
			*said = append(*said, g.Text())
			_, err = ctx.Append(g.Message, agent.WithEntryID(g.EntryID), agent.WithKey(fmt.Sprint(len(*said))))
			return len(*said) == 2, err
		})
		return said, err
	})
	if o := agenttest.Run(t, s); string(o.Output) != `["First.","Second."]` || len(o.Messages) != 2 {
		t.Errorf("%s, %s:\n%s", o.Output, o.Error, o.Text())
	}
	agenttest.AllOfSample(t, s)
	s.Agent = agent.DefineFunc("twice", func(ctx agent.Context, _ string) (string, error) {
		if _, err := ask(ctx, "one"); err != nil {
			return "", err
		}
		g, err := ask(ctx, "two")
		return g.Text(), err
	})
	if o := agenttest.Run(t, s); !strings.HasPrefix(o.Error, "idempotency_key_reused") {
		t.Errorf("%s, %s", o.Output, o.Error)
	}
}
