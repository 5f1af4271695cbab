package agent_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// orderV1 is the state of version 1, as older checkpoints hold it.
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

// The state of an agent has changed. Executions whose checkpoint has the older state continue.
func ExampleDefineState() {
	agent.DefineFunc("order", func(ctx agent.Context, customer string) (string, error) {
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
}

// A wait for the first of several events: an answer, a task, or a timeout.
func ExampleOnSignal() {
	agent.DefineFunc("approval", func(ctx agent.Context, question string) (string, error) {
		check := ctx.Schedule("check", question)
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
			s := met.Signal() // taken with this wait
			_, err := ctx.Append(perdure.UserText(string(s.Value)), agent.WithKey(s.EntryKey()))
			return "answered by " + s.Name, err
		case 1:
			good, err := agent.ValueOf[bool](met, 0)
			return fmt.Sprint("checked: ", good), err
		}
		return "nobody answered for a day", nil
	})
}

// An agent processes a list. A crash repeats only the current page, and a resume reads no data of
// earlier pages.
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
	fmt.Println(count.Spec.Kind)
	// Output: count-words
}
