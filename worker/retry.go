package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/perdure/perdure"
)

const (
	// longestPause is the longest pause between two calls in retryIf.
	longestPause = 2 * time.Second
	// longestSilence is the maximum time between two log lines about the same lasting problem.
	longestSilence = time.Minute
)

// notStored is the error code of data that the server could not store for the time Config.StoreFor because
// of internal errors.
const notStored perdure.Code = "not_stored"

// retry repeats an idempotent call while the server is unavailable or overloaded. At any other
// error, retry stops and returns that error. When ctx ends, retry returns the cause of ctx, joined
// with the last error.
func (w *Worker) retry(ctx context.Context, try func() error) error {
	return w.retryIf(ctx, func() *slog.Logger { return w.Logger }, busy, try)
}

// retryIf repeats the call `try` while `again` returns true for its error. If the server returns
// nothing but internal errors for the time Config.StoreFor, retryIf returns not_stored: the server
// is up, but cannot store this data. When ctx ends, retryIf returns the cause of ctx, joined with
// the last error.
//
// If a problem lasts, retryIf logs it, because an operator may have to act, for example if a disk
// is full. The pauses between these log lines grow. The function `log` is called only for such a
// line, because creating the logger is expensive.
func (w *Worker) retryIf(ctx context.Context, log func() *slog.Logger, again func(error) bool, try func() error) error {
	pause, silence := 20*time.Millisecond, longestPause
	began := w.Clock()
	told := began
	inside, since := false, began // whether the last errors were internal, and since when
	for {
		err := try()
		if err == nil || !again(err) {
			return err
		}
		now := w.Clock()
		switch failed := failedInside(err); {
		case !failed || !inside:
			inside, since = failed, now
		case now-since >= w.StoreFor:
			return &perdure.Error{Code: notStored, Message: "the server could not store this for " + w.StoreFor.String() + ": " + err.Error()}
		}
		w.Observer.retried(perdure.CodeOf(err))
		if now-told >= silence {
			log().Warn("the server cannot store this now; nothing is lost, trying on", "for", (now - began).Round(time.Second), "error", err)
			told, silence = now, min(2*silence, longestSilence)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(context.Cause(ctx), err)
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// failedInside reports whether err is a reply of the server with the code "internal".
func failedInside(err error) bool {
	var coded *perdure.Error
	return errors.As(err, &coded) && coded.Code == perdure.Internal
}
