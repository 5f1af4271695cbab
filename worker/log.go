package worker

import (
	"context"
	"log/slog"

	"github.com/perdure/perdure"
)

// Log lines about an execution have its id, its org, the fence of the claim, the worker, and the
// trace, if there is one.

func (w *Worker) lineOf(claim ...any) *slog.Logger {
	return w.Logger.With("org", w.settings.Org, "worker", w.ID).With(claim...)
}

// withTrace adds the execution's trace, unless the line is written under a span of that trace,
// which the program's handler may add itself.
func withTrace(l *slog.Logger, traceparent string) *slog.Logger {
	if id := remote(traceparent).TraceID(); id.IsValid() {
		return l.With("trace_id", id.String())
	}
	return l
}

// log returns a logger with the attributes of the run.
func (r *run) log() *slog.Logger {
	return withTrace(r.w.lineOf("execution", r.id, "kind", r.claim.Execution.Kind, "fence", r.claim.Lease.Fence), r.claim.Execution.Traceparent)
}

// log returns a logger with the attributes of the attempt.
func (a *attempt) log() *slog.Logger {
	l := a.claim.Lease
	return withTrace(a.w.lineOf("execution", l.ExecutionID, "task", l.TaskID, "kind", a.claim.Task.Kind, "attempt", l.Attempt), a.claim.Traceparent)
}

// logOf returns a logger with the attributes of a stream's source.
func logOf(l *slog.Logger, task *perdure.TaskLease, agent *perdure.Lease) *slog.Logger {
	if task != nil {
		return l.With("execution", task.ExecutionID, "task", task.TaskID, "attempt", task.Attempt)
	}
	return l.With("execution", agent.ExecutionID, "fence", agent.Fence)
}

// sayClaimed logs the beginning of a claim.
func (r *run) sayClaimed() {
	if !r.w.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return // collecting the attributes is expensive
	}
	r.log().DebugContext(context.Background(), "an execution goes on here", "woke", r.claim.Woke)
}
