package grpcapi

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// WatchLeases sends the worker a message whenever the worker should send a heartbeat immediately.
// It ends when the worker closes its side of the stream.
func (s *workerService) WatchLeases(stream perdurev1.WorkerDispatch_WatchLeasesServer) error {
	first, err := stream.Recv()
	if err != nil {
		return noWorker(err)
	}
	worker, err := pbconv.UUIDFromProto("worker_id", first.GetWorkerId())
	if err != nil {
		return err
	}
	if worker == uuid.Nil {
		return noWorker(io.EOF)
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	// This goroutine may outlive the handler. It ends soon afterwards, because the stream ends
	// when the handler returns.
	go func() { cancel(endOf(stream)) }()
	stopped := make(chan struct{})
	defer func() { <-stopped }()
	defer cancel(nil)
	go func() {
		defer close(stopped)
		select {
		case <-s.draining:
			cancel(perdure.Errorf(perdure.Unavailable, "the server stops; watch the leases at the next one"))
		case <-ctx.Done():
		}
	}()
	err = callerOf(ctx).WatchLeases(ctx, worker, func() {
		if err := stream.Send(&perdurev1.WatchLeasesResponse{}); err != nil {
			cancel(err)
		}
	})
	if cause := context.Cause(ctx); errors.Is(cause, io.EOF) {
		return nil
	} else if cause != nil {
		return cause
	}
	return err
}

// endOf waits for the end of the worker's side of the stream, and returns io.EOF if the worker has
// closed it.
func endOf(stream perdurev1.WorkerDispatch_WatchLeasesServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return perdure.Errorf(perdure.InvalidArgument, "WatchLeases takes one message")
}
