package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"github.com/perdure/perdure/tool"
)

// result is the result of one run of a scenario.
type result struct {
	Outcome
	met    bool   // whether the run reached the write that the plan selects
	what   string // describes that write
	calls  int    // number of writes of the workers
	faults []string
}

// run runs the scenario with the faults of the plan, in a synctest bubble of its own. The argument
// `parked` becomes the field Parked of the workers' configuration.
func (s Scenario) run(t *testing.T, p plan, parked int) (r result) {
	t.Helper()
	s = s.normal()
	blank, err := emptyStore()
	if err != nil {
		t.Fatal(err)
	}
	if err := tryFences(t); err != nil {
		t.Fatal(err)
	}
	bubble.Test(t, func(t *testing.T) {
		w, err := newWorld(t, s, p, parked, blank)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.close(); err != nil {
				t.Error(err)
			}
		}()
		r = w.play(t)
	})
	return r
}

// fences makes tryFences test the sandbox of commands only once per process.
var fences sync.Once

// tryFences tests the sandbox of commands before virtual time begins. A timer ends the test command if
// it hangs, but in a synctest bubble no timer fires while a process runs.
func tryFences(t *testing.T) (err error) {
	fences.Do(func() {
		var w *tool.Workspace
		if w, err = tool.OpenWorkspace(t.TempDir(), ".", tool.WorkspaceOptions{}); err == nil {
			err = w.Close()
		}
	})
	return err
}

// play runs the execution to its end and returns the result of the run.
func (w *world) play(t *testing.T) result {
	t.Helper()
	err := w.work()
	if err == nil {
		err = w.live(t.Context())
	}
	close(w.ended)
	synctest.Wait()
	w.note(err)
	var o Outcome
	if w.id != [16]byte{} {
		if o, err = read(t.Context(), w.core.Store, org, w.id); err != nil {
			w.note(err)
		}
		invariants.Check(t, w.core.Store)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o.Ran, o.ModelCalls, o.Commits = w.ran, w.ran[modelTask], w.commits
	for _, id := range w.signals {
		o.Signals = append(o.Signals, w.signalName(id))
	}
	if w.Normalize != nil {
		w.Normalize(&o)
	}
	return result{Outcome: o, met: w.met, what: w.what, calls: w.calls, faults: w.faults}
}

// runProgress records what the scenario has done so far in a run.
type runProgress struct {
	sent      []bool // whether each signal of the scenario was sent, by its index
	cancelled bool
	quiet     time.Time          // time of the last call that a worker made
	left      map[uuid.UUID]bool // questions that the scenario does not answer
}

// live starts the execution and lets time pass until the run has ended.
func (w *world) live(ctx context.Context) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	c := &runProgress{sent: make([]bool, len(w.Signals)), quiet: time.Now()}
	for {
		synctest.Wait() // lets all work finish that is due now
		rest, err := w.step(ctx, c)
		if err != nil || rest < 0 {
			return err
		}
		timer := time.NewTimer(rest)
		select {
		case <-w.poked:
			c.quiet = time.Now()
		case <-timer.C:
			if err := w.core.Sweep(ctx); err != nil {
				return err
			}
		}
		timer.Stop()
	}
}

// step performs the actions of the scenario that are due now. It returns a duration in which
// nothing else becomes due, or a negative duration if the run has ended.
func (w *world) step(ctx context.Context, c *runProgress) (time.Duration, error) {
	x, err := w.core.Store.Execution(ctx, org, w.id)
	if err != nil || x.Status.Terminal() {
		return -1, err
	}
	if w.CancelAfter > 0 && !c.cancelled && w.elapsed() >= w.CancelAfter {
		c.cancelled = true
		_, _, err := w.core.Cancel(ctx, org, w.id)
		return 0, err
	}
	if i := w.due(x, c.sent); i >= 0 {
		c.sent[i] = true
		return 0, w.signal(ctx, i)
	}
	if answered, err := w.answerOne(ctx, x, c); answered || err != nil {
		return 0, err
	}
	open, deadline, err := w.open(ctx)
	if err != nil {
		return 0, err
	}
	questions, err := w.core.Store.Due(ctx, store.DueQuery{Since: w.core.Store.Now()})
	if err != nil {
		return 0, err
	}
	if w.idle(x, c.sent, open) && questions.At[store.PickQuestions].IsZero() {
		return -1, nil
	}
	if err := w.stuck(x, open); err != nil {
		return 0, err
	}
	return w.rest(ctx, x, c, deadline)
}

func (w *world) elapsed() time.Duration { return time.Since(w.begun) }

// due returns the index of a signal of the scenario that must be sent now, or -1 if there is none.
func (w *world) due(x *perdure.Execution, sent []bool) int {
	for i, s := range w.Signals {
		if !sent[i] && s.After != 0 && w.elapsed() >= s.After {
			return i
		}
	}
	for i, s := range w.Signals {
		if sent[i] || s.After != 0 {
			continue
		}
		if x.Status == perdure.StatusWaiting && x.Wait != nil {
			for _, pattern := range x.Wait.Signals() {
				if perdure.MatchName(pattern, s.Name) {
					return i
				}
			}
		}
		break // signals with After 0 are sent in order
	}
	return -1
}

func signalID(i int) string { return fmt.Sprintf("signal-%d", i+1) }

func (w *world) signalName(id string) string {
	for i, s := range w.Signals {
		if signalID(i) == id {
			value, err := json.Marshal(s.Value)
			if err != nil {
				return s.Name
			}
			return s.Name + " " + string(value)
		}
	}
	return id
}

func (w *world) signal(ctx context.Context, i int) error {
	s := w.Signals[i]
	value, err := json.Marshal(s.Value)
	if err != nil {
		return fmt.Errorf("the value of the signal %q does not encode: %w", s.Name, err)
	}
	_, err = w.core.Signal(ctx, org, w.id, engine.SignalRequest{Name: s.Name, Value: value, ID: signalID(i)})
	if perdure.IsCode(err, perdure.ExecutionEnded) {
		return nil // a signal may be sent after the end of the execution
	}
	return err
}

// open returns the tasks that have not ended, and the earliest of their deadlines. The deadline is zero
// if no task has one.
func (w *world) open(ctx context.Context) (open []*perdure.Task, deadline time.Time, err error) {
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := w.core.Store.ListTasks(ctx, w.id, false, cursor, 200)
		if err != nil {
			return nil, deadline, err
		}
		for _, t := range page.Items {
			if t.Status.Terminal() {
				continue
			}
			open = append(open, t)
			if limit := t.Options.ScheduleToClose; limit > 0 {
				if at := t.CreatedAt.Add(limit).Time; deadline.IsZero() || at.Before(deadline) {
					deadline = at
				}
			}
		}
		cursor = page.Next
	}
	return open, deadline, nil
}

// idle reports whether nothing more can happen, because the execution waits for a signal that is
// never sent.
func (w *world) idle(x *perdure.Execution, sent []bool, open []*perdure.Task) bool {
	if x.Status != perdure.StatusWaiting || len(open) > 0 || w.CancelAfter > w.elapsed() {
		return false
	}
	if _, timer := x.Wait.NextTimer(); timer || len(x.Wait.Tasks()) > 0 {
		return false
	}
	for i, s := range w.Signals {
		if !sent[i] && s.After > 0 {
			return false
		}
	}
	return true
}

// stuck returns an error that says why the run does not end. It returns nil if the run may still
// end.
func (w *world) stuck(x *perdure.Execution, open []*perdure.Task) error {
	w.mu.Lock()
	commits := w.commits
	w.mu.Unlock()
	state := string(x.Status)
	if x.Wait != nil && x.Status == perdure.StatusWaiting {
		state = "waiting for a " + x.Wait.Reason()
	}
	for _, t := range open {
		if !w.known[t.Kind] {
			return fmt.Errorf("the agent scheduled a task of the kind %q, which nobody runs; add one to Scenario.Tasks, for example agenttest.Result(%q, ...)", t.Kind, t.Kind)
		}
		state += fmt.Sprintf(", %s(%s) %s", t.Kind, t.Input, strings.ToLower(string(t.Status)))
	}
	if commits > w.MaxCommits {
		return fmt.Errorf("the run made over %d commits and has not ended (%s): does it ask for something new each time it is entered? Scenario.MaxCommits raises the limit", w.MaxCommits, state)
	}
	if w.elapsed() >= w.MaxVirtual {
		return fmt.Errorf("the run has not ended after %s of virtual time (%s); Scenario.MaxVirtual raises the limit", w.MaxVirtual, state)
	}
	return nil
}

// rest returns a duration in which nothing becomes due, so that the run can sleep that long.
func (w *world) rest(ctx context.Context, x *perdure.Execution, c *runProgress, deadline time.Time) (time.Duration, error) {
	const least, part = 250 * time.Millisecond, 16
	now := time.Now()
	rest := w.MaxVirtual - w.elapsed()
	sooner := func(d time.Duration) { rest = min(rest, max(d, latency)) }
	if x.Status != perdure.StatusWaiting || x.Wait.Reason() == "task" {
		// The test cannot read the timeouts of the running work. So it checks the execution again
		// after a fraction of the time since the last call of a worker, and notices a timeout
		// slightly late.
		sooner(max(least, now.Sub(c.quiet)/part))
	}
	if !deadline.IsZero() {
		sooner(deadline.Sub(now))
	}
	for i, s := range w.Signals {
		if !c.sent[i] && s.After > 0 {
			sooner(s.After - w.elapsed())
		}
	}
	if w.CancelAfter > w.elapsed() {
		sooner(w.CancelAfter - w.elapsed())
	}
	due, err := w.core.Store.Due(ctx, store.DueQuery{Since: w.core.Store.Now()})
	for _, at := range []perdure.Time{due.Ready, due.At[store.PickTimers], due.At[store.PickQuestions]} {
		if !at.IsZero() {
			sooner(at.Sub(now))
		}
	}
	return rest, err
}
