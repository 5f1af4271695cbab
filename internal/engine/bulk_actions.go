package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/engine/bulk"
	"github.com/perdure/perdure/internal/rules"
)

func (e *Engine) newBulk() *bulk.Actions {
	return &bulk.Actions{Config: bulk.Config{
		Store: e.Store, One: e.value, Rules: e.rules, Signal: e.bulkSignal, Hints: e.Hints, Logger: e.Logger, Tick: e.Tick,
	}}
}

// bulkSignal checks a signal without a value, as the method Signal does. It returns the signal in the
// form in which it is stored.
func (e *Engine) bulkSignal(ctx context.Context, org string, execution uuid.UUID, name, id string) (rules.NewSignal, error) {
	r := SignalRequest{Name: name, ID: id, Value: json.RawMessage("null")}
	known, err := e.Kinds.Signal(ctx, org, execution, name)
	if err != nil {
		return rules.NewSignal{}, err
	}
	n := newSignal(r, checkedValue{misfit: e.Kinds.Misfit(known, r.Value)}, nil)
	n.Unexpected = known.Unexpected
	return n, nil
}
