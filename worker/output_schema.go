package worker

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// checkLocalOutput checks the output of a LOCAL execution, or the result of one of its tasks, against the
// output schema of its kind. For REMOTE executions the server does this, but it never has the contents of
// LOCAL ones. Error: invalid_argument.
func (w *Worker) checkLocalOutput(field string, spec perdure.KindSpec, output json.RawMessage) error {
	if len(spec.OutputSchema) == 0 {
		return nil
	}
	compiled, err := w.schemas.Compile(spec.OutputSchema)
	if err != nil {
		return perdure.FieldErrorf(field, "cannot be compared with the output schema of %s: %v", spec.Kind, err)
	}
	return compiled.Check(field, output)
}

// misfit returns an error if the output of a LOCAL execution does not fit the output schema of the
// execution's kind.
func (r *run) misfit(out json.RawMessage) error {
	if r.claim.Execution.PersistenceMode != perdure.Local {
		return nil
	}
	return r.w.checkLocalOutput("outcome.output", r.def.Spec, out)
}

// misfit returns an error if the result of a LOCAL execution's task does not fit the output schema
// of the task's kind.
func (a *attempt) misfit(spec perdure.KindSpec, result json.RawMessage) error {
	if !strings.HasPrefix(a.claim.Task.Queue, perdure.LocalQueuePrefix) {
		return nil
	}
	if err := a.w.checkLocalOutput("result", spec, result); err != nil {
		return agent.Permanent(err)
	}
	return nil
}
