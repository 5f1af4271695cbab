package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// WorkerWait is the maximum time that Start waits for the first worker of an org.
const WorkerWait = 10 * time.Second

// awaitWorker repeats a request as long as the server refuses it because no worker of the org has
// ever registered, up to WorkerWait. The server stores nothing for a refused request. Before the
// first pause, awaitWorker calls the function `waits` if `waits` is not nil.
func (c *Client) awaitWorker(ctx context.Context, waits func(), send func() error) error {
	for left := WorkerWait; ; {
		err := send()
		pause, none := noWorkerYet(err)
		if !none || left <= 0 {
			return err
		}
		if waits != nil && left == WorkerWait {
			waits()
		}
		pause = min(pause, left)
		left -= pause
		if err := c.wait(ctx, pause); err != nil {
			return err
		}
	}
}

// noWorkerYet reports whether the server refused a start because no worker has registered, and
// returns the pause before the next attempt. It returns false for other errors with the code
// unavailable, because the execution may have been stored.
func noWorkerYet(err error) (time.Duration, bool) {
	var coded *perdure.Error
	if !errors.As(err, &coded) || coded.Code != perdure.Unavailable || coded.RetryAfter <= 0 {
		return 0, false
	}
	ofKind := func(f perdure.FieldError) bool { return f.Location == "kind" }
	return coded.RetryAfter, slices.ContainsFunc(coded.Fields, ofKind)
}
