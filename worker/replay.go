package worker

import (
	"encoding/json"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/worker/results"
)

// perform returns the result of the attempt. If the task kind has a Replay function, and an earlier
// attempt has left its result in Config.Results, perform returns that result and does not call the
// code of the task. Otherwise perform calls the code. With a Replay function, it also stores the
// result in Config.Results.
func (a *attempt) perform(def agent.TaskDefinition) (json.RawMessage, error) {
	if !a.keepsResult(def) {
		return a.call(def)
	}
	if result, ok := a.replay(def); ok {
		return result, nil
	}
	result, err := a.call(def)
	if err == nil {
		a.keep(result)
	}
	return result, err
}

func (a *attempt) keepsResult(def agent.TaskDefinition) bool {
	return def.Replay != nil && a.w.Results != nil
}

// replay returns the result that an earlier attempt has stored, and streams it again. The bool is
// false if there is no usable result. A stored result that cannot be used is removed.
func (a *attempt) replay(def agent.TaskDefinition) (json.RawMessage, bool) {
	result, ok := a.w.Results.Get(a.resultKey())
	if !ok {
		return nil, false
	}
	if err := def.Replay(a, result); err != nil {
		a.log().Warn("a result kept on disk is not usable; the task runs again", "error", err)
		a.w.Results.Remove(a.resultKey())
		return nil, false
	}
	a.resultStored = true
	a.log().Info("the task ends with the result that an earlier attempt left on disk")
	a.w.Observer.replayed(a.claim.Task.Kind)
	return result, true
}

// keep stores the result in Config.Results. If that fails, and the worker dies before the server
// has stored the result, the task runs again.
func (a *attempt) keep(result json.RawMessage) {
	if err := a.w.Results.Put(a.resultKey(), result); err != nil {
		a.log().Warn("a result could not be kept on disk until the server has it", "error", err)
		return
	}
	a.resultStored = true
}

// discardStoredResult removes the attempt's result from Config.Results, because the server has
// stored an outcome of the task.
func (a *attempt) discardStoredResult() {
	if a.resultStored {
		a.w.Results.Remove(a.resultKey())
	}
}

func (a *attempt) resultKey() results.Key {
	t := a.claim.Task
	return results.Key{ExecutionID: a.claim.Lease.ExecutionID, TaskID: t.ID, Input: hashOf(t.Input)}
}
