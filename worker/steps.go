package worker

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// record returns the record of the step with this key, or nil if the step has none.
func (r *run) record(key string) (*perdure.Task, error) {
	id := perdure.TaskID(key)
	if t := r.tasks.get(id); t != nil {
		return t, nil
	}
	return r.recorded(id)
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
		if recorded, err = r.perform(name, settings.Instance, key, fn, settings.Lazy); err != nil {
			return nil, err
		}
	}
	return recorded.Result, agent.Result{Task: recorded}.Err()
}

// perform calls the function fn of a step and records its result or error. It commits the record at
// once, unless `lazy` is true.
func (r *run) perform(name, instance, key string, fn func(context.Context) (json.RawMessage, error), lazy bool) (*perdure.Task, error) {
	if err := r.freshLease(); err != nil {
		return nil, err
	}
	result, failure := fn(r)
	if err := r.check(); err != nil {
		return nil, err
	}
	rec := perdure.StepRecord{Name: name, Instance: storedInstance(instance), Key: key, Result: perdure.Inline(result)}
	task := &perdure.Task{ID: perdure.TaskID(key), Kind: name, Step: true, Status: perdure.TaskCompleted, Result: result}
	if failure != nil {
		rec.Result, rec.Error = perdure.Payload{}, failureOf(failure)
		task.Status, task.Result, task.Error = perdure.TaskFailed, nil, rec.Error
	}
	r.pending.Steps = append(r.pending.Steps, rec)
	r.tasks.put(task)
	if lazy {
		return task, nil
	}
	_, err := r.commit(perdure.Outcome{})
	return task, err
}

// storedInstance returns the instance of a step as the step's record contains it, or "" if the
// instance cannot be stored.
func storedInstance(instance string) string {
	if perdure.CheckText("instance", instance) != nil || utf8.RuneCountInString(instance) > perdure.MaxStepInstance {
		return ""
	}
	return instance
}

// freshLease waits until the lease is renewed, if the lease is in its last fifth. Otherwise the
// lease could expire, and another worker could claim the execution and repeat the work. freshLease
// does not return if the lease is lost. Its error says that the execution is being cancelled.
func (r *run) freshLease() error {
	for {
		r.mu.Lock()
		late := r.renew.late()
		r.mu.Unlock()
		if !late {
			return nil
		}
		rest(r.Context, r.w.settings.Lease/20)
		if err := r.check(); err != nil {
			return err
		}
	}
}
