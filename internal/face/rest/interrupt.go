package rest

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/operation"
)

type interruptInput struct {
	operation.IDInput
	Body *perdure.Interrupt
}

// interrupt stops the current turn of an execution's agent.
func (s *server) interrupt(ctx context.Context, in *interruptInput) (*operation.Body[engine.SignalReply], error) {
	id, err := in.Of("execution")
	if err != nil {
		return nil, err
	}
	var r perdure.Interrupt
	if in.Body != nil {
		r = *in.Body
	}
	reply, err := s.Engine.Interrupt(ctx, in.Org, id, r)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(reply), nil
}
