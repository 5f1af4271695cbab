package read

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var signalValue = statement.Read("SELECT signal_value FROM agent_signal WHERE agent_execution_id = ? AND id = ?")

// loadValues loads the values of signals, up to about limit bytes, but at least one value. It
// returns the signals whose values it loaded.
func loadValues(v statement.View, join joiner, execution uuid.UUID, signals []perdure.Signal, limit int64) ([]perdure.Signal, error) {
	var bytes int64
	for i := range signals {
		s := &signals[i]
		if _, err := v.One(signalValue, []any{execution[:], s.ID}, column.RawInto(&s.Value)); err != nil {
			return nil, err
		}
		if err := join(v, execution, &s.Value, &s.Blob); err != nil {
			return nil, err
		}
		if bytes += (perdure.Payload{Bytes: s.Value, Blob: s.Blob}).Size(); bytes > limit {
			return signals[:i+1], nil
		}
	}
	return signals, nil
}
