package remote

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// WatchLeases implements perdure.Dispatch. It does not retry.
func (c *Client) WatchLeases(ctx context.Context, worker uuid.UUID, changed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.worker.WatchLeases(ctx)
	if err != nil {
		return c.fail(ctx, err)
	}
	// The error of Send is ignored, because Recv returns the reason.
	_ = stream.Send(&perdurev1.WatchLeasesRequest{WorkerId: pbconv.UUIDToProto(c.or(worker))})
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return perdure.Errorf(perdure.Unavailable, "the server ended the stream")
		}
		if err != nil {
			return c.fail(ctx, err)
		}
		changed()
	}
}
