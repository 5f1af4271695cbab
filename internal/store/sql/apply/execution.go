package apply

import (
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// cloneExecution returns a copy of a row, which a decision can change without changing the
// original. The copy and the original share only the bytes of JSON values, which nobody changes.
func cloneExecution(x *perdure.Execution) *perdure.Execution {
	if x == nil {
		return nil
	}
	c := *x
	c.Wait = cloneWait(x.Wait)
	c.DefinitionID, c.WorkerID, c.Leaf = clonePtr(x.DefinitionID), clonePtr(x.WorkerID), clonePtr(x.Leaf)
	c.HomeID, c.KeyID = clonePtr(x.HomeID), clonePtr(x.KeyID)
	c.Error, c.ErrorCode = clonePtr(x.Error), clonePtr(x.ErrorCode)
	c.StartedAt, c.CompletedAt = clonePtr(x.StartedAt), clonePtr(x.CompletedAt)
	c.InputBlob, c.OutputBlob = clonePtr(x.InputBlob), clonePtr(x.OutputBlob)
	return &c
}

func cloneWait(w *perdure.Wait) *perdure.Wait {
	if w == nil {
		return nil
	}
	c := *w
	c.Any, c.All = cloneWaits(w.Any), cloneWaits(w.All)
	c.Task, c.Timer, c.Question = clonePtr(w.Task), clonePtr(w.Timer), clonePtr(w.Question)
	return &c
}

func cloneWaits(waits []perdure.Wait) []perdure.Wait {
	c := slices.Clone(waits)
	for i := range c {
		c[i] = *cloneWait(&c[i])
	}
	return c
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// putExecution inserts the row x, or updates the existing row. It returns the row as it is stored
// now, without contents, and the values of its columns.
func putExecution(v statement.View, l load.ExecutionRow, x *perdure.Execution, now perdure.Time) (*perdure.Execution, []any, error) {
	before := l.Row
	after := cloneExecution(x)
	after.Input, after.Output = nil, nil
	input, output := planContent(x.Input, x.InputBlob), planContent(x.Output, x.OutputBlob)
	if before != nil {
		input = replaceContent(x.Input, x.InputBlob, before.InputBlob)
		output = replaceContent(x.Output, x.OutputBlob, before.OutputBlob)
	}
	after.InputBlob, after.OutputBlob = input.ref, output.ref
	values, err := load.ExecutionRows.Values(after)
	if err != nil {
		return nil, nil, err
	}
	whole := append(values, input.column(), output.column())
	if before == nil {
		if err = load.ExecutionRows.Insert(v, whole); err == nil {
			err = indexMetadata(v, after)
		}
	} else {
		old := l.Values
		if old == nil {
			old, err = load.ExecutionRows.Values(before)
		}
		if err == nil {
			err = load.ExecutionRows.Update(v, old, whole)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return after, values, spill(v, x.ID, now, input, output)
}
