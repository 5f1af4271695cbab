package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/worker"
)

// shout is a task kind that several examples use.
var shout = agent.DefineTask("shout", func(_ agent.TaskContext, word string) (string, error) {
	return strings.ToUpper(word), nil
})

// An agent is a function. Results of its tasks survive a crash of its worker.
func ExampleDefineFunc() {
	greeter := agent.DefineFunc("greeter", func(ctx agent.Context, name string) (string, error) {
		loud, err := agent.Call[string](ctx, "shout", name)
		return "Hello " + loud, err
	})
	fmt.Println(exampletest.Run(greeter, "ann", shout))
	// Output: Hello ANN
}

// counter is an agent with a dependency, so it is a type.
type counter struct{ unit string }

func (c counter) Run(_ agent.Context, words []string) (string, error) {
	return fmt.Sprintf("%d %s", len(words), c.unit), nil
}

// An agent with dependencies is a type with a method Run.
func ExampleDefine() {
	count := agent.Define("count", counter{unit: "words"})
	fmt.Println(exampletest.Run(count, []string{"a", "b"}))
	// Output: 2 words
}

// A task is work that is retried if it fails, and whose result is stored.
func ExampleDefineTask() {
	length := agent.DefineTask("length", func(_ agent.TaskContext, text string) (int, error) {
		return len(text), nil
	})
	measure := agent.DefineFunc("measure", func(ctx agent.Context, text string) (int, error) {
		return agent.Call[int](ctx, "length", text)
	})
	fmt.Println(exampletest.Run(measure, "four", length))
	// Output: 4
}

// orderV1 is the state of version 1, which older checkpoints contain.
type orderV1 struct {
	Customer string
	Phase    int
}

// order is the state of version 2.
type order struct {
	First, Last string
	Phase       int
}

var orders = agent.DefineState[order](2,
	agent.Migrate(1, func(old orderV1) (order, error) {
		first, last, _ := strings.Cut(old.Customer, " ")
		return order{First: first, Last: last, Phase: old.Phase}, nil
	}),
)

// The type of an agent's state has changed. Executions with a checkpoint of the older state
// continue.
func ExampleDefineState() {
	phase := agent.DefineTask("phase", func(_ agent.TaskContext, n int) (int, error) { return n, nil })
	process := agent.DefineFunc("order", func(ctx agent.Context, customer string) (string, error) {
		st, known, err := orders.Load(ctx)
		if err != nil {
			return "", err
		}
		if !known {
			st.First, st.Last, _ = strings.Cut(customer, " ")
		}
		for ; st.Phase < 3; st.Phase++ {
			if err := orders.Save(ctx, st); err != nil {
				return "", err
			}
			if _, err := agent.Call[int](ctx, "phase", st.Phase); err != nil {
				return "", err
			}
		}
		return "thank you, " + st.First, nil
	})
	fmt.Println(exampletest.Run(process, "Ann Lee", phase))
	// Output: thank you, Ann
}

// An agent processes a list of pages. A crash repeats only the current page, and a resume reads no
// data of earlier pages.
func ExampleLoop() {
	type progress struct {
		Next  int
		Words int
	}
	count := agent.DefineFunc("count-words", func(ctx agent.Context, pages []string) (int, error) {
		var p progress
		err := agent.Loop(ctx, &p, func(ctx agent.Context, p *progress) (done bool, err error) {
			if p.Next == len(pages) {
				return true, nil
			}
			text, err := agent.Step(ctx, "fetch", func(context.Context) (string, error) {
				return pages[p.Next], nil // in practice, a request
			})
			if err != nil {
				return false, err
			}
			p.Next, p.Words = p.Next+1, p.Words+len(strings.Fields(text))
			return false, nil
		})
		return p.Words, err
	})
	fmt.Println(exampletest.Run(count, []string{"one two", "three"}))
	// Output: 3
}

// A step runs in the agent's own process. Its result is recorded, so the agent sees the same result
// after a crash.
func ExampleStep() {
	dice := agent.DefineFunc("dice", func(ctx agent.Context, _ any) (string, error) {
		eyes, err := agent.Step(ctx, "roll", func(context.Context) (int, error) {
			return 4, nil // in practice, a random number
		})
		return fmt.Sprint("rolled ", eyes), err
	})
	fmt.Println(exampletest.Run(dice, nil))
	// Output: rolled 4
}

// Tasks that are scheduled together run in parallel.
func ExampleJoinAll() {
	greeter := agent.DefineFunc("greeter", func(ctx agent.Context, names []string) (string, error) {
		var futures []agent.Future
		for _, name := range names {
			futures = append(futures, ctx.Schedule("shout", name))
		}
		loud, err := agent.JoinAll[string](ctx, futures...)
		return strings.Join(loud, " and "), err
	})
	fmt.Println(exampletest.Run(greeter, []string{"ann", "bob"}, shout))
	// Output: ANN and BOB
}

// divide fails permanently if the divisor is 0.
var divide = agent.DefineTask("divide", func(_ agent.TaskContext, by int) (int, error) {
	if by == 0 {
		return 0, agent.Permanent(errors.New("division by zero"))
	}
	return 12 / by, nil
})

// JoinSettled waits for all tasks, even if some of them fail.
func ExampleJoinSettled() {
	all := agent.DefineFunc("all", func(ctx agent.Context, divisors []int) (string, error) {
		var futures []agent.Future
		for _, by := range divisors {
			futures = append(futures, ctx.Schedule("divide", by))
		}
		settled, err := agent.JoinSettled[int](ctx, futures...)
		if err != nil {
			return "", err
		}
		var lines []string
		for _, s := range settled {
			if s.Err != nil {
				lines = append(lines, "failed")
				continue
			}
			lines = append(lines, fmt.Sprint(s.Value))
		}
		return strings.Join(lines, ", "), nil
	})
	fmt.Println(exampletest.Run(all, []int{3, 0, 4}, divide))
	// Output: 4, failed, 3
}

// A Permanent error ends a task without further attempts.
func ExamplePermanent() {
	once := agent.DefineFunc("once", func(ctx agent.Context, by int) (string, error) {
		_, err := agent.Call[int](ctx, "divide", by, agent.Attempts(5))
		var failed *perdure.TaskError
		if errors.As(err, &failed) {
			return "the task says: " + failed.Message, nil
		}
		return "", err
	})
	fmt.Println(exampletest.Run(once, 0, divide))
	// Output: the task says: division by zero
}

// A task that fails is retried, up to a maximum number of attempts.
func ExampleAttempts() {
	flaky := agent.DefineTask("flaky", func(ctx agent.TaskContext, _ any) (int, error) {
		if n := ctx.Task().Attempt; n < 3 {
			return 0, errors.New("not yet")
		}
		return ctx.Task().Attempt, nil
	})
	patient := agent.DefineFunc("patient", func(ctx agent.Context, _ any) (string, error) {
		n, err := agent.Call[int](ctx, "flaky", nil,
			agent.Attempts(5), agent.Backoff(time.Millisecond, 10*time.Millisecond))
		return fmt.Sprint("done at attempt ", n), err
	})
	fmt.Println(exampletest.Run(patient, nil, flaky))
	// Output: done at attempt 3
}

// Select returns the first success. This agent then cancels the other task; SelectCancel does both.
func ExampleSelect() {
	never := agent.DefineTask("never", func(ctx agent.TaskContext, _ any) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	first := agent.DefineFunc("first", func(ctx agent.Context, _ any) (string, error) {
		slow, fast := ctx.Schedule("never", nil), ctx.Schedule("shout", "fast")
		n, word, err := agent.Select[string](ctx, slow, fast)
		ctx.CancelTask(slow)
		return fmt.Sprintf("%d: %s", n, word), err
	})
	fmt.Println(exampletest.Run(first, nil, never, shout))
	// Output: 1: FAST
}

// Two tasks of equal kind and input are one task. Instance makes them distinct.
func ExampleInstance() {
	twice := agent.DefineFunc("twice", func(ctx agent.Context, word string) (string, error) {
		a, b := ctx.Schedule("shout", word), ctx.Schedule("shout", word)
		c := ctx.Schedule("shout", word, agent.Instance("second"))
		_, err := agent.JoinAll[string](ctx, a, b, c)
		return fmt.Sprint(a.ID == b.ID, " ", a.ID == c.ID), err
	})
	fmt.Println(exampletest.Run(twice, "x", shout))
	// Output: true false
}

// A signal is a message to one execution. It may arrive before the agent waits for it.
func ExampleContext_waitSignal() {
	approval := agent.DefineFunc("approval", func(ctx agent.Context, what string) (string, error) {
		word, err := ctx.WaitSignal("approve", 0) // this may take days, and last over deployments
		return what + ": " + string(word.Value), err
	})
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(approval) })
	defer house.Close()
	id := house.Start("approval", "invoice 17")
	_, err := house.Client.Signal(context.Background(), id, client.SignalRequest{Name: "approve", Value: json.RawMessage(`"yes"`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(exampletest.Outcome(house.Wait(id)))
	// Output: invoice 17: "yes"
}

// An agent waits for the first of several events: an answer, a task, or a timer.
func ExampleOnSignal() {
	approval := agent.DefineFunc("approval", func(ctx agent.Context, question string) (string, error) {
		check := ctx.Schedule("divide", 4)
		met, err := ctx.WaitAny(0,
			agent.OnSignal("approval.*"),
			agent.OnTask(check),
			agent.OnTimer(24*time.Hour),
		)
		if err != nil {
			return "", err
		}
		switch met.Index {
		case 0:
			s := met.Signal() // WaitAny has taken it
			_, err := ctx.Append(perdure.UserText(string(s.Value)), agent.WithKey(s.EntryKey()))
			return "answered by " + s.Name, err
		case 1:
			quotient, err := agent.ValueOf[int](met, 0)
			return fmt.Sprint("checked: ", quotient), err
		}
		return "nobody answered for a day", nil
	})
	fmt.Println(exampletest.Run(approval, "may I?", divide))
	// Output: checked: 3
}

// OnAll and OnAny combine conditions.
func ExampleOnAll() {
	both := agent.DefineFunc("both", func(ctx agent.Context, _ any) (string, error) {
		a, b := ctx.Schedule("shout", "a"), ctx.Schedule("shout", "b")
		met, err := ctx.WaitAny(time.Hour,
			agent.OnAny(agent.OnSignal("stop"), agent.OnSignal("abort")),
			agent.OnAll(agent.OnTask(a), agent.OnTask(b)),
		)
		if err != nil {
			return "", err
		}
		second, err := agent.ValueOf[string](met, 1)
		return fmt.Sprint(met.Index, " ", second), err
	})
	fmt.Println(exampletest.Run(both, nil, shout))
	// Output: 1 B
}

// A conversation consists of the messages that an agent appends. They are stored with the agent's
// next commit.
func ExampleContext_append() {
	echo := agent.DefineFunc("echo", func(ctx agent.Context, text string) (int, error) {
		if _, err := ctx.Append(perdure.UserText(text)); err != nil {
			return 0, err
		}
		n := 0
		for entry, err := range ctx.Messages() {
			if err != nil {
				return 0, err
			}
			m, err := entry.Message()
			if err != nil {
				return 0, err
			}
			n += len(m.Content.PlainText())
		}
		return n, nil
	})
	fmt.Println(exampletest.Run(echo, "hello"))
	// Output: 5
}

// Schema derives the JSON Schema of a Go type. Agents and tasks register it for their inputs.
func ExampleSchema() {
	type invoice struct {
		Number string `json:"number"`
		Cents  int    `json:"cents,omitempty"`
	}
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(agent.Schema[invoice](), &schema); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("required:", schema.Required)
	// Output: required: [number]
}
