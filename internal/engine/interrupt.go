package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Interrupt stops the current turn of an execution. It is idempotent: if there is no turn to stop,
// or the turn is being stopped already, nothing changes. SignalReply.Stopped reports whether there
// was a turn to stop. Errors: not_found, invalid_argument (also for a kind that has no turns).
func (e *Engine) Interrupt(ctx context.Context, org string, id uuid.UUID, r perdure.Interrupt) (SignalReply, error) {
	if err := r.Check(); err != nil {
		return SignalReply{}, err
	}
	value, err := json.Marshal(r)
	if err != nil {
		return SignalReply{}, perdure.FieldErrorf("reason", "does not encode: %v", err)
	}
	return e.Signal(ctx, org, id, SignalRequest{Name: perdure.InterruptSignal, Value: value})
}

// checkTurns checks that an execution is of a kind that has turns. An execution that does not exist
// passes: the decision refuses it. Error: invalid_argument.
func (e *Engine) checkTurns(ctx context.Context, org string, execution uuid.UUID) error {
	kind, err := e.kindOf(ctx, org, execution)
	if err != nil || kind == perdure.ReactKind {
		return ignoring(err, perdure.NotFound)
	}
	known, err := e.storedKind(ctx, org, kind)
	if ignoring(err, perdure.NotFound) != nil {
		return err
	}
	if err == nil && slices.ContainsFunc(known.Signals, func(s store.KindSignal) bool { return s.Name == perdure.InterruptSignal }) {
		return nil
	}
	return perdure.FieldErrorf("kind", "executions of kind %s have no turns that could be stopped; cancel the execution, or register the signal %s",
		kind, perdure.InterruptSignal)
}

// ignoring returns err, or nil if it has the code.
func ignoring(err error, code perdure.Code) error {
	if perdure.IsCode(err, code) {
		return nil
	}
	return err
}

// checkInterrupt checks the value of an InterruptSignal. It is null or an Interrupt.
func checkInterrupt(value json.RawMessage) error {
	text := strings.TrimSpace(string(value))
	if text == "null" {
		return nil
	}
	if !strings.HasPrefix(text, "{") {
		return perdure.FieldErrorf("signalValue", `of a %s must be {} or {"reason": "..."}`, perdure.InterruptSignal)
	}
	var i perdure.Interrupt
	if err := perdure.DecodeExactly("signalValue", value, &i); err != nil {
		return err
	}
	var refused *perdure.Error
	if errors.As(i.Check(), &refused) && len(refused.Fields) > 0 {
		return perdure.FieldErrorf("signalValue."+refused.Fields[0].Location, "%s", refused.Fields[0].Message)
	}
	return nil
}
