package worker

import (
	"context"
	"log/slog"
)

// Each log line about an execution has the id of the execution, its org, the worker and, if there
// is one, the id of the trace. Lines of a run also have the fence of its claim; lines of an attempt
// also have the task and the number of the attempt.

// lineOf returns a logger whose lines have the org, the worker and the given attributes of the
// claim.
func (w *Worker) lineOf(claim ...any) *slog.Logger {
	return w.Logger.With("org", w.settings.Org, "worker", w.ID).With(claim...)
}

// withTrace returns a logger that adds the trace id of traceparent to each line. It returns l if
// traceparent is not valid.
func withTrace(l *slog.Logger, traceparent string) *slog.Logger {
	if id := remote(traceparent).TraceID(); id.IsValid() {
		return l.With("trace_id", id.String())
	}
	return l
}

// log returns a logger whose lines have the execution, its kind, its trace and the fence of the claim.
func (r *run) log() *slog.Logger {
	return withTrace(r.w.lineOf("execution", r.id, "kind", r.claim.Execution.Kind, "fence", r.claim.Lease.Fence), r.claim.Execution.Traceparent)
}

// log returns a logger whose lines have the execution, the task, its kind, the number of the attempt, and
// the trace.
func (a *attempt) log() *slog.Logger {
	l := a.claim.Lease
	return withTrace(a.w.lineOf("execution", l.ExecutionID, "task", l.TaskID, "kind", a.claim.Task.Kind, "attempt", l.Attempt), a.claim.Traceparent)
}

// sayClaimed logs, at level debug, that this worker has claimed the run's execution and runs it.
func (r *run) sayClaimed() {
	if !r.w.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return // skip the attributes, which are expensive to compute
	}
	r.log().DebugContext(context.Background(), "an execution goes on here", "woke", r.claim.WakeReason)
}
