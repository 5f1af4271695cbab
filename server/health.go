package server

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/health"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// storeWithin is how long the store may take to answer before the server counts
// as not ready.
const storeWithin = 5 * time.Second

// health looks whether the server can take requests: its store answers, and it
// is not about to stop. That the tables are up to date was seen to by Open.
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
