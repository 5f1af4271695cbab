package front

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// traced starts the span of a request, as a child of the span in its header traceparent. For a
// stream that continues after its handler has returned, the span covers only the start of the
// stream.
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

// ended ends the span of a request, and records the status of the response in it.
func ended(span trace.Span, status int) {
	span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusInternalServerError {
		span.SetAttributes(attribute.String("error.type", http.StatusText(status)))
		span.SetStatus(otel.Error, http.StatusText(status))
	}
	span.End()
}
