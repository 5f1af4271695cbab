package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

func hashOf(content []byte) perdure.Hash { return sha256.Sum256(content) }

// freshFor is how long a look at the pending signals counts as now.
const freshFor = 20 * time.Millisecond

// addSignals adds signals that are not known yet.
func (r *run) addSignals(signals []perdure.Signal) {
	for _, s := range signals {
		known := slices.ContainsFunc(r.signals, func(k perdure.Signal) bool { return k.ID == s.ID })
		if !known && !slices.Contains(r.pending.Take, s.ID) {
			r.signals = append(r.signals, s)
		}
	}
}

// look reads the pending signals again if the last look is old. Where there are
// more than one answer brings, it asks for those that match.
func (r *run) look(patterns ...string) error {
	if !r.more && time.Since(r.fresh) < freshFor {
		return nil
	}
	const most = 200
	if !r.more {
		patterns = nil
	}
	signals, err := r.w.Dispatch.Signals(r.live, r.ID(), patterns, most)
	if err != nil {
		return err
	}
	r.addSignals(signals)
	if len(patterns) == 0 {
		r.more, r.fresh = len(signals) == most, time.Now()
	}
	return nil
}

// take gives the first signal that matches any of the patterns; the next commit
// takes it.
func (r *run) take(patterns ...string) (perdure.Signal, bool) {
	i := slices.IndexFunc(r.signals, func(s perdure.Signal) bool { return matchesAny(patterns, s.Name) })
	if i < 0 {
		return perdure.Signal{}, false
	}
	s := r.signals[i]
	r.signals = slices.Delete(r.signals, i, i+1)
	r.pending.Take = append(r.pending.Take, s.ID)
	r.taken = append(r.taken, s)
	return s, true
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return perdure.MatchName(p, name) })
}

// WaitSignal implements agent.Context.
func (r *run) WaitSignal(pattern string, timeout time.Duration) (perdure.Signal, error) {
	return r.WaitAnySignal(timeout, pattern)
}

// WaitAnySignal implements agent.Context.
func (r *run) WaitAnySignal(timeout time.Duration, patterns ...string) (perdure.Signal, error) {
	if err := r.blocking("WaitSignal"); err != nil {
		return perdure.Signal{}, err
	}
	var waits []perdure.Wait
	for _, p := range patterns {
		waits = append(waits, perdure.WaitSignal(p))
	}
	if timeout > 0 {
		due, err := r.due("signal:"+strings.Join(patterns, " "), timeout)
		if err != nil {
			return perdure.Signal{}, err
		}
		waits = append(waits, perdure.WaitUntil(due))
	}
	for waited := false; ; waited = true {
		if s, ok := r.take(patterns...); ok {
			return s, nil
		}
		if waited && timeout > 0 {
			return perdure.Signal{}, agent.ErrTimeout // the store's clock says so
		}
		if err := r.suspend(perdure.WaitAny(waits...)); err != nil {
			return perdure.Signal{}, err
		}
		if r.more {
			if err := r.look(patterns...); err != nil {
				return perdure.Signal{}, err
			}
		}
	}
}

// DrainSignals implements agent.Context.
func (r *run) DrainSignals(pattern string) ([]perdure.Signal, error) {
	if err := r.look(pattern); err != nil {
		return nil, err
	}
	var taken []perdure.Signal
	for {
		s, ok := r.take(pattern)
		if !ok {
			return taken, nil
		}
		taken = append(taken, s)
	}
}

// HasSignal implements agent.Context.
func (r *run) HasSignal(pattern string) (bool, error) {
	if err := r.look(pattern); err != nil {
		return false, err
	}
	return slices.ContainsFunc(r.signals, func(s perdure.Signal) bool { return perdure.MatchName(pattern, s.Name) }), nil
}

// Sleep implements agent.Context.
func (r *run) Sleep(d time.Duration) error {
	if err := r.blocking("Sleep"); err != nil {
		return err
	}
	due, err := r.due("sleep", d)
	if err != nil {
		return err
	}
	return r.suspend(perdure.WaitUntil(due)) // the store's clock says when
}

// due is when something that lasts d ends, counted from the first time it was
// asked for. The moment is recorded like a step's result, so that a function
// that is entered again comes to the same.
func (r *run) due(what string, d time.Duration) (perdure.Time, error) {
	r.sleeps[what]++
	key := perdure.StepKey(r.ID(), what, fmt.Sprintf("%d:%d", r.seq, r.sleeps[what]))
	recorded, err := r.record(key)
	if err != nil {
		return perdure.Time{}, err
	}
	if recorded != nil {
		var due perdure.Time
		return due, json.Unmarshal(recorded.Result, &due)
	}
	due := perdure.At(time.Now().Add(d))
	raw, err := json.Marshal(due)
	if err != nil {
		return due, err
	}
	r.pending.Steps = append(r.pending.Steps, perdure.StepRecord{Name: what, Key: key, Result: perdure.Inline(raw)})
	id := perdure.TaskID(key)
	r.tasks[id] = &perdure.Task{ID: id, Kind: what, Step: true, Status: perdure.TaskCompleted, Result: raw}
	return due, nil
}

// record looks for a step's record. An execution that was never claimed before
// has none but those that this run made, and nothing is asked; a LOCAL one may
// have some whose commit did not reach the server.
func (r *run) record(key string) (*perdure.Task, error) {
	id := perdure.TaskID(key)
	if t := r.tasks[id]; t != nil {
		return t, nil
	}
	first := r.claim.LastCommit == (perdure.CommitNumber{})
	if first && (r.w.kept == nil || !r.w.kept.Keeps(r.id)) {
		return nil, nil
	}
	found, err := r.w.Dispatch.Tasks(r.live, r.ID(), []uuid.UUID{id})
	if err != nil || len(found) == 0 || found[0] == nil {
		return nil, err
	}
	r.tasks[id] = found[0]
	return found[0], nil
}

// RunStep implements agent.Context.
func (r *run) RunStep(name string, fn func(context.Context) (json.RawMessage, error), opts ...agent.StepOption) (json.RawMessage, error) {
	if err := r.blocking("RunStep"); err != nil {
		return nil, err
	}
	var settings agent.StepSettings
	for _, opt := range opts {
		opt(&settings)
	}
	key := perdure.StepKey(r.ID(), name, settings.Instance)
	if r.steps[key] {
		return nil, perdure.Errorf(perdure.StepNameReused, "the step %q was asked for twice; give each use a StepInstance of its own", name)
	}
	r.steps[key] = true
	recorded, err := r.record(key)
	if err != nil {
		return nil, err
	}
	if recorded == nil {
		if recorded, err = r.perform(name, key, fn, settings.Lazy); err != nil {
			return nil, err
		}
	}
	return recorded.Result, agent.Result{Task: recorded}.Err()
}

// perform runs a step and records its outcome.
func (r *run) perform(name, key string, fn func(context.Context) (json.RawMessage, error), lazy bool) (*perdure.Task, error) {
	if err := r.freshLease(); err != nil {
		return nil, err
	}
	result, failure := fn(r)
	if err := r.check(); err != nil {
		return nil, err
	}
	rec := perdure.StepRecord{Name: name, Key: key, Result: perdure.Inline(result)}
	task := &perdure.Task{ID: perdure.TaskID(key), Kind: name, Step: true, Status: perdure.TaskCompleted, Result: result}
	if failure != nil {
		rec.Result, rec.Error = perdure.Payload{}, failureOf(failure)
		task.Status, task.Result, task.Error = perdure.TaskFailed, nil, rec.Error
	}
	r.pending.Steps = append(r.pending.Steps, rec)
	r.tasks[task.ID] = task
	if lazy {
		return task, nil
	}
	_, err := r.commit(perdure.Outcome{})
	return task, err
}

// freshLease waits, in the last fifth of the lease, for its renewal: nothing is
// begun that might have to run elsewhere, too.
func (r *run) freshLease() error {
	for {
		r.mu.Lock()
		late := r.renew.late()
		r.mu.Unlock()
		if !late {
			return nil
		}
		rest(r.Context, r.claim.LeaseFor/20)
		if err := r.check(); err != nil {
			return err
		}
	}
}
