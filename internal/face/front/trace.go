package front

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// traced starts the span of a request, below the parent in its traceparent header. For a stream
// that outlives its request, the span covers only the start.
func (f *Front) traced(r *http.Request, route string) (*http.Request, trace.Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	name := r.Method
	if route != "" {
		name += " " + route
	}
	ctx, span := f.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route), semconv.URLPath(shownPath(r)),
	))
	return r.WithContext(ctx), span
}

// ended ends the span of a request with the status of its response.
func ended(span trace.Span, status int) {
	span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusInternalServerError {
		span.SetAttributes(attribute.String("error.type", http.StatusText(status)))
		span.SetStatus(otel.Error, http.StatusText(status))
	}
	span.End()
}
