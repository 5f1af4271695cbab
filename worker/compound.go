package worker

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// WaitAny implements agent.Context.
func (r *run) WaitAny(timeout time.Duration, conditions ...agent.Condition) (agent.WaitResult, error) {
	if err := r.blocking("WaitAny"); err != nil {
		return agent.WaitResult{}, err
	}
	if err := checkConditions(conditions); err != nil {
		return agent.WaitResult{}, err
	}
	shape, err := json.Marshal(conditions)
	if err != nil {
		return agent.WaitResult{}, err
	}
	a := r.ask(waitName("any", string(shape)))
	wait, err := waitOf(a, timeout, conditions)
	if err != nil {
		return agent.WaitResult{}, err
	}
	switch {
	case a.outcome == len(conditions):
		return agent.WaitResult{Index: -1}, agent.ErrTimeout
	case a.outcome >= 0 && a.outcome < len(conditions):
		if met, err := r.metAgain(a.outcome, conditions[a.outcome], wait.Any[a.outcome]); err != nil || met.Index >= 0 {
			return met, err
		}
	}
	if i := r.metWithoutTimer(conditions, wait); i >= 0 {
		return r.come(a, i, conditions[i])
	}
	for {
		marked, err := r.suspend(wait)
		if err != nil {
			return agent.WaitResult{}, err
		}
		if len(marked.Any) != len(wait.Any) {
			marked = wait // the reply has no marks, so only what the run has in memory counts
		}
		for i, c := range conditions {
			met, err := marked.Any[i].Evaluate(r.meets)
			if err != nil {
				return agent.WaitResult{}, err
			}
			if met {
				return r.come(a, i, c)
			}
		}
		if timeout > 0 && marked.Any[len(conditions)].Met {
			r.chose(a, len(conditions))
			return agent.WaitResult{Index: -1}, agent.ErrTimeout
		}
	}
}

// come records that the condition c, which has the index i, has met the wait a. It takes the
// signals that met the condition. Before that, it commits a delayed checkpoint.
func (r *run) come(a asking, i int, c agent.Condition) (agent.WaitResult, error) {
	if err := r.settle(); err != nil {
		return agent.WaitResult{}, err
	}
	r.chose(a, i)
	return r.collect(i, c), nil
}

func checkConditions(conditions []agent.Condition) error {
	if len(conditions) == 0 {
		return perdure.FieldErrorf("conditions", "a wait for any needs at least one condition")
	}
	for _, c := range conditions {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// waitOf returns the stored form of a wait for any of the conditions. A positive timeout becomes
// the last condition. Error: unsupported, for a condition that this version cannot store.
func waitOf(a asking, timeout time.Duration, conditions []agent.Condition) (perdure.Wait, error) {
	f := waitForm{asking: a}
	waits := f.list(conditions)
	if timeout > 0 {
		waits = append(waits, f.after(timeout))
	}
	return perdure.WaitAny(waits...), f.err
}

// waitForm builds the stored form of a wait. It counts the timers, because the name of a timer
// contains its number.
type waitForm struct {
	asking
	timers int
	err    error
}

func (f *waitForm) list(conditions []agent.Condition) []perdure.Wait {
	waits := make([]perdure.Wait, len(conditions))
	for i, c := range conditions {
		waits[i] = f.of(c)
	}
	return waits
}

func (f *waitForm) after(d time.Duration) perdure.Wait {
	f.timers++
	return perdure.WaitAfter(f.timer(f.timers), d)
}

func (f *waitForm) of(c agent.Condition) perdure.Wait {
	switch c.Kind() {
	case perdure.WaitKindAny:
		return perdure.WaitAny(f.list(c.Any)...)
	case perdure.WaitKindAll:
		return perdure.WaitAll(f.list(c.All)...)
	case perdure.WaitKindTask:
		return perdure.WaitTask(c.Task.ID)
	case perdure.WaitKindQuestion:
		return perdure.WaitQuestion(c.Question.ID)
	case perdure.WaitKindSignal:
		return perdure.WaitSignal(c.Signal)
	case perdure.WaitKindAfter:
		return f.after(c.Timer)
	default:
		f.err = unsupportedKind(c.Kind())
		return perdure.Wait{}
	}
}

func unsupportedKind(k perdure.WaitKind) error {
	return perdure.Errorf(perdure.Unsupported, "this worker cannot wait for a condition of the kind %s", k)
}

// metWithoutTimer returns the index of the first condition that is met by the data in memory, or
// -1. It stops at the first condition with a timer, because only the server knows whether the timer
// ended before the later conditions were met.
func (r *run) metWithoutTimer(conditions []agent.Condition, wait perdure.Wait) int {
	for i, c := range conditions {
		if ok, err := wait.Any[i].Evaluate(r.meets); ok && err == nil {
			return i
		}
		if c.HasTimer() {
			break
		}
	}
	return -1
}

// meets reports whether a condition without parts is met: the server has marked it as met, or the
// signal, the ended task or the answered question is in the run's memory. If it is marked, but not in
// memory, meets reads it from the server.
func (r *run) meets(leaf perdure.Wait) (bool, error) {
	switch leaf.Kind() {
	case perdure.WaitKindTask:
		if leaf.Met {
			if err := r.fetch(*leaf.Task); err != nil {
				return false, err
			}
		}
		return r.tasks.get(*leaf.Task) != nil, nil
	case perdure.WaitKindQuestion:
		return r.questionMet(leaf)
	case perdure.WaitKindSignal:
		if err := r.cover(leaf.Signal); err != nil {
			return false, err
		}
		if _, ok := r.find(leaf.Signal); ok || !leaf.Met {
			return ok, nil
		}
		err := r.findOne(leaf.Signal)
		_, ok := r.find(leaf.Signal)
		return ok, err
	case perdure.WaitKindTimer, perdure.WaitKindAfter:
		return leaf.Met, nil
	default:
		return false, unsupportedKind(leaf.Kind())
	}
}

// findOne reads pages of stored signals until the run has one that matches the pattern, or no page is left.
func (r *run) findOne(pattern string) error {
	for after := int64(0); ; {
		page, err := r.w.Dispatch.Signals(r.live, r.ID(), []string{pattern}, after, signalPage)
		if err != nil || len(page) == 0 {
			return err
		}
		r.addSignals(page)
		if _, ok := r.find(pattern); ok {
			return nil
		}
		after = page[len(page)-1].Order
	}
}

// metAgain returns the result of a wait when the agent's function is entered again. The recorded
// outcome of the wait is that the condition c, with the index i, was met. Timers count as met. If
// signals of the condition are no longer pending, the Index of the result is -1, and the caller
// waits again.
func (r *run) metAgain(i int, c agent.Condition, wait perdure.Wait) (agent.WaitResult, error) {
	ok, err := allMet(wait).Evaluate(r.meets)
	if !ok || err != nil {
		return agent.WaitResult{Index: -1}, err
	}
	return r.collect(i, c), nil
}

// allMet returns a copy of the wait in which every condition is marked as met.
func allMet(w perdure.Wait) perdure.Wait {
	mark := func(waits []perdure.Wait) []perdure.Wait {
		if waits == nil {
			return nil
		}
		marked := make([]perdure.Wait, len(waits))
		for i, child := range waits {
			marked[i] = allMet(child)
		}
		return marked
	}
	w.Any, w.All, w.Met = mark(w.Any), mark(w.All), true
	return w
}

// collect takes the signals that met the condition c, which has the index i. It returns these
// signals, and the states of the condition's tasks and questions. A signal that matches several
// parts of the condition meets all of them, but is taken once.
func (r *run) collect(i int, c agent.Condition) agent.WaitResult {
	met := agent.WaitResult{Index: i}
	var found []perdure.Signal
	c.Walk(func(leaf agent.Condition) {
		switch leaf.Kind() {
		case perdure.WaitKindTask:
			met.Tasks = append(met.Tasks, agent.Result{Task: r.tasks.get(leaf.Task.ID)})
		case perdure.WaitKindSignal:
			if s, ok := r.find(leaf.Signal); ok {
				found = append(found, s)
			}
		case perdure.WaitKindQuestion:
			met.Questions = append(met.Questions, r.questionState(leaf.Question.ID))
		case perdure.WaitKindAfter: // a timer adds nothing to the result
		case perdure.WaitKindAny, perdure.WaitKindAll, perdure.WaitKindTimer, perdure.WaitKindUnknown:
		}
	})
	seen := map[string]bool{}
	for _, s := range found {
		if seen[s.ID] {
			continue
		}
		seen[s.ID] = true
		r.takeOne(s)
		met.Signals = append(met.Signals, s)
	}
	return met
}

// takeOne removes the signal from the pending signals and records it as taken.
func (r *run) takeOne(s perdure.Signal) {
	for i := range r.signals {
		if r.signals[i].ID == s.ID {
			r.signals = append(r.signals[:i:i], r.signals[i+1:]...)
			break
		}
	}
	r.took(s)
}
