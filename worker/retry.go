package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/perdure/perdure"
)

const (
	// longestPause is the most between two tries of retry.
	longestPause = 2 * time.Second
	// longestSilence is the most between two lines about the same trouble.
	longestSilence = time.Minute
)

// notStored is the code of work that a server could not store for too long, for a
// reason inside itself.
const notStored perdure.Code = "not_stored"

// retry repeats what is safe to repeat while the server is unavailable or has
// too much to do, until ctx ends.
func (w *Worker) retry(ctx context.Context, try func() error) error {
	return w.retryIf(ctx, func() *slog.Logger { return w.Logger }, busy, try)
}

// retryIf is retry for what again tells to repeat. What lasts is told of, longer and
// longer apart: it may be a full disk, which somebody has to see to. What a server
// answers with nothing but internal for Config.StoreFor is given up as not_stored:
// it is there, and this is what it cannot store. The logger is made when there is
// something to say: that takes longer than the rest.
func (w *Worker) retryIf(ctx context.Context, log func() *slog.Logger, again func(error) bool, try func() error) error {
	pause, silence := 20*time.Millisecond, longestPause
	began := w.Clock()
	told := began
	inside, since := false, began // whether the answers are internal, and since when
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

// failedInside reports whether a server has answered, and says that it is at fault.
func failedInside(err error) bool {
	var coded *perdure.Error
	return errors.As(err, &coded) && coded.Code == perdure.Internal
}
