// Package watcher follows a run and shows it. It asks the run's questions and reads the user's input.
package watcher

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
	"github.com/perdure/perdure/cmd/perdure/internal/questions"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Watcher follows one run and shows it.
type Watcher struct {
	*connection.RunConn
	View terminal.View
	// Cursor is a position in the log. The watcher shows the events after this position.
	Cursor string
	Chat   bool // continue the run with the user's input
	// Patient is set for a watcher that keeps following while the run waits for the user, as in
	// perdure tail.
	Patient bool

	Status perdure.Status // the run's status at which the watcher stopped following; "" to continue
	Reason string         // why the run waits, if the status is WAITING

	// Session is the chat that uses this watcher, if that chat has an input line of its own; otherwise
	// nil.
	Session Session

	id    uuid.UUID
	input *terminal.LineReader
	steps *stepFeed // nil if steps are not shown
	// unsent is an input line that the watcher has not been able to send, and signalID the id of
	// its signal. Both are "" if there is no such line.
	unsent, signalID string
	stops            atomic.Bool // the user has asked to stop the turn, and the log does not have it yet
}

// Session is a chat with an input line. If a watcher has a Session, the Session reads what the user
// types, and the watcher does not.
type Session interface {
	// SetAside returns an error if the user has chosen a question. That question must be asked
	// first.
	SetAside() error
	// ReadAnswer reads a line of the answer to a question. The result ok is false at the end of the
	// input. The parameter leavable says whether the user may leave the question open.
	ReadAnswer(ctx context.Context, q *perdure.Question, p questions.Prompt, leavable bool) (text string, ok bool, err error)
	// Suspend calls f, which may use the terminal until f returns.
	Suspend(f func() error) error
	// ShowPast shows the end of the conversation that the chat continues.
	ShowPast(ctx context.Context, s *client.Snapshot) error
}

// New returns the watcher of a run, with the view that the flags of the command choose.
func New(a *setup.App, conn *connection.RunConn, id uuid.UUID) *Watcher {
	w := &Watcher{RunConn: conn, id: id, input: a.Lines()}
	switch {
	case a.JSON:
		w.View = terminal.NewJSONView(a.Streams)
	case a.Quiet:
		w.View = terminal.NewQuietView(a.Streams, a.ServerFlags)
	default:
		v := terminal.NewTextView(a.Streams, a.ServerFlags)
		v.StoppedHere = func() bool { return w.stops.Swap(false) }
		w.View = v
	}
	return w
}

// errOwnerEnded reports that the process that owned the data directory has ended.
var errOwnerEnded = errors.New("the owner of the data directory has ended")

// Started shows the started run and the user's message.
func (w *Watcher) Started(x *perdure.Execution) {
	w.View.Started(x)
	w.View.UserMessage("")
}

// FollowToEnd follows the run until it has ended or waits for the user. It returns the error that
// determines the exit code. If the server was part of another run's process, and that process ends,
// FollowToEnd reconnects. In a chat without a terminal, it prints the line of standard input that
// could not be sent.
func (w *Watcher) FollowToEnd(ctx context.Context) error {
	return w.ReportUnsent(ctx, w.followToEnd(ctx))
}

func (w *Watcher) followToEnd(ctx context.Context) error {
	if v, ok := w.View.(*terminal.TextView); ok {
		v.AsksInPlace = w.asks()
	}
	for {
		var err error
		if w.Status == "" {
			w.Status, err = w.Follow(ctx)
		}
		if err == nil {
			err = w.Settle(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return w.PrintInterrupted()
		case w.OwnerGone(err):
			err = w.Reconnect(ctx)
		case err == nil && w.Status != "":
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Settle handles a pause or the end of the run: it asks the open questions, reads the user's next
// input, or shows the final state. It sets Status to "" if the watcher is to continue.
func (w *Watcher) Settle(ctx context.Context) error {
	if w.Status == perdure.StatusWaiting && w.Reason == lookup.WaitsForQuestion {
		goesOn := false
		if w.asks() {
			var err error
			if goesOn, err = w.askInPlace(ctx); err != nil {
				return err
			}
		}
		if goesOn || w.Session != nil {
			w.Status = ""
			return nil
		}
		return w.ShowResult(ctx)
	}
	if w.Status == perdure.StatusWaiting && w.Session != nil {
		w.Status = "" // the session sends the input
		return nil
	}
	if w.Status == perdure.StatusWaiting && w.Chat {
		more, err := w.sendInput(ctx)
		if err != nil {
			return err
		}
		if more {
			w.Status = ""
			return nil
		}
	}
	return w.ShowResult(ctx)
}

// OwnerGone reports whether err was caused by the end of the process that ran the server. This can
// happen if the server was part of the process of another run.
func (w *Watcher) OwnerGone(err error) bool {
	guest := w.Owner != nil && w.Owner.Kind == connection.OwnerRun
	return guest && (errors.Is(err, errOwnerEnded) || perdure.IsCode(err, perdure.Unavailable))
}

// Follow shows events until the run waits for the user or ends. It returns StatusWaiting or, for
// every end of the run, StatusCompleted.
func (w *Watcher) Follow(ctx context.Context) (perdure.Status, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := w.With(func(o *client.Options) {
		o.OnReconnect = func(cause error, pause time.Duration) {
			if w.Owner != nil && w.Owner.Kind == connection.OwnerRun {
				cancel(errOwnerEnded)
				return
			}
			w.View.ConnectionLost(cause, pause)
		}
	})
	taken, stop := w.watchForWorker(ctx)
	defer stop()
	defer w.stopsTurns(ctx)()
	for e, err := range c.Follow(ctx, w.id, w.Cursor) {
		if err != nil {
			return "", err
		}
		if e.Type != perdure.EventCreated && e.Type != perdure.EventSignal {
			taken()
		}
		w.Cursor = e.Cursor
		if err := w.show(ctx, e); err != nil {
			return "", err
		}
		if status := w.endStatus(e); status != "" {
			return status, nil
		}
	}
	return "", nil
}

// watchForWorker prints why no worker has claimed the run, if the run is still PENDING after
// noWorkerAfter. The caller calls taken() when it reads an event that a worker has written, and
// stop() to end the watch.
func (w *Watcher) watchForWorker(ctx context.Context) (taken, stop func()) {
	fresh := w.Cursor == ""
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

// noWorkerAfter is the time after which the command prints why no worker has claimed the run.
const noWorkerAfter = 5 * time.Second

// endStatus returns the status with which the command stops following after the event, or "" if the
// command continues to follow.
func (w *Watcher) endStatus(e client.Event) perdure.Status {
	if e.Type.Ends() {
		return perdure.StatusCompleted // the caller reads the exact status from the execution
	}
	if e.Type != perdure.EventWaiting || w.Patient {
		return ""
	}
	var d struct {
		Reason string `json:"reason"`
	}
	if e.Decode(&d) == nil && w.Session != nil && d.Reason == lookup.WaitsForSignal {
		return ""
	}
	if d.Reason == lookup.WaitsForSignal || d.Reason == lookup.WaitsForQuestion {
		w.Reason = d.Reason
		return perdure.StatusWaiting
	}
	return ""
}

// ShowResult shows the current state of the run.
func (w *Watcher) ShowResult(ctx context.Context) error { return w.showResult(ctx, false) }

// ShowLeft shows the current state of the run at the end of a chat. If the run is still working,
// ShowLeft also shows how to continue the run.
func (w *Watcher) ShowLeft(ctx context.Context) error { return w.showResult(ctx, true) }

func (w *Watcher) showResult(ctx context.Context, left bool) error {
	r, err := lookup.ReadResult(ctx, w.RunConn.Conn, w.id)
	if err != nil {
		return err
	}
	if left && !r.Status.Terminal() && len(r.WaitsFor)+len(r.Questions) == 0 {
		r.Next = w.continueCommands()
	}
	if err := w.View.Result(r); err != nil {
		return err
	}
	if r.ExitCode != setup.ExitOK {
		return setup.ExitWith(r.ExitCode)
	}
	return nil
}

// continueCommands returns the commands with which to continue a working run. If the run uses the
// private queue of this process, the list does not contain perdure tail: without this process, no
// worker serves that queue.
func (w *Watcher) continueCommands() []string {
	id := w.id.String() + w.ServerFlags
	if w.HasWorker {
		return []string{"the run stops here and is kept", "go on with it:  perdure chat " + id, "end it:         perdure cancel " + id}
	}
	return []string{"the run goes on at the server", "watch it:       perdure tail " + id, "go on with it:  perdure chat " + id}
}

// PrintInterrupted prints how to continue the run that the user has left.
func (w *Watcher) PrintInterrupted() error {
	flags := w.ServerFlags
	if w.HasWorker {
		_ = w.Stderr.Linef("\nperdure: interrupted; the run is kept\n  go on with it:  perdure resume %s%s\n  end it:         perdure cancel %s%s", w.id, flags, w.id, flags)
	} else {
		_ = w.Stderr.Linef("\nperdure: interrupted; the run goes on at the server\n  watch it:  perdure tail %s%s\n  end it:    perdure cancel %s%s", w.id, flags, w.id, flags)
	}
	return setup.ExitWith(setup.ExitInterrupted)
}

// PrintLeft prints how to continue the chat that the user has left.
func (w *Watcher) PrintLeft() error {
	_ = w.Stderr.Linef("perdure: you have left the chat; the run is kept\n  go on with it:  perdure chat %s%s\n  end it:         perdure cancel %s%s", w.id, w.ServerFlags, w.id, w.ServerFlags)
	return setup.ExitWith(setup.ExitInterrupted)
}
