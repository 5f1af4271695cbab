package agenttest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/internal/longtest"
)

// digest is the state of an agent that reads one page after the other.
type digest struct {
	Page  int      `json:"page"`
	Notes []string `json:"notes"`
	lost  string   // unexported, so it has no JSON encoding
}

// digestPages is a loop in which each call of the step function uses a step, a task, a sleep, a
// signal and an entry, always with the same names.
func digestPages(ctx agent.Context, pages int) (string, error) {
	st := digest{Page: 1}
	err := agent.Loop(ctx, &st, func(ctx agent.Context, st *digest) (bool, error) {
		if st.lost != "" {
			return true, fmt.Errorf("page %d sees %q, which a crash would lose", st.Page, st.lost)
		}
		st.lost = "something"
		text, err := agent.Step(ctx, "read", func(context.Context) (string, error) { return fmt.Sprint("page ", st.Page), nil })
		if err != nil {
			return false, err
		}
		grade, err := agent.Call[string](ctx, "grade", "equal input")
		if err != nil {
			return false, err
		}
		if err := ctx.Sleep(time.Hour); err != nil {
			return false, err
		}
		hint, err := ctx.WaitSignal("hint", 0)
		if err != nil {
			return false, err
		}
		if _, err := ctx.Append(perdure.UserText(text+" "+string(hint.Value)), agent.WithKey(hint.EntryKey())); err != nil {
			return false, err
		}
		st.Notes = append(st.Notes, text+" "+grade+" "+string(hint.Value))
		st.Page++
		return st.Page > pages, nil
	})
	return strings.Join(st.Notes, "\n"), err
}

func digestScenario() agenttest.Scenario {
	return agenttest.Scenario{
		Agent: agent.DefineFunc("digest", digestPages), Input: 3,
		Tasks: []agent.TaskKind{agent.DefineTask("grade", func(agent.TaskContext, string) (string, error) { return "good", nil })},
		Signals: []agenttest.Signal{
			{Name: "hint", Value: "a"}, {Name: "hint", Value: "b"}, {Name: "hint", Value: "c"},
		},
	}
}

// TestLoopOutlastsCrashes checks the output of a loop of three pages, each with a task, a sleep of
// an hour and a signal. It also checks that the sleeps take three hours in all. agenttest.All then
// runs the scenario again with crashes, lost leases, duplicate calls and without parking.
func TestLoopOutlastsCrashes(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := digestScenario()
	o := agenttest.Run(t, s)
	const want = `"page 1 good \"a\"\npage 2 good \"b\"\npage 3 good \"c\""`
	if got := strings.ReplaceAll(string(o.Output), `\\`, `\`); o.Status != perdure.StatusCompleted || got != want {
		t.Errorf("it is %s with %s, want %s", o.Status, got, want)
	}
	if o.Elapsed < 3*time.Hour {
		t.Errorf("three sleeps of an hour took %s", o.Elapsed)
	}
	agenttest.AllOfSample(t, s)
}

// TestLoopResumesFromItsCheckpoint checks with which state the agent's function is entered: first
// with none, then with the state after the first call of the loop's step function, and then with
// the state after the second call.
func TestLoopResumesFromItsCheckpoint(t *testing.T) {
	var entered []int
	s := digestScenario()
	s.Agent = agent.DefineFunc("digest", func(ctx agent.Context, pages int) (string, error) {
		var st digest
		if _, err := ctx.State(&st); err != nil {
			return "", err
		}
		entered = append(entered, st.Page)
		return digestPages(ctx, pages)
	})
	agenttest.RunReentered(t, s)
	for _, page := range []int{0, 2, 3} {
		if !slices.Contains(entered, page) {
			t.Errorf("it was entered at the pages %v, and never at %d", entered, page)
		}
	}
}

// TestLoopEndsWithAnError checks that Loop returns an error of its step function, and creates no
// checkpoint for the call that returned the error.
func TestLoopEndsWithAnError(t *testing.T) {
	o := agenttest.Run(t, agenttest.Scenario{Input: 0, Agent: agent.DefineFunc("fails", func(ctx agent.Context, _ int) (string, error) {
		n := 0
		err := agent.Loop(ctx, &n, func(_ agent.Context, n *int) (bool, error) {
			if *n++; *n == 3 {
				return false, perdure.Errorf(perdure.Conflict, "enough")
			}
			return false, nil
		})
		if n != 3 || ctx.CheckpointSeq() != 2 || !perdure.IsCode(err, perdure.Conflict) {
			return "", fmt.Errorf("n is %d after %d checkpoints: %w", n, ctx.CheckpointSeq(), err)
		}
		var none *int
		if err := agent.Loop(ctx, none, nil); !perdure.IsCode(err, perdure.InvalidArgument) {
			return "", fmt.Errorf("a loop without a state: %w", err)
		}
		return "fine", nil
	})})
	if string(o.Output) != `"fine"` {
		t.Errorf("it is %s with %s: %v", o.Status, o.Output, o.Error)
	}
}
