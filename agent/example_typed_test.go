package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/worker"
)

// A Task is a task kind together with the types of its input and its result.
func ExampleTask() {
	length := agent.DefineTask("length", func(_ agent.TaskContext, text string) (int, error) { return len(text), nil })
	measure := agent.DefineFunc("measure", func(ctx agent.Context, text string) (int, error) {
		once, err := length.Call(ctx, text)
		if err != nil {
			return 0, err
		}
		twice, err := length.Schedule(ctx, text+text).Await(ctx)
		return once + twice, err
	})
	fmt.Println(exampletest.Run(measure, "four", length))
	// Output: 12
}

// Functions that take futures of any type also accept the futures of a typed task.
func ExampleFutures() {
	length := agent.DefineTask("length", func(_ agent.TaskContext, text string) (int, error) { return len(text), nil })
	measure := agent.DefineFunc("measure", func(ctx agent.Context, words []string) ([]int, error) {
		var lengths []agent.TypedFuture[int]
		for _, word := range words {
			lengths = append(lengths, length.Schedule(ctx, word))
		}
		return agent.JoinAll[int](ctx, agent.Futures(lengths...)...)
	})
	fmt.Println(exampletest.Run(measure, []string{"a", "four"}, length))
	// Output: [1,4]
}

type decision struct {
	Approve bool   `json:"approve"`
	Reason  string `json:"reason,omitempty"`
}

// The server refuses a signal whose value does not fit the type of the signal, before the agent
// sees it.
func ExampleDefineSignal() {
	approval := agent.DefineSignal[decision]("approval").Describe("May the invoice be paid?")
	pay := agent.DefineFunc("pay", func(ctx agent.Context, invoice string) (string, error) {
		d, err := approval.Wait(ctx, 24*time.Hour)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s: %t", invoice, d.Approve), nil
	}).Signals(approval)
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(pay) })
	defer house.Close()
	id := house.Start("pay", "invoice 17")
	send := func(name, value string) {
		reply, err := house.Client.Signal(context.Background(), id, client.SignalRequest{Name: name, Value: json.RawMessage(value)})
		fmt.Println(reply.Unexpected, err)
	}
	send("approval", `{"approve": "yes"}`)
	send("approved", `{"approve": true}`)
	send("approval", `{"approve": true}`)
	fmt.Println(exampletest.Outcome(house.Wait(id)))
	// Output:
	// false invalid_argument: signalValue.approve: got string, want boolean
	// true <nil>
	// false <nil>
	// invoice 17: true
}

// WaitAny can wait for a typed signal. Its value is decoded after the wait.
func ExampleSignalKind_On() {
	approval := agent.DefineSignal[decision]("approval")
	pay := agent.DefineFunc("pay", func(ctx agent.Context, _ any) (string, error) {
		met, err := ctx.WaitAny(0, approval.On(), agent.OnSignal("stop"))
		if err != nil || met.Index == 1 {
			return "stopped", err
		}
		d, err := approval.Value(met.Signal())
		return d.Reason, err
	}).Signals(approval)
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(pay) })
	defer house.Close()
	id := house.Start("pay", nil)
	_, err := house.Client.Signal(context.Background(), id, client.SignalRequest{
		Name: approval.Name(), Value: json.RawMessage(`{"approve": true, "reason": "within the budget"}`),
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(exampletest.Outcome(house.Wait(id)))
	// Output: within the budget
}

// The server compares the output of this agent with a schema. A list of executions is filtered by a
// tag.
func ExampleDefinition_Output() {
	type answer struct {
		Text string `json:"text"`
	}
	invent := agent.DefineFunc("invent", func(_ agent.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	}).Output(agent.Schema[answer]()).Tags("demo")
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(invent) })
	defer house.Close()
	fmt.Println(exampletest.Outcome(house.Wait(house.Start("invent", answer{Text: "fits"}))))
	x := house.Wait(house.Start("invent", map[string]int{"text": 1}))
	fmt.Println(x.Status, *x.ErrorCode)
	page, err := house.Client.ListPage(context.Background(), client.ExecutionFilter{Tag: "demo"}, client.PageOptions{})
	fmt.Println(len(page.Items), err)
	// Output:
	// {"text":"fits"}
	// FAILED invalid_argument
	// 2 <nil>
}

// The server compares the result of this task with a schema.
func ExampleTask_Output() {
	roll := agent.DefineTask("roll", func(_ agent.TaskContext, sides int) (int, error) {
		return sides + 1, nil
	}).Output(json.RawMessage(`{"type":"integer","maximum":6}`))
	play := agent.DefineFunc("play", func(ctx agent.Context, _ any) (string, error) {
		_, err := roll.Call(ctx, 6)
		return fmt.Sprint(err), nil
	})
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(play); w.RegisterTask(roll) })
	defer house.Close()
	fmt.Println(exampletest.Outcome(house.Wait(house.Start("play", nil))))
	// Output: invalid_argument: result: maximum: got 7, want 6
}
