package client_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/worker"
)

// open starts a server with a worker that has two agents. The agent hello returns a greeting, and
// guess waits for a signal.
func open() *exampletest.Deployment {
	return exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(agent.DefineFunc("hello", func(ctx agent.Context, name string) (string, error) {
			_, err := ctx.Append(perdure.UserText("I am " + name))
			return "Hello " + name, err
		}))
		w.RegisterAgent(agent.DefineFunc("guess", func(ctx agent.Context, _ any) (string, error) {
			s, err := ctx.WaitSignal("number", 0)
			return "you said " + string(s.Value), err
		}))
	})
}

// New creates a client of the server at an address. An address without http or https is an error.
func ExampleNew() {
	c, err := client.New(client.Options{BaseURL: "http://127.0.0.1:8080", Key: "prd_..."})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Close()
	_, err = client.New(client.Options{BaseURL: "127.0.0.1:8080"})
	fmt.Println(perdure.IsCode(err, perdure.InvalidArgument))
	// Output: true
}

// Start returns as soon as the execution is stored. A repeat with the same key returns the same
// execution.
func ExampleClient_Start() {
	house := open()
	defer house.Close()
	ctx, c := context.Background(), house.Client
	request := client.StartRequest{Kind: "hello", Input: json.RawMessage(`"Ann"`), IdempotencyKey: "greet Ann"}
	first, err := c.Start(ctx, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := c.Start(ctx, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Kind, first.ID == again.ID)
	// Output: hello true
}

// Follow returns the events of a run until the run ends. After a broken connection it continues
// after the last event that it returned.
func ExampleClient_Follow() {
	house := open()
	defer house.Close()
	for event, err := range house.Client.Follow(context.Background(), house.Start("hello", "Ann"), "") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Type)
	}
	// Output:
	// agent.created
	// agent.started
	// entry.appended
	// agent.completed
}

// Signal sends a message to one execution, which may be waiting for it.
func ExampleClient_Signal() {
	house := open()
	defer house.Close()
	id := house.Start("guess", nil)
	_, err := house.Client.Signal(context.Background(), id, client.SignalRequest{Name: "number", Value: json.RawMessage("7"), ID: "once"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(exampletest.Outcome(house.Wait(id)))
	// Output: you said 7
}

// Cancel requests the end of an execution, which then becomes CANCELLED.
func ExampleClient_Cancel() {
	house := open()
	defer house.Close()
	id := house.Start("guess", nil)
	if _, err := house.Client.Cancel(context.Background(), id); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(house.Wait(id).Status)
	// Output: CANCELLED
}

// List returns executions, newest first. It reads further pages as the loop proceeds.
func ExampleClient_List() {
	house := open()
	defer house.Close()
	for _, name := range []string{"Ann", "Bob"} {
		house.Wait(house.Start("hello", name))
	}
	filter := client.ExecutionFilter{Kind: "hello", Status: []perdure.Status{perdure.StatusCompleted}}
	for x, err := range house.Client.List(context.Background(), filter) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(x.Kind, x.Status)
	}
	// Output:
	// hello COMPLETED
	// hello COMPLETED
}

// Entries returns the conversation of an execution from root to leaf.
func ExampleClient_Entries() {
	house := open()
	defer house.Close()
	id := house.Start("hello", "Ann")
	house.Wait(id)
	for entry, err := range house.Client.Entries(context.Background(), id) {
		if err != nil {
			fmt.Println(err)
			return
		}
		message, err := entry.Message()
		fmt.Println(message.Role, message.Content.PlainText(), err)
	}
	// Output: user I am Ann <nil>
}

// Snapshot returns an execution with its newest entries and the cursor of the events that follow.
func ExampleClient_Snapshot() {
	house := open()
	defer house.Close()
	id := house.Start("hello", "Ann")
	house.Wait(id)
	s, err := house.Client.Snapshot(context.Background(), id, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	later := 0
	for range house.Client.Follow(context.Background(), id, s.Cursor) {
		later++
	}
	fmt.Println(s.Execution.Status, len(s.Entries), "entries,", later, "later events")
	// Output: COMPLETED 1 entries, 0 later events
}

// Kinds returns what the workers of the org can run.
func ExampleClient_Kinds() {
	house := open()
	defer house.Close()
	for kind, err := range house.Client.Kinds(context.Background(), perdure.KindAgent) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(kind.Type, kind.Kind)
	}
	// Output:
	// agent guess
	// agent hello
}

// A definition holds prompt, models, tools and limits for executions of the react agent.
func ExampleClient_CreateDefinition() {
	providers := llm.NewProviders(scripted.New(scripted.Config{}))
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(react.Agent(react.Config{Providers: providers})) })
	defer house.Close()
	ctx, c := context.Background(), house.Client
	made, err := c.CreateDefinition(ctx, perdure.Definition{
		Name: "Code Reviewer", SystemPrompt: "You review code. Be brief.",
		Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "review"}},
		Tools:  []string{"read-file", "grep", "find"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := c.Definition(ctx, made.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Slug, found.Models[0])
	// Output: code-reviewer scripted/review
}

// An error of the server has a code, and its message names the invalid field.
func ExampleClient_Start_refused() {
	house := open()
	defer house.Close()
	_, err := house.Client.Start(context.Background(), client.StartRequest{Kind: "unknown"})
	fmt.Println(perdure.CodeOf(err))
	fmt.Println(err)
	// Output:
	// invalid_argument
	// invalid_argument: kind: "unknown" is not known; known kinds are: guess, hello
}
