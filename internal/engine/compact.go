package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// CompactRequest asks an execution to compact its conversation.
type CompactRequest struct {
	perdure.CompactionRequest
	// IdempotencyKey, if set, identifies the request for 24 hours. A repeat returns the signal of
	// the first request.
	IdempotencyKey string
}

// Compact sends an execution of the react agent the signal that asks for a compaction. Errors: as
// for Signal, and conflict if the execution is of another kind.
func (e *Engine) Compact(ctx context.Context, org string, id uuid.UUID, r CompactRequest) (SignalReply, error) {
	if err := r.Check(); err != nil {
		return SignalReply{}, err
	}
	if err := perdure.CheckText("Idempotency-Key", r.IdempotencyKey); err != nil {
		return SignalReply{}, err
	}
	x, err := e.refs.Execution(ctx, org, id)
	if err != nil {
		return SignalReply{}, err
	}
	if x.Kind != perdure.ReactKind {
		return SignalReply{}, perdure.Errorf(perdure.Conflict,
			"execution %s is of kind %s; only a %s has a conversation that can be compacted", id, x.Kind, perdure.ReactKind)
	}
	value, err := json.Marshal(r.CompactionRequest)
	if err != nil {
		return SignalReply{}, perdure.FieldErrorf("instructions", "do not encode: %v", err)
	}
	s := SignalRequest{Name: perdure.CompactSignal, Value: value}
	if r.IdempotencyKey != "" {
		s.IdempotencyKey = r.IdempotencyKey
		s.RequestHash = sha256.Sum256([]byte(strings.Join([]string{perdure.CompactSignal, id.String(), string(value)}, "\x00")))
		// A repeated request gets the same signal id, so the reply contains the first signal.
		// Another request with the same key gets another id, and is refused because its hash
		// differs.
		s.ID = uuid.NewSHA1(id, append(s.RequestHash[:], r.IdempotencyKey...)).String()
	}
	return e.Signal(ctx, org, id, s)
}

// checkCompaction checks the value of a CompactSignal. The value must be null or a
// CompactionRequest.
func checkCompaction(value json.RawMessage) error {
	text := strings.TrimSpace(string(value))
	if text == "null" {
		return nil
	}
	if !strings.HasPrefix(text, "{") {
		return perdure.FieldErrorf("signalValue", `of a %s must be {} or {"instructions": "..."}`, perdure.CompactSignal)
	}
	var r perdure.CompactionRequest
	if err := perdure.DecodeExactly("signalValue", value, &r); err != nil {
		return err
	}
	var refused *perdure.Error
	if errors.As(r.Check(), &refused) && len(refused.Fields) > 0 {
		return perdure.FieldErrorf("signalValue."+refused.Fields[0].Location, "%s", refused.Fields[0].Message)
	}
	return nil
}
