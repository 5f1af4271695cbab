package engine

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// startCommit begins the span of a command as a child of the request's span. The span covers the
// time in the committer's queue and the transaction. Without tracing, or for a command that no
// request has caused, there is no span.
func startCommit(ctx context.Context, c store.Command) (context.Context, func(error)) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, func(error) {}
	}
	attributes := []attribute.KeyValue{attribute.String("perdure.lane", c.Lane.String()), attribute.String("perdure.org", c.Org)}
	if c.Pick == nil {
		attributes = append(attributes, attribute.String("perdure.execution.id", c.Execution.String()))
	}
	tracer := above.TracerProvider().Tracer("github.com/perdure/perdure/internal/engine")
	ctx, span := tracer.Start(ctx, "write "+c.Name, trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			code := string(perdure.CodeOf(err))
			span.SetAttributes(semconv.ErrorTypeKey.String(code))
			span.SetStatus(codes.Error, code)
		}
		span.End()
	}
}

// ownTraceparent returns the traceparent of the span that this process has started for a request,
// or "" if it has started none.
func ownTraceparent(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); !span.IsValid() || span.IsRemote() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
