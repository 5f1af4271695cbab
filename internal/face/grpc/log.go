package grpcapi

import (
	"context"
	"log/slog"

	"github.com/google/uuid"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// callSubject contains the ids that the log lines of a call name. Each field is set as soon as it
// is known.
type callSubject struct {
	org       string
	execution uuid.UUID
	fence     int64
	attempt   uint32
}

type subjectKey struct{}

// withSubject returns a context for a call. The log lines of the call name the ids in the call's
// message m.
func withSubject(ctx context.Context, m any) context.Context {
	s := &callSubject{}
	switch m := m.(type) {
	case interface{ GetLease() *perdurev1.Lease }:
		s.execution, _ = uuid.FromBytes(m.GetLease().GetExecutionId()) // for an invalid id, the log names no execution
		s.fence = m.GetLease().GetFence()
	case interface{ GetLease() *perdurev1.TaskLease }:
		s.execution, _ = uuid.FromBytes(m.GetLease().GetExecutionId())
		s.attempt = uint32(m.GetLease().GetAttempt())
	case interface{ GetExecutionId() []byte }:
		s.execution, _ = uuid.FromBytes(m.GetExecutionId())
	}
	return context.WithValue(ctx, subjectKey{}, s)
}

// about sets the org for the log lines of a call.
func about(ctx context.Context, org string) {
	if s, ok := ctx.Value(subjectKey{}).(*callSubject); ok {
		s.org = org
	}
}

// lines returns the logger for the log lines of a call.
func (a errorConverter) lines(ctx context.Context) *slog.Logger {
	l := a.logger
	s, ok := ctx.Value(subjectKey{}).(*callSubject)
	if !ok {
		return l
	}
	if s.org != "" {
		l = l.With("org", s.org)
	}
	if s.execution != uuid.Nil {
		l = l.With("execution", s.execution)
	}
	if s.fence != 0 {
		l = l.With("fence", s.fence)
	}
	if s.attempt != 0 {
		l = l.With("attempt", s.attempt)
	}
	return l
}
