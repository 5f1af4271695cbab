package runs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// watcher follows one run and shows it.
type watcher struct {
	*connection.RunConn
	id     uuid.UUID
	view   terminal.View
	cursor string
	chat   bool // continue with the user's input
	asked  bool // it waits for a question already when the watcher begins
	// If patient is set, the watcher continues while the run waits for the user, as tail does.
	patient bool

	status perdure.Status // status by the log, for commands
	reason string         // why it waits, if the status is WAITING
	input  *lineReader
	steps  *stepFeed // nil if steps are not shown
	unsent *client.SignalRequest
	stops  atomic.Bool // the user has asked to stop the turn, and the log does not have it yet

	// session is the chat with an input line that the watcher belongs to; nil if there is none.
	session *chatSession
}

func newWatcher(a *setup.App, conn *connection.RunConn, id uuid.UUID) *watcher {
	w := &watcher{RunConn: conn, id: id, input: &lineReader{in: a.Stdin}}
	switch {
	case a.JSON:
		w.view = terminal.NewJSONView(a.Streams)
	case a.Quiet:
		w.view = terminal.NewQuietView(a.Streams, a.ServerFlags)
	default:
		v := terminal.NewTextView(a.Streams, a.ServerFlags)
		v.StoppedHere = func() bool { return w.stops.Swap(false) }
		w.view = v
	}
	return w
}

// errOwnerEnded reports that the process that owned the data directory has ended.
var errOwnerEnded = errors.New("the owner of the data directory has ended")

// started shows the started run and the user's message.
func (w *watcher) started(x *perdure.Execution) {
	w.view.Started(x)
	w.view.UserMessage("")
}

// followToEnd follows the run until it has ended or waits for the user. It returns the error that
// determines the exit code. If the server was in the process of another run and that process ends,
// followToEnd reconnects.
func (w *watcher) followToEnd(ctx context.Context) error {
	if v, ok := w.view.(*terminal.TextView); ok {
		v.AsksInPlace = w.asks()
	}
	for {
		var err error
		if w.status == "" {
			w.status, err = w.follow(ctx)
		}
		if err == nil {
			err = w.settle(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return w.printInterrupted()
		case w.ownerGone(err):
			err = w.Reconnect(ctx)
		case err == nil && w.status != "":
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// settle handles the end of the events. It asks the run's open questions, reads the user's next
// input, or shows the final state of the run. Reading input clears the status.
func (w *watcher) settle(ctx context.Context) error {
	if w.status == perdure.StatusWaiting && w.reason == lookup.WaitsForQuestion {
		goesOn := false
		if w.asks() {
			var err error
			if goesOn, err = w.askInPlace(ctx); err != nil {
				return err
			}
		}
		if goesOn || w.session != nil {
			w.status = ""
			return nil
		}
		return w.showResult(ctx)
	}
	if w.status == perdure.StatusWaiting && w.session != nil {
		w.status = "" // the session sends the input
		return nil
	}
	if w.status == perdure.StatusWaiting && w.chat {
		more, err := w.sendInput(ctx)
		if err != nil {
			return err
		}
		if more {
			w.status = ""
			return nil
		}
	}
	return w.showResult(ctx)
}

// ownerGone reports whether err means that the process of another run, in which the server was, has
// ended.
func (w *watcher) ownerGone(err error) bool {
	guest := w.Owner != nil && w.Owner.Kind == connection.OwnerRun
	return guest && (errors.Is(err, errOwnerEnded) || perdure.IsCode(err, perdure.Unavailable))
}

// follow shows events until the run has a status at which a command ends.
func (w *watcher) follow(ctx context.Context) (perdure.Status, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := w.With(func(o *client.Options) {
		o.OnReconnect = func(cause error, pause time.Duration) {
			if w.Owner != nil && w.Owner.Kind == connection.OwnerRun {
				cancel(errOwnerEnded)
				return
			}
			w.view.ConnectionLost(cause, pause)
		}
	})
	taken, stop := w.watchForWorker(ctx)
	defer stop()
	defer w.stopsTurns(ctx)()
	for e, err := range c.Follow(ctx, w.id, w.cursor) {
		if err != nil {
			return "", err
		}
		if e.Type != perdure.EventCreated && e.Type != perdure.EventSignal {
			taken()
		}
		w.cursor = e.Cursor
		if err := w.show(ctx, e); err != nil {
			return "", err
		}
		if status := w.endStatus(e); status != "" {
			return status, nil
		}
	}
	return "", nil
}

// watchForWorker prints after a while why no worker has claimed the run. taken reports that the run has
// an event of a worker, and stop ends the watch.
func (w *watcher) watchForWorker(ctx context.Context) (taken, stop func()) {
	fresh := w.cursor == ""
	ctx, cancel := context.WithCancel(ctx)
	var looks sync.WaitGroup
	var seen atomic.Bool
	looks.Add(1)
	timer := time.AfterFunc(noWorkerAfter, func() {
		defer looks.Done()
		if x, err := w.Get(ctx, w.id); err == nil && x.Status == perdure.StatusPending {
			lookup.PrintPending(ctx, w.App, w.Client, x, fresh && !seen.Load(), !seen.Load())
		}
	})
	return func() { seen.Store(true) }, sync.OnceFunc(func() {
		cancel()
		if timer.Stop() {
			looks.Done()
		}
		looks.Wait()
	})
}

// noWorkerAfter is the time after which a run without a worker is remarked on.
const noWorkerAfter = 5 * time.Second

// endStatus returns the status with which the command stops following after this event, or "" to
// continue.
func (w *watcher) endStatus(e client.Event) perdure.Status {
	if e.Type.Ends() {
		return perdure.StatusCompleted // the execution has the exact status
	}
	if e.Type != perdure.EventWaiting || w.patient {
		return ""
	}
	var d struct {
		Reason string `json:"reason"`
	}
	if e.Decode(&d) == nil && w.session != nil && d.Reason == lookup.WaitsForSignal {
		return ""
	}
	if d.Reason == lookup.WaitsForSignal || d.Reason == lookup.WaitsForQuestion {
		w.reason = d.Reason
		return perdure.StatusWaiting
	}
	return ""
}

// showResult shows the current state of the run.
func (w *watcher) showResult(ctx context.Context) error {
	r, err := lookup.ReadResult(ctx, w.RunConn.Conn, w.id)
	if err != nil {
		return err
	}
	if err := w.view.Result(r); err != nil {
		return err
	}
	if r.ExitCode != setup.ExitOK {
		return setup.ExitWith(r.ExitCode)
	}
	return nil
}

// printInterrupted prints how to continue the run that the user has left.
func (w *watcher) printInterrupted() error {
	flags := w.ServerFlags
	if w.HasWorker {
		_ = w.Stderr.Linef("\nperdure: interrupted; the run is kept\n  go on with it:  perdure resume %s%s\n  end it:         perdure cancel %s%s", w.id, flags, w.id, flags)
	} else {
		_ = w.Stderr.Linef("\nperdure: interrupted; the run goes on at the server\n  watch it:  perdure tail %s%s\n  end it:    perdure cancel %s%s", w.id, flags, w.id, flags)
	}
	return setup.ExitWith(setup.ExitInterrupted)
}

// printLeft prints how to continue the chat that the user has left.
func (w *watcher) printLeft() error {
	_ = w.Stderr.Linef("perdure: you have left the chat; the run is kept\n  go on with it:  perdure chat %s%s\n  end it:         perdure cancel %s%s", w.id, w.ServerFlags, w.id, w.ServerFlags)
	return setup.ExitWith(setup.ExitInterrupted)
}
