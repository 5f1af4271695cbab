package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/grpc/status"
)

// errorConverter converts errors to gRPC statuses. It removes text that callers must not see.
type errorConverter struct{ logger *slog.Logger }

// end converts *err to a gRPC status, and recovers a panic. Every call must defer it.
func (a errorConverter) end(ctx context.Context, method string, err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
	}
	*err = a.status(ctx, method, *err)
}

// status returns the gRPC status for err. The text of an internal error appears only in the
// server's log, under an id that the status contains.
func (a errorConverter) status(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	var coded *perdure.Error
	switch {
	case errors.As(err, &coded) && coded.Code != perdure.Internal:
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(ctxError(err)).Err()
	default:
		if _, ok := status.FromError(err); ok && coded == nil {
			return err // an error of gRPC: a message is too large, or a stream is broken
		}
	}
	return pbconv.Status(a.shown(ctx, method, err)).Err()
}

// ctxError returns the bare context error, without text that other functions have wrapped around
// it.
func ctxError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// shown returns the error that the caller of a method gets for err, and logs err.
func (a errorConverter) shown(ctx context.Context, method string, err error) *perdure.Error {
	var coded *perdure.Error
	if errors.As(err, &coded) && coded.Code != perdure.Internal {
		if coded.Err != nil {
			a.lines(ctx).WarnContext(ctx, "a call was refused", "method", method, "error", err)
		}
		return coded
	}
	id := uuid.NewString()[:8]
	a.lines(ctx).ErrorContext(ctx, "a call failed", "id", id, "method", method, "error", err)
	return perdure.Errorf(perdure.Internal, "something went wrong inside the server; its log has it under %s", id)
}
