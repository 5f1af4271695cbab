package engine

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The limits of keys apply to requests from outside: starts, messages and uploads. The work of a
// running execution is never refused because of them, so that a limit cannot stop it halfway. The
// use may therefore exceed a limit; requests are then refused until it is below the limit again.
// See docs/decisions/023-limits-of-keys.md.

// limitedBy returns the key whose limits apply to the execution, nil if there is none.
func limitedBy(x *perdure.Execution) *uuid.UUID {
	if x == nil {
		return nil
	}
	return x.KeyID
}

// atWork reports whether an execution counts as running: it has not ended, and does not wait only
// for a signal or a timer.
func atWork(x *perdure.Execution) bool {
	return !x.Status.Terminal() && (x.Status != perdure.StatusWaiting || x.WaitReason == "task")
}

// roomToStore checks the key's limit of stored bytes. Error: rate_limited.
func roomToStore(s *store.State, more int64) error {
	if s.Limited == nil || s.Limited.Use == nil {
		return nil
	}
	return s.Limited.Limits.Store(*s.Limited.Use, more)
}

// roomToRun checks the key's limits for one more running execution that stores so many bytes.
// Error: rate_limited.
func roomToRun(s *store.State, more int64) error {
	if s.Limited == nil || s.Limited.Use == nil {
		return nil
	}
	if err := s.Limited.Limits.Run(*s.Limited.Use); err != nil {
		return err
	}
	return roomToStore(s, more)
}

// roomToSignal checks the key's limits for a signal: its bytes and, if it wakes an idle execution,
// one more running execution. Error: rate_limited.
func roomToSignal(s *store.State, r SignalRequest) error {
	x := s.Execution
	if !atWork(x) && x.Wait != nil {
		if _, met := x.Wait.Mark(facts{now: s.Now, signals: []string{r.Name}}); met {
			return roomToRun(s, int64(len(r.Value)))
		}
	}
	return roomToStore(s, int64(len(r.Value)))
}
