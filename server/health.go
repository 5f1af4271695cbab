package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/health"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// storeWithin is the maximum time for the store's response to a health check. If the response takes
// longer, the server reports that it is not ready.
const storeWithin = 5 * time.Second

// health reports whether the server can take requests: its store answers, and the server is not
// stopping. It does not check the version of the tables, because Open has checked it.
func (s *Server) health(ctx context.Context) health.Report {
	var r health.Report
	if s.draining.Load() {
		r.Unready = append(r.Unready, health.Reason{Check: "stopping", Detail: "the server is stopping"})
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	if _, err := s.store.AnyKey(ctx); err != nil {
		s.Logger.WarnContext(ctx, "the store does not answer", "error", err)
		r.Unready = append(r.Unready, health.Reason{Check: "store", Detail: "the store does not answer"})
	}
	if f, ok := s.store.(store.Failing); ok && f.Failed() != nil {
		r.Unready = append(r.Unready, health.Reason{Check: "store", Detail: wordOf(f.Failed())})
	}
	if note, ok := uncheckedNote(s.store); ok {
		r.Notes = append(r.Notes, note)
	}
	if s, ok := s.store.(store.Degrading); ok {
		for _, reason := range s.Degraded(ctx) {
			r.Degraded = append(r.Degraded, health.Reason(reason))
		}
	}
	if hints, ok := s.engine.Hints.(notify.Checked); ok {
		if err := hints.Check(); err != nil {
			r.Degraded = append(r.Degraded, health.Reason{
				Check: "hints", Detail: "hints from other servers do not come; what they write is found a second later",
			})
		}
	}
	return r
}

// wordOf returns the message of a store's error, without the errors that it wraps, because
// unauthenticated callers of the health check can read this message.
func wordOf(err error) string {
	var coded *perdure.Error
	if errors.As(err, &coded) {
		return coded.Message
	}
	return "the store has failed"
}

// uncheckedNote returns a note with the progress of the check for damage that a store runs if it
// was not closed cleanly. The second result is false if the store needs no check.
func uncheckedNote(of store.Store) (health.Reason, bool) {
	c, ok := of.(store.Checking)
	if !ok {
		return health.Reason{}, false
	}
	progress, unchecked := c.Unchecked()
	return health.Reason{Check: "unchecked", Detail: fmt.Sprintf(
		"the store was not closed in order, and is being checked for damage: %d of %d MiB", progress.Bytes>>20, progress.Of>>20)}, unchecked
}
