package grpcapi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Observer observes calls. Its method is called concurrently and must not block.
type Observer interface {
	// Call reports a call that has ended. method is the full name of the gRPC method. For polls and
	// streams, the duration includes the time that they waited.
	Call(method string, code codes.Code, took time.Duration)
}

// observed returns the interceptors that call the observer; they run before all others.
func observed(o Observer) []grpc.ServerOption {
	if o == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, m any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			began := time.Now()
			reply, err := next(ctx, m)
			o.Call(call.FullMethod, status.Code(err), time.Since(began))
			return reply, err
		}),
		grpc.ChainStreamInterceptor(func(server any, s grpc.ServerStream, call *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			began := time.Now()
			err := next(server, s)
			o.Call(call.FullMethod, status.Code(err), time.Since(began))
			return err
		}),
	}
}
