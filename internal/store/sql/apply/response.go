package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	putResponse  = statement.Declare(load.ResponseRows.InsertStatement())
	joinResponse = statement.Update("agent_response", statement.Columns("joined"), statement.Columns("agent_execution_id, id"))
	hideResponse = statement.Update("agent_response", statement.Terms{}.Fixed("hidden", "= 1"), statement.Columns("agent_execution_id, id"))
	endResponse  = statement.Update("agent_response", statement.Columns("said, said_and_run"), statement.Columns("agent_execution_id, id").Fixed("said", "IS NULL"))
)

func (t *Transaction) applyResponses(id uuid.UUID, ch *store.Changes) error {
	for i := range ch.Responses {
		r := ch.Responses[i]
		r.Execution = id
		err := load.ResponseRows.Write(t.View, putResponse, &r)
		if err != nil {
			return err
		}
	}
	for _, j := range ch.Join {
		if err := t.Write(joinResponse, j.Into, id[:], j.ID); err != nil {
			return err
		}
	}
	if ch.HideResponse != "" {
		if err := t.Write(hideResponse, id[:], ch.HideResponse); err != nil {
			return err
		}
	}
	if end := ch.EndResponse; end != nil {
		return t.Write(endResponse, column.OptHash(end.History.Said), column.OptHash(end.History.SaidAndRun), id[:], end.ID)
	}
	return nil
}
