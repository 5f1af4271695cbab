package kinds

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// CheckTurns refuses an interrupt of an execution whose kind has no turns (model calls with their
// tools). It accepts an execution that does not exist, because the command that stores the
// interrupt then reports the error. Error: invalid_argument.
func (k *Kinds) CheckTurns(ctx context.Context, org string, execution uuid.UUID) error {
	kind, err := k.of(ctx, org, execution)
	if err != nil || kind == perdure.ReactKind {
		return ignoring(err, perdure.NotFound)
	}
	known, err := k.Stored(ctx, org, kind)
	if ignoring(err, perdure.NotFound) != nil {
		return err
	}
	if err == nil && slices.ContainsFunc(known.Signals, func(s store.KindSignal) bool { return s.Name == perdure.InterruptSignal }) {
		return nil
	}
	return perdure.FieldErrorf("kind", "executions of kind %s have no turns that could be stopped; cancel the execution, or register the signal %s",
		kind, perdure.InterruptSignal)
}

// ignoring returns nil if err has the code, and err otherwise.
func ignoring(err error, code perdure.Code) error {
	if perdure.IsCode(err, code) {
		return nil
	}
	return err
}
