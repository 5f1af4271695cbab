package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// pendingLimit is the maximum number of pending signals that a decision gets for the patterns in
// its needs. Signals that the command requests by id are not counted.
const pendingLimit = 1000

var insertSignal = statement.Declare(load.SignalRows.InsertStatement())

func putSignal(v statement.View, execution uuid.UUID, s *perdure.Signal, now perdure.Time) error {
	stored := *s
	if s.State == "" {
		stored.State = perdure.SignalPending
	}
	body := planContent(s.Value, s.Blob)
	stored.Blob = body.ref
	values, err := load.SignalRows.Values(&load.SignalRow{Execution: execution, Signal: &stored})
	if err == nil {
		err = v.Write(insertSignal, append(values, body.column())...)
	}
	if err != nil {
		return err
	}
	return spill(v, execution, now, body)
}

var (
	takeSignal = statement.Alone("UPDATE agent_signal SET state = 'taken', taken_at = ?2, taken_order =" +
		" (SELECT coalesce(max(taken_order), 0) + 1 FROM agent_signal WHERE agent_execution_id = ?1 AND state = 'taken')" +
		" WHERE agent_execution_id = ?1 AND id = ?3 AND " + column.Unindexed("state") + " = 'pending'")
	consumeSignals = statement.Update("agent_signal", statement.Terms{}.Fixed("state", "= 'consumed'"), statement.Columns("agent_execution_id").Fixed("state", "= 'taken'"))
)
