package worker

import (
	"context"

	"github.com/perdure/perdure"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// All spans of an execution belong to one trace on every worker, because the execution stores the
// traceparent with which it was started. A span covers one claim: it ends when the execution waits or ends,
// or when its lease is lost. Each span is linked to the previous span of its execution.

const tracerName = "github.com/perdure/perdure/worker"

// tracer returns the worker's tracer, or nil if no TracerProvider is configured.
func (w *Worker) tracer() trace.Tracer {
	if w.TracerProvider == nil {
		return nil
	}
	return w.TracerProvider.Tracer(tracerName)
}

// remote returns the span context that a traceparent describes. The span context is invalid if the
// traceparent is invalid or empty.
func remote(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}

// traceparent returns the traceparent of the span of ctx, or "" if ctx has no span.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// begun is a span that has begun, in the form of a context that contains nothing else. The zero
// value has no span.
type begun struct{ ctx context.Context }

func (b begun) span() trace.Span {
	if b.ctx == nil {
		return trace.SpanFromContext(context.Background())
	}
	return trace.SpanFromContext(b.ctx)
}

// in returns a copy of ctx with the span of b added.
func (b begun) in(ctx context.Context) context.Context {
	if b.ctx == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, b.span())
}

// end ends the span. If err is not nil, it is recorded as the span's failure.
func (b begun) end(err error) {
	if b.ctx == nil {
		return
	}
	if err != nil {
		code := string(perdure.CodeOf(err))
		b.span().SetAttributes(semconv.ErrorTypeKey.String(code))
		b.span().SetStatus(codes.Error, code)
	}
	b.span().End()
}

// execution returns the attributes that all spans of an execution have.
func execution(id, worker string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("perdure.execution.id", id), semconv.GenAIConversationID(id), attribute.String("perdure.worker.id", worker),
	}
}

// beginSpan starts the span of the claim c, with a link to the previous span of this goroutine. If
// there is no previous span, the link is to the span in which the newest checkpoint was stored.
func (r *run) beginSpan(c perdure.AgentClaim) {
	tracer := r.w.tracer()
	if tracer == nil {
		return
	}
	before := r.span.Load()
	options := []trace.SpanStartOption{
		trace.WithAttributes(append(execution(r.id.String(), r.w.ID.String()),
			semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(c.Execution.Kind),
			attribute.String("perdure.org", c.Execution.Org), attribute.Int64("perdure.fence", c.Lease.Fence),
			attribute.String("perdure.woke", string(c.WakeReason)))...),
	}
	switch {
	case before != nil:
		options = append(options, trace.WithLinks(trace.Link{SpanContext: before.span().SpanContext()}))
	case c.Checkpoint != nil:
		if made := remote(c.Checkpoint.Traceparent()); made.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: made}))
		}
	}
	parent := trace.ContextWithRemoteSpanContext(context.Background(), remote(c.Execution.Traceparent))
	ctx, _ := tracer.Start(parent, "invoke_agent "+c.Execution.Kind, options...)
	r.span.Store(&begun{ctx})
}

// endSpan ends the span of the claim. It has no effect if the span has already ended.
func (r *run) endSpan() {
	if b := r.span.Load(); b != nil {
		b.span().End()
	}
}

// spanned returns a copy of ctx with the span of the claim added.
func (r *run) spanned(ctx context.Context) context.Context {
	if b := r.span.Load(); b != nil {
		return b.in(ctx)
	}
	return ctx
}

// Value implements context.Context. It finds the span of the current claim, so that contexts that
// agent code derives from the run also have that span.
func (r *run) Value(key any) any {
	if b := r.span.Load(); b != nil {
		if v := b.ctx.Value(key); v != nil {
			return v
		}
	}
	return r.Context.Value(key)
}

// beginAttemptSpan starts the span of an attempt. Its parent is `asked`, the span of the claim that
// scheduled the task. If `asked` is invalid, the parent is the span in the traceparent of the task.
func (w *Worker) beginAttemptSpan(c perdure.TaskClaim, asked trace.SpanContext) begun {
	tracer := w.tracer()
	if tracer == nil {
		return begun{}
	}
	if !asked.IsValid() {
		asked = remote(c.Traceparent)
	}
	parent := trace.ContextWithRemoteSpanContext(context.Background(), asked)
	ctx, _ := tracer.Start(parent, "task "+c.Task.Kind, trace.WithAttributes(append(execution(c.Lease.ExecutionID.String(), w.ID.String()),
		attribute.String("perdure.task.id", c.Lease.TaskID.String()), attribute.String("perdure.task.kind", c.Task.Kind),
		attribute.Int("perdure.task.attempt", c.Lease.Attempt))...))
	return begun{ctx}
}

// spanOf returns the span of the current claim of the task's execution, if the goroutine of that
// execution runs or is parked on this worker. Otherwise it returns an invalid span.
func (w *Worker) spanOf(c perdure.TaskClaim) trace.SpanContext {
	w.mu.Lock()
	r := w.runs[c.Lease.ExecutionID]
	if r == nil {
		r = w.parked[c.Lease.ExecutionID]
	}
	w.mu.Unlock()
	if r == nil {
		return trace.SpanContext{}
	}
	if b := r.span.Load(); b != nil {
		return b.span().SpanContext()
	}
	return trace.SpanContext{}
}

// called calls `call` in a new span, which is a child of the span of ctx. Without tracing, it
// creates no span.
func (w *Worker) called(ctx context.Context, name string, call func(ctx context.Context) error) error {
	tracer := w.tracer()
	if tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return call(ctx)
	}
	ctx, _ = tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	err := call(ctx)
	begun{ctx}.end(err)
	return err
}
