package front

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

type executionKey struct{}

// aboutExecution returns a context that contains the execution in the request's path, for log
// lines.
func aboutExecution(ctx context.Context, r *http.Request) context.Context {
	pieces := strings.Split(r.URL.Path, "/")
	for i, piece := range pieces[:len(pieces)-1] {
		if piece != "agent-executions" && piece != "executions" {
			continue
		}
		if id, err := uuid.Parse(pieces[i+1]); err == nil {
			return context.WithValue(ctx, executionKey{}, id)
		}
	}
	return ctx
}

// Lines returns the logger for a request. Its log lines name the org and the execution if they are
// known.
func (f *Front) Lines(ctx context.Context) *slog.Logger {
	l := f.Logger
	if org := CallerOf(ctx).Org; org != "" {
		l = l.With("org", org)
	}
	if id, ok := ctx.Value(executionKey{}).(uuid.UUID); ok {
		l = l.With("execution", id)
	}
	return l
}
