package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/bubble"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFaultsAtACommit checks, for each fault at a commit, how often the agent's function is
// entered, and how often the function finds a checkpoint when it is entered again. The function
// finds a checkpoint if the commit was stored before the worker died or lost its lease.
func TestFaultsAtACommit(t *testing.T) {
	entered, kept := 0, 0
	s := Scenario{
		Agent: agent.DefineFunc("witness", func(ctx agent.Context, _ int) (string, error) {
			entered++
			if known, err := ctx.State(new(int)); err != nil {
				return "", err
			} else if known {
				kept++
			}
			if err := ctx.Checkpoint(1); err != nil {
				return "", err
			}
			return "done", nil
		}),
		Input:  1,
		Before: func(*Scenario) { entered, kept = 0, 0 },
	}
	for _, test := range []struct {
		plan    plan
		entered int
		kept    int // how often the function found a checkpoint
	}{
		{plan{}, 1, 0},
		{plan{fate: dieBefore, at: 1}, 2, 0},
		{plan{fate: dieAfter, at: 1}, 2, 1},
		{plan{fate: dieBefore, at: 2}, 2, 1},
		{plan{fate: dieAfter, at: 2}, 1, 0}, // the execution has ended
		{plan{fate: loseBefore, at: 1, all: true}, 2, 0},
		{plan{fate: loseForGood, at: 1, all: true}, 2, 0},
		{plan{fate: loseBefore, at: 2, all: true}, 2, 1},
		{plan{twice: true}, 1, 0},
	} {
		r := s.run(t, test.plan, 0)
		if entered != test.entered || kept != test.kept || string(r.Output) != `"done"` || len(r.faults) > 0 {
			t.Errorf("%+v: entered %d times, %d with the checkpoint, gave %s %v", test.plan, entered, kept, r.Output, r.faults)
		}
	}
}

// TestRepeatedDelivery checks that send and repeat deliver a call once or twice, and return the
// reply that the plan selects.
func TestRepeatedDelivery(t *testing.T) {
	for p, want := range map[plan][2]int{
		{}:                         {1, 1},
		{twice: true}:              {2, 2},
		{twice: true, first: true}: {2, 1},
	} {
		bubble.Test(t, func(t *testing.T) {
			cut, cancel := context.WithCancel(t.Context())
			defer cancel()
			l := &wire{w: &world{plan: p, poked: make(chan struct{}, 1)}, cut: cut}
			calls := 0
			call := func() (int, error) { calls++; return calls, nil }
			if answer, err := send(l, write{}, call); calls != want[0] || answer != want[1] || err != nil {
				t.Errorf("%+v: %d calls, answer %d, %v", p, calls, answer, err)
			}
			calls = 0
			if answer, err := repeat(l, call); calls != want[0] || answer != want[1] || err != nil {
				t.Errorf("%+v: %d repeated calls, answer %d, %v", p, calls, answer, err)
			}
		})
	}
}

// TestStaleWriteIsFound checks that a write that the server accepts after a lost lease is a fault
// of the run.
func TestStaleWriteIsFound(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			err   error
			stale func() bool
			found int
		}{
			{nil, nil, 1},
			{perdure.Errorf(perdure.LeaseLost, "it is lost"), nil, 0},
			{nil, func() bool { return true }, 0},
			{nil, func() bool { return false }, 1},
		} {
			l := &wire{w: &world{poked: make(chan struct{}, 1)}, cut: t.Context()}
			l.lost.Store(true)
			_, _ = send(l, write{what: "a commit", stale: test.stale}, func() (int, error) { return 0, test.err })
			if len(l.w.faults) != test.found {
				t.Errorf("answered %v: found %v", test.err, l.w.faults)
			}
		}
	})
}

type someAttempt struct {
	agent.TaskContext
	task *perdure.Task
}

func (a someAttempt) Task() *perdure.Task { return a.task }

// TestSecondRunIsFound checks that it is a fault if a task runs again after its result is stored.
// It is no fault if a task runs again after a failure.
func TestSecondRunIsFound(t *testing.T) {
	w := &world{
		ran: map[string]int{}, finished: map[uuid.UUID]bool{}, failed: map[uuid.UUID]map[uuid.UUID]bool{},
	}
	d := w.watched(Result("work", 1))
	ctx := someAttempt{task: &perdure.Task{ID: uuid.New(), Attempt: 1}}
	lease := perdure.TaskLease{TaskID: ctx.task.ID, Attempt: 1}
	for i, finish := range []func(){
		func() { w.finish(perdure.TaskFinish{Lease: lease, Error: &perdure.TaskError{}}) },
		func() { w.finish(perdure.TaskFinish{Lease: lease}) },
		func() {},
	} {
		if _, err := d.Run(ctx, json.RawMessage("1")); err != nil {
			t.Fatal(err)
		}
		if found := len(w.faults); found != max(0, i-1) {
			t.Errorf("after run %d: found %v", i+1, w.faults)
		}
		finish()
	}
	if w.ran["work"] != 3 {
		t.Errorf("counted %v", w.ran)
	}
}

// TestDifferences checks the function `different`, which compares two outcomes: it reports a
// difference in each field, except Elapsed, Commits and Ran.
func TestDifferences(t *testing.T) {
	base := func() Outcome {
		return Outcome{
			Status: perdure.StatusCompleted, Output: json.RawMessage(`{"a":1}`), Signals: []string{"go 1"},
			Messages: []perdure.Message{perdure.UserText("hello")},
			Tasks:    []TaskOutcome{{Kind: "work", Input: json.RawMessage("1")}},
		}
	}
	if diff := different(base(), base()); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*Outcome){
		"status":    func(o *Outcome) { o.Status = perdure.StatusFailed },
		"error":     func(o *Outcome) { o.Error = "x" },
		"output":    func(o *Outcome) { o.Output = json.RawMessage(`{"a":2}`) },
		"text":      func(o *Outcome) { o.Messages[0] = perdure.UserText("bye") },
		"signature": func(o *Outcome) { o.Messages[0].Parts[0].TextSignature = "x" },
		"a message": func(o *Outcome) { o.Messages = append(o.Messages, o.Messages[0]) },
		"a task":    func(o *Outcome) { o.Tasks = append(o.Tasks, o.Tasks[0]) },
		"no task":   func(o *Outcome) { o.Tasks = nil },
		"a signal":  func(o *Outcome) { o.Signals = nil },
	} {
		changed := base()
		change(&changed)
		if different(base(), changed) == "" {
			t.Errorf("%s: no difference", name)
		}
	}
	same := base()
	same.Elapsed, same.Commits, same.Ran = 1, 2, map[string]int{"work": 3}
	same.Error = ""
	if diff := different(base(), same); diff != "" {
		t.Errorf("what happened on the way is compared: %s", diff)
	}
}

func TestNames(t *testing.T) {
	known, other := uuid.New(), uuid.New()
	n := &names{byID: map[string]string{known.String(): "entry-1"}}
	got := string(n.in(fmt.Appendf(nil, "%s %s %s", known, other, "0123")))
	if got != "entry-1 id 0123" {
		t.Errorf("renamed to %q", got)
	}
	parts := []perdure.Part{{Type: perdure.PartToolCall, ID: "x"}, {Type: perdure.PartToolResult, ToolCallID: "x"}}
	n.calls(parts)
	if parts[0].ID != "call-1" || parts[1].ToolCallID != "call-1" {
		t.Errorf("renamed to %+v", parts)
	}
}

func TestBalance(t *testing.T) {
	more, less := balance([]string{"a", "a", "b"}, []string{"a", "b", "b", "c"})
	if !slices.Equal(more, []string{"b", "c"}) || !slices.Equal(less, []string{"a"}) {
		t.Errorf("more %v, less %v", more, less)
	}
}
