package bench

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// signals is W5: a client sends a signal over HTTP to an agent that waits for it. The measured time
// ends when the agent's code has the signal.
func signals(ctx context.Context, b *bench) error {
	n := pick(b, 10, 200)
	warm := n / 5
	return b.on(ctx, deploymentSpec{slots: 16}, func(s *deployment) error {
		id, err := s.agent(signalKind, signalsInput{N: n + warm})
		if err != nil {
			return err
		}
		for range n + warm {
			if err := s.waiting(id); err != nil {
				return err
			}
			value, err := json.Marshal(signalValue{At: time.Now().UnixNano()})
			if err != nil {
				return err
			}
			if _, err := s.api.Signal(s.ctx, id, client.SignalRequest{Name: "ping", Value: value}); err != nil {
				return err
			}
		}
		if err := s.finished(s.ctx, []followTarget{{Execution: id}}); err != nil {
			return err
		}
		all, err := s.samples("signal")
		if err != nil {
			return err
		}
		var f Figures
		f.delays("", all[warm:])
		b.add("signal", f)
		return nil
	})
}

// waiting waits until the execution is WAITING.
func (s *deployment) waiting(id uuid.UUID) error {
	for {
		x, err := s.api.Get(s.ctx, id)
		if err != nil || x.Status == perdure.StatusWaiting {
			return err
		}
		if err := pause(s.ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}
