package worker

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// WaitAny implements agent.Context.
func (r *run) WaitAny(timeout time.Duration, conditions ...agent.Condition) (agent.Met, error) {
	if err := r.blocking("WaitAny"); err != nil {
		return agent.Met{}, err
	}
	if err := checkConditions(conditions); err != nil {
		return agent.Met{}, err
	}
	shape, err := json.Marshal(conditions)
	if err != nil {
		return agent.Met{}, err
	}
	a := r.ask(waitName("any", string(shape)))
	switch {
	case a.outcome == len(conditions):
		return agent.Met{Index: -1}, agent.ErrTimeout
	case a.outcome >= 0 && a.outcome < len(conditions):
		if met, err := r.metAgain(a.outcome, conditions[a.outcome]); err != nil || met.Index >= 0 {
			return met, err
		}
	}
	wait := waitOf(a, timeout, conditions)
	if i := r.metWithoutTimer(conditions); i >= 0 {
		return r.come(a, i, conditions[i])
	}
	for {
		marked, err := r.suspend(wait)
		if err != nil {
			return agent.Met{}, err
		}
		for i, c := range conditions {
			met, err := r.meets(c, child(marked.Any, i))
			if err != nil {
				return agent.Met{}, err
			}
			if met {
				return r.come(a, i, c)
			}
		}
		if timeout > 0 && child(marked.Any, len(conditions)).Met {
			r.chose(a, len(conditions))
			return agent.Met{Index: -1}, agent.ErrTimeout
		}
	}
}

// come records that the wait was met by the ith condition, and takes the signals that met it.
func (r *run) come(a asking, i int, c agent.Condition) (agent.Met, error) {
	if err := r.settle(); err != nil {
		return agent.Met{}, err
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

// waitOf returns the stored form of the conditions. A timeout is the last child.
func waitOf(a asking, timeout time.Duration, conditions []agent.Condition) perdure.Wait {
	timers := 0
	var of func(c agent.Condition) perdure.Wait
	list := func(conditions []agent.Condition) []perdure.Wait {
		waits := make([]perdure.Wait, len(conditions))
		for i, c := range conditions {
			waits[i] = of(c)
		}
		return waits
	}
	after := func(d time.Duration) perdure.Wait {
		timers++
		return perdure.WaitAfter(a.timer(timers), d)
	}
	of = func(c agent.Condition) perdure.Wait {
		switch {
		case c.Any != nil:
			return perdure.WaitAny(list(c.Any)...)
		case c.All != nil:
			return perdure.WaitAll(list(c.All)...)
		case c.Task != nil:
			return perdure.WaitTask(c.Task.ID)
		case c.Signal != "":
			return perdure.WaitSignal(c.Signal)
		}
		return after(c.Timer)
	}
	waits := list(conditions)
	if timeout > 0 {
		waits = append(waits, after(timeout))
	}
	return perdure.WaitAny(waits...)
}

// metWithoutTimer returns the first condition that is met by local knowledge, -1 if there is none.
// It stops at a condition with a timer, which only the store can decide.
func (r *run) metWithoutTimer(conditions []agent.Condition) int {
	for i, c := range conditions {
		if ok, err := r.meets(c, perdure.Wait{}); ok && err == nil {
			return i
		}
		if c.HasTimer() {
			break
		}
	}
	return -1
}

// meets reports whether a condition is met, by the store's mark or by local knowledge. It reads the
// signals and tasks that the store has marked and that are not here.
func (r *run) meets(c agent.Condition, marked perdure.Wait) (bool, error) {
	switch {
	case c.Any != nil:
		for i, one := range c.Any {
			if ok, err := r.meets(one, child(marked.Any, i)); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case c.All != nil:
		for i, one := range c.All {
			if ok, err := r.meets(one, child(marked.All, i)); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	case c.Task != nil:
		if marked.Met {
			if err := r.fetch(c.Task.ID); err != nil {
				return false, err
			}
		}
		return r.tasks.get(c.Task.ID) != nil, nil
	case c.Signal != "":
		if err := r.cover(c.Signal); err != nil {
			return false, err
		}
		if _, ok := r.find(c.Signal); ok || !marked.Met {
			return ok, nil
		}
		err := r.findOne(c.Signal)
		_, ok := r.find(c.Signal)
		return ok, err
	}
	return marked.Met, nil
}

// child returns the ith wait, or the zero Wait if there is none.
func child(waits []perdure.Wait, i int) perdure.Wait {
	if i < len(waits) {
		return waits[i]
	}
	return perdure.Wait{}
}

// findOne reads a signal that the store has and this run does not.
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

// metAgain returns a condition that was met before, with its timers counted as met. If its signals
// are gone, it waits for them again.
func (r *run) metAgain(i int, c agent.Condition) (agent.Met, error) {
	ok, err := r.meets(c, allMet(c))
	if !ok || err != nil {
		return agent.Met{Index: -1}, err
	}
	return r.collect(i, c), nil
}

// allMet returns the stored form of c with every leaf marked.
func allMet(c agent.Condition) perdure.Wait {
	marked := perdure.Wait{Met: true}
	for _, one := range c.Any {
		marked.Any = append(marked.Any, allMet(one))
	}
	for _, one := range c.All {
		marked.All = append(marked.All, allMet(one))
	}
	return marked
}

// collect takes the signals that met a condition, and returns the states of its tasks. A signal
// counts for every leaf that it matches and is taken once.
func (r *run) collect(i int, c agent.Condition) agent.Met {
	met := agent.Met{Index: i}
	var found []perdure.Signal
	c.Walk(func(leaf agent.Condition) {
		switch {
		case leaf.Task != nil:
			met.Tasks = append(met.Tasks, agent.Result{Task: r.tasks.get(leaf.Task.ID)})
		case leaf.Signal != "":
			if s, ok := r.find(leaf.Signal); ok {
				found = append(found, s)
			}
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

// takeOne takes the given signal.
func (r *run) takeOne(s perdure.Signal) {
	for i := range r.signals {
		if r.signals[i].ID == s.ID {
			r.signals = append(r.signals[:i:i], r.signals[i+1:]...)
			break
		}
	}
	r.took(s)
}
