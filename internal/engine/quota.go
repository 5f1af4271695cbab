package engine

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The limits of keys bound what comes from outside: starts, messages and
// uploads. What a running execution does is never refused for them, so that a
// limit cannot leave one half done; it may go over, and nothing new is let in
// until it is under again. docs/decisions/023-limits-of-keys.md.

// limitedBy returns the key whose limits an execution counts against.
func limitedBy(x *perdure.Execution) *uuid.UUID {
	if x == nil {
		return nil
	}
	return x.KeyID
}

// atWork reports whether an execution counts as running: it waits for neither a
// signal nor a timer alone.
func atWork(x *perdure.Execution) bool {
	return !x.Status.Terminal() && (x.Status != perdure.StatusWaiting || x.WaitReason == "task")
}

// roomToStore refuses what the limit of stored bytes has no room for.
func roomToStore(s *store.State, more int64) error {
	if s.Limited == nil || s.Limited.Use == nil {
		return nil
	}
	return s.Limited.Limits.Store(*s.Limited.Use, more)
}

// roomToRun refuses another execution at work.
func roomToRun(s *store.State, more int64) error {
	if s.Limited == nil || s.Limited.Use == nil {
		return nil
	}
	if err := s.Limited.Limits.Run(*s.Limited.Use); err != nil {
		return err
	}
	return roomToStore(s, more)
}

// roomToSignal refuses a signal that has no room, or that would put an idle
// execution to work while too many are.
func roomToSignal(s *store.State, r SignalRequest) error {
	x := s.Execution
	if !atWork(x) && x.Wait != nil {
		if _, met := x.Wait.Mark(facts{now: s.Now, signals: []string{r.Name}}); met {
			return roomToRun(s, int64(len(r.Value)))
		}
	}
	return roomToStore(s, int64(len(r.Value)))
}
