package client

import (
	"net/http"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// traced starts a span for the request and adds the span's trace context to the request's headers.
// If the caller's context has no span, traced does nothing.
func traced(req *http.Request) (*http.Request, func(status int, err error)) {
	above := trace.SpanFromContext(req.Context())
	if !above.SpanContext().IsValid() {
		return req, func(int, error) {}
	}
	tracer := above.TracerProvider().Tracer("github.com/perdure/perdure/client")
	ctx, span := tracer.Start(req.Context(), req.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(req.Method), semconv.ServerAddress(req.URL.Hostname()), semconv.URLPath(req.URL.Path)))
	if req.Header.Get("Traceparent") == "" { // keeps a value that the caller has set
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	}
	return req.WithContext(ctx), func(status int, err error) {
		if status != 0 {
			span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		}
		if err != nil || status >= http.StatusBadRequest {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}
