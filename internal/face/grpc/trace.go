package grpcapi

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// traced returns server options with an interceptor for tracing. For each call that has a
// traceparent, the interceptor begins a span as a child of the span that the traceparent names.
// Polls and heartbeats have no traceparent, because they belong to no execution.
func traced(provider trace.TracerProvider) []grpc.ServerOption {
	if provider == nil {
		return nil
	}
	tracer := provider.Tracer("github.com/perdure/perdure/internal/face/grpc")
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(
		func(ctx context.Context, m any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			meta, _ := metadata.FromIncomingContext(ctx)
			ctx = propagation.TraceContext{}.Extract(ctx, carrier(meta))
			if !trace.SpanContextFromContext(ctx).IsValid() {
				return next(ctx, m)
			}
			name := strings.TrimPrefix(call.FullMethod, "/")
			ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
				semconv.RPCSystemNameKey.String("grpc"), semconv.RPCMethod(name)))
			defer span.End()
			reply, err := next(ctx, m)
			if err != nil {
				code := status.Code(err).String()
				span.SetAttributes(semconv.ErrorTypeKey.String(code))
				span.SetStatus(codes.Error, code)
			}
			return reply, err
		})}
}

// carrier adapts metadata to propagation.TextMapCarrier.
type carrier metadata.MD

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	var keys []string
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}
