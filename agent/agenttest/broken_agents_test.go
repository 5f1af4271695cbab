package agenttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// wantFinding checks that the list `found` is not empty, and that it contains each text of `want`.
func wantFinding(t *testing.T, found []string, want ...string) {
	t.Helper()
	if len(found) == 0 {
		t.Fatal("nothing was found")
	}
	all := strings.Join(found, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("no finding says %q:\n%s", w, all)
		}
	}
}

func say(ctx agent.Context, text string) error {
	_, err := ctx.Append(perdure.UserText(text))
	return err
}

// TestCatchesUnkeyedAppend checks that three checks of agenttest find an entry that was appended
// without a key. The function appends it a second time when it is entered again.
func TestCatchesUnkeyedAppend(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := Scenario{
		Agent: agent.DefineFunc("unkeyed", func(ctx agent.Context, _ int) (string, error) {
			if err := say(ctx, "hello"); err != nil {
				return "", err
			}
			return agent.Call[string](ctx, "work", 1)
		}),
		Input: 1,
		Tasks: []agent.TaskKind{Result("work", "done")},
	}
	_, found := reentered(t, s)
	wantFinding(t, found, "entered again from the top after every wait", `"user: hello"`, "agent.WithKey")
	wantFinding(t, crashAtEveryCommit(t, s),
		"died just after the commit of 1 entry, 1 task, a wait for a task (write 1) was stored", "appended again (user: hello)", "agent.WithKey")
	wantFinding(t, loseLeaseAtEveryPoint(t, s), "lost its lease", "agent.WithKey")
}

// TestCatchesInputsThatChange checks that two checks of agenttest find a task whose input depends
// on the time or on chance. Such an input makes a new task each time that the function is entered.
func TestCatchesInputsThatChange(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, input := range map[string]func() any{
		"time":   func() any { return time.Now() },
		"chance": func() any { return rand.Uint32() },
	} {
		t.Run(name, func(t *testing.T) {
			s := Scenario{
				Agent: agent.DefineFunc("changing", func(ctx agent.Context, _ int) (string, error) {
					return agent.Call[string](ctx, "work", input())
				}),
				Input: 1,
				Tasks: []agent.TaskKind{Result("work", "done")},
				// The inputs differ in every run. So the test compares only the number of tasks.
				Normalize: func(o *Outcome) {
					for i := range o.Tasks {
						o.Tasks[i].Input = nil
					}
				},
				MaxCommits: 30,
			}
			wantFinding(t, crashAtEveryCommit(t, s), "died just after the commit of 1 task, a wait for a task (write 1)", "Make such a value in a Step")
			_, found := reentered(t, s)
			wantFinding(t, found, "over 30 commits", "something new each time")
		})
	}
}

// TestCatchesStateInAVariable checks that CrashAtEveryCommit finds an agent that keeps its state in
// a variable. After a crash, the variable has state that was not committed, or that belongs to an
// earlier run.
func TestCatchesStateInAVariable(t *testing.T) {
	longtest.Skip(t, "seconds")
	greeted := false
	s := Scenario{
		Agent: agent.DefineFunc("forgetful", func(ctx agent.Context, _ int) (string, error) {
			if !greeted {
				if err := say(ctx, "hello"); err != nil {
					return "", err
				}
				greeted = true
			}
			return agent.Call[string](ctx, "work", 1)
		}),
		Input:  1,
		Tasks:  []agent.TaskKind{Result("work", "done")},
		Before: func(*Scenario) { greeted = false }, // as if each run began in a new process
	}
	wantFinding(t, crashAtEveryCommit(t, s),
		"died just before the commit of 1 entry, 1 task, a wait for a task (write 1)", "A message is missing (user: hello)", "Checkpoint and State")
	greeted, s.Before = false, nil // as if the runs were executions of one process
	wantFinding(t, crashAtEveryCommit(t, s), "Checkpoint and State")
}

// TestCatchesOutputFromAVariable checks that CrashAtEveryCommit finds an output that depends on a
// variable outside of the function.
func TestCatchesOutputFromAVariable(t *testing.T) {
	entered := 0
	s := Scenario{
		Agent: agent.DefineFunc("counting", func(ctx agent.Context, _ int) (int, error) {
			entered++
			_, err := agent.Call[string](ctx, "work", 1)
			return entered, err
		}),
		Input:  1,
		Tasks:  []agent.TaskKind{Result("work", "done")},
		Before: func(*Scenario) { entered = 0 },
	}
	wantFinding(t, crashAtEveryCommit(t, s), "the output", "variables outside of the function")
}

// TestReportsMissingTask checks that a task whose kind no worker runs is reported within a minute
// of virtual time.
func TestReportsMissingTask(t *testing.T) {
	r := Scenario{
		Agent: agent.DefineFunc("hopeful", func(ctx agent.Context, _ int) (string, error) { return agent.Call[string](ctx, "nobody", 1) }),
		Input: 1,
	}.run(t, plan{}, 0)
	wantFinding(t, r.faults, `kind "nobody"`, "Scenario.Tasks")
	if r.Elapsed > time.Minute {
		t.Errorf("it took %s", r.Elapsed)
	}
}

// TestReportsRunWithoutEnd checks that the finding about a run that exceeds MaxVirtual names what
// the run waits for.
func TestReportsRunWithoutEnd(t *testing.T) {
	longtest.Skip(t, "seconds")
	r := Scenario{
		Agent: agent.DefineFunc("eternal", func(ctx agent.Context, _ int) (string, error) { return "", ctx.Sleep(time.Hour << 20) }),
		Input: 1,
	}.run(t, plan{}, 0)
	wantFinding(t, r.faults, "after 8760h0m0s of virtual time", "waiting for a timer")
}

// TestReportsWrongScenario checks that invalid scenarios are reported with the reason.
func TestReportsWrongScenario(t *testing.T) {
	wantFinding(t, Scenario{Input: 1}.run(t, plan{}, 0).faults, "needs a Model")
	typed := agent.DefineFunc("typed", func(agent.Context, int) (int, error) { return 0, nil })
	wantFinding(t, Scenario{Agent: typed, Input: "one"}.run(t, plan{}, 0).faults, "cannot be started", "want integer")
	wantFinding(t, Scenario{Agent: typed, Input: func() {}}.run(t, plan{}, 0).faults, "input does not encode")
	_, found := reentered(t, Scenario{Agent: typed})
	wantFinding(t, found, "undisturbed: the execution cannot be started")
}

// checkpoints returns an agent that creates as many checkpoints as its input says.
func checkpoints() agent.Definition {
	return agent.DefineFunc("checkpoints", func(ctx agent.Context, n int) (int, error) {
		for i := range n {
			if err := ctx.Checkpoint(i); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
}

// TestKillAfterEachCommit checks that the execution completes if a worker is killed after a commit, for
// each commit in turn.
func TestKillAfterEachCommit(t *testing.T) {
	s := Scenario{
		Agent: checkpoints(),
		Input: 3,
	}
	var met []string
	for at := 1; ; at++ {
		r := s.run(t, plan{fate: dieAfter, at: at}, 0)
		if !r.met {
			break
		}
		if r.Status != perdure.StatusCompleted {
			t.Errorf("after a crash at %d it is %s: %v", at, r.Status, r.faults)
		}
		met = append(met, r.what)
	}
	want := fmt.Sprint([]string{"the commit of a checkpoint", "the commit of a checkpoint", "the commit of a checkpoint", "the commit of the end, complete"})
	if got := fmt.Sprint(met); got != want {
		t.Errorf("came to %s, want %s", got, want)
	}
}

// TestASampleOmitsOnlyItsFaults checks that CrashAtEveryCommit calls Scenario.omit for each fault,
// and injects only the faults that are not omitted.
func TestASampleOmitsOnlyItsFaults(t *testing.T) {
	runs := 0
	s := Scenario{
		Agent:  checkpoints(),
		Input:  3,
		Before: func(*Scenario) { runs++ },
	}
	var asked []string
	s.omit = func(at int, f fate) bool {
		asked = append(asked, fmt.Sprint(at, f))
		return at != 2
	}
	if found := crashAtEveryCommit(t, s); len(found) > 0 {
		t.Error(found)
	}
	want := []string{"1 1", "1 2", "2 1", "2 2", "3 1", "3 2", "4 1", "4 2"}
	if !slices.Equal(asked, want) {
		t.Errorf("it asked about %q, want %q", asked, want)
	}
	if runs != 3 {
		t.Errorf("it ran the scenario %d times, want once without a fault and twice with one", runs)
	}
}

// TestInterruptedTaskIsNotCompared checks a crash during a task that must not run twice. The task
// runs only once. The agent may end with a different outcome than without the crash, and
// CrashAtEveryCommit does not report the difference.
func TestInterruptedTaskIsNotCompared(t *testing.T) {
	longtest.Skip(t, "seconds")
	effects := 0
	s := Scenario{
		Agent: agent.DefineFunc("careful", func(ctx agent.Context, _ int) (string, error) {
			word, err := agent.Await[string](ctx, ctx.Schedule("pay", 1, agent.OnLost(perdure.OnLostReport)))
			if err != nil {
				return "asked the bank", nil
			}
			return word, nil
		}),
		Input:  1,
		Tasks:  []agent.TaskKind{Task("pay", func(int) (string, error) { effects++; return "paid", nil })},
		Before: func(*Scenario) { effects = 0 },
	}
	if found := crashAtEveryCommit(t, s); len(found) > 0 {
		t.Error(found)
	}
	r := s.run(t, plan{fate: dieBefore, at: 2}, 0)
	if string(r.Output) != `"asked the bank"` || !interrupted(r.Outcome) || effects != 1 {
		t.Errorf("it gave %s with %d effects, at %s", r.Output, effects, r.what)
	}
}
