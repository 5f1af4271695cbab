package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
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

// checkInterrupt checks the value of an InterruptSignal. The value must be null or an Interrupt.
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
