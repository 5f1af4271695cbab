package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var signalValue = statement.Read("SELECT signal_value FROM agent_signal WHERE agent_execution_id = ? AND id = ?")

// loadValues loads the values of the first signals, about `limit` bytes in all, but at least one
// value. It returns these signals.
func loadValues(v statement.View, join joiner, execution uuid.UUID, signals []perdure.Signal, limit int64) ([]perdure.Signal, error) {
	var bytes int64
	for i := range signals {
		s := &signals[i]
		if err := loadValue(v, join, execution, s); err != nil {
			return nil, err
		}
		if bytes += (perdure.Payload{Bytes: s.Value, Blob: s.Blob}).Size(); bytes > limit {
			return signals[:i+1], nil
		}
	}
	return signals, nil
}

// loadValue loads the value of a signal.
func loadValue(v statement.View, join joiner, execution uuid.UUID, s *perdure.Signal) error {
	if _, err := v.One(signalValue, []any{execution[:], s.ID}, column.RawInto(&s.Value)); err != nil {
		return err
	}
	return join(v, execution, &s.Value, &s.Blob)
}

// ListSignals implements [store.Reader].
func (r *Reader) ListSignals(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[*perdure.Signal], error) {
	return base.List(ctx, r.Source, cursor, limit, 0, func(v statement.View, after int64, limit int, add func(int64, *perdure.Signal) bool) error {
		signals, err := load.Signals(v, load.SignalsAfter, []any{execution[:], after, limit}, limit, nil)
		for i := range signals {
			add(signals[i].Order, &signals[i])
		}
		return err
	}, func(v statement.View, s **perdure.Signal) (int, error) {
		err := loadValue(v, r.join, execution, *s)
		return store.Weight((*s).Value, (*s).Blob), err
	})
}
