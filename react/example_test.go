package react_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

// script contains the answers of the examples' model: a call of the tool sum, and then a text.
const script = `turn
  call sum {"a": 2, "b": 3}
turn
  text The sum is 5.
`

// sum returns the tool of the examples.
func sum() tool.Tool {
	type addition struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	return tool.New("sum", "Add two numbers.", func(_ context.Context, _ *tool.Call, in addition) (tool.Result, error) {
		return tool.Text(fmt.Sprint(in.A + in.B)), nil
	}, tool.WithOnLost(perdure.OnLostRetry))
}

// open starts a server and a worker with the react agent. The answers of the model are those in the
// constant `script`. The returned function stops server and worker.
func open(change func(*react.Config)) (d *exampletest.Deployment, end func()) {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sum"), []byte(script), 0o600); err != nil {
		panic(err)
	}
	c := react.Config{
		Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: dir})),
		Tools:     []tool.Tool{sum()},
	}
	change(&c)
	d = exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(react.Agent(c))
		for _, t := range react.Tasks(c) {
			w.RegisterTask(t)
		}
	})
	return d, func() {
		d.Close()
		_ = os.RemoveAll(dir)
	}
}

// question requests a run with one model and the tool sum. The run ends after its first response.
var question = client.StartRequest{
	UserPrompt: "What is 2 + 3?", OneShot: true, Tools: &[]string{"sum"},
	Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "sum"}},
}

// This example shows the react agent: it calls a model and runs the tools that the model calls,
// until an answer of the model calls no tool.
func ExampleAgent() {
	d, end := open(func(*react.Config) {})
	defer end()
	id := d.StartWith(question)
	d.Wait(id)
	for entry, err := range d.Client.Entries(context.Background(), id) {
		if err != nil {
			fmt.Println(err)
			return
		}
		m, err := entry.Message()
		if err != nil {
			continue // an entry about a model call
		}
		text := m.Content.PlainText()
		if m.Role == perdure.RoleToolResult {
			text = m.Content.Parts[0].Parts[0].Text
		}
		fmt.Printf("%s: %q\n", m.Role, text)
	}
	// Output:
	// user: "What is 2 + 3?"
	// assistant: ""
	// tool_result: "5"
	// assistant: "The sum is 5."
}

// This example shows Select, which chooses the model of each turn. From the second turn on, it
// chooses the second model here, if there is one.
func ExampleConfig() {
	d, end := open(func(c *react.Config) {
		c.Select = func(t react.Turn) perdure.ModelConfig {
			fmt.Println("turn", t.Index)
			return t.Models[min(t.Index, len(t.Models)-1)]
		}
	})
	defer end()
	x := d.Wait(d.StartWith(question))
	fmt.Println(x.Status)
	// Output:
	// turn 0
	// turn 1
	// COMPLETED
}

// This example shows an Observer, which is called for every model call and every run of a tool.
func ExampleObserver() {
	calls, tools := make(chan react.ModelCall, 2), make(chan react.ToolCall, 1)
	d, end := open(func(c *react.Config) {
		c.Observer = &react.Observer{
			ModelCalled: func(call react.ModelCall) { calls <- call },
			ToolCalled:  func(call react.ToolCall) { tools <- call },
		}
	})
	defer end()
	d.Wait(d.StartWith(question))
	ran := <-tools
	fmt.Println(len(calls), "model calls,", ran.Name, ran.Outcome)
	// Output: 2 model calls, sum ok
}

// This example asks a model from an agent of any kind. The answer is stored, so it is not paid for
// again after a crash.
func ExampleGenerate() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "m"), []byte("turn\n  text A dog reads.\n"), 0o600); err != nil {
		panic(err)
	}
	titles := agent.DefineFunc("titles", func(ctx agent.Context, text string) (string, error) {
		answer, err := react.Generate(ctx, []perdure.Message{perdure.UserText("Find a title for: " + text)}, react.GenerateOptions{
			Model: perdure.ModelConfig{Provider: "scripted", ModelID: "m"}, System: "Answer with the title alone.",
		})
		return answer.Text(), err
	})
	d := exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(titles)
		for _, t := range react.ModelTasks(react.Config{Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: dir}))}) {
			w.RegisterTask(t)
		}
	})
	defer d.Close()
	x := d.Wait(d.Start("titles", "There was a dog who could read."))
	fmt.Println(string(x.Output))
	// Output: "A dog reads."
}

// This example asks a model that can call tools, as a part of a larger agent.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "sum"), []byte(script), 0o600); err != nil {
		panic(err)
	}
	report := agent.DefineFunc("report", func(ctx agent.Context, question string) (string, error) {
		r, err := react.Run(ctx, []perdure.Message{perdure.UserText(question)}, react.RunOptions{
			Model: perdure.ModelConfig{Provider: "scripted", ModelID: "sum"},
			Tools: []tool.Tool{sum()},
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s (%d turns)", r.Text(), r.Turns), nil
	})
	c := react.Config{Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: dir})), Tools: []tool.Tool{sum()}}
	var tasks []agent.TaskKind
	for _, t := range react.Tasks(c) {
		tasks = append(tasks, t)
	}
	fmt.Println(exampletest.Run(report, "What is 2 + 3?", tasks...))
	// Output: The sum is 5. (2 turns)
}
