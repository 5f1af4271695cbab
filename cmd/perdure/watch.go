package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/pflag"
)

// watcher follows one run and shows it.
type watcher struct {
	*seat
	id     uuid.UUID
	view   view
	cursor string
	chat   bool // continue with the user's input
	// patient continues while the run waits for the user, as tail does.
	patient bool

	status perdure.Status // status by the log, for commands
	lines  *bufio.Scanner
	unsent *client.SignalRequest
}

// view shows a run to people or to programs.
type view interface {
	// started shows the run that follows.
	started(x *perdure.Execution)
	// know passes the entries that already exist.
	know(entries []perdure.Entry)
	event(e client.Event) error
	// said reports that the next user message was entered here.
	said(text string)
	// ask prompts the user for input.
	ask()
	// lost reports that the stream broke and continues after the pause.
	lost(cause error, pause time.Duration)
	// result shows the final state.
	result(r result) error
}

func (a *app) watcher(t *seat, id uuid.UUID) *watcher {
	w := &watcher{seat: t, id: id}
	switch {
	case a.json:
		w.view = &jsonView{app: a}
	case a.quiet:
		w.view = &quietView{app: a}
	default:
		w.view = newTextView(a)
	}
	return w
}

// errOwnerGone reports that the process that owned the data directory has ended.
var errOwnerGone = errors.New("the owner of the data directory has ended")

// started shows the started run and the user's message.
func (w *watcher) started(x *perdure.Execution) {
	w.view.started(x)
	w.view.said("")
}

// toTheEnd follows the run until it has ended or waits for the user. It returns the error that
// determines the exit code. If the process through which it reached the server ends, it continues
// by itself.
func (w *watcher) toTheEnd(ctx context.Context) error {
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
			return w.interrupted()
		case w.ownerGone(err):
			err = w.again(ctx)
		case err == nil && w.status != "":
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// settle handles the end of the events. It reads the user's input, which clears the status, or
// shows the state of the run.
func (w *watcher) settle(ctx context.Context) error {
	if w.status == perdure.StatusWaiting && w.chat {
		more, err := w.talk(ctx)
		if err != nil {
			return err
		}
		if more {
			w.status = ""
			return nil
		}
	}
	return w.end(ctx)
}

// ownerGone reports whether the error means that the process of another run, which owned the
// server, has ended.
func (w *watcher) ownerGone(err error) bool {
	guest := w.owner != nil && w.owner.Kind == ownerRun
	return guest && (errors.Is(err, errOwnerGone) || perdure.IsCode(err, perdure.Unavailable))
}

// follow shows events until the run has a status at which a command ends.
func (w *watcher) follow(ctx context.Context) (perdure.Status, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := w.With(func(o *client.Options) {
		o.OnReconnect = func(cause error, pause time.Duration) {
			if w.owner != nil && w.owner.Kind == ownerRun {
				cancel(errOwnerGone)
				return
			}
			w.view.lost(cause, pause)
		}
	})
	taken := w.expect(ctx)
	defer taken()
	for e, err := range c.Follow(ctx, w.id, w.cursor) {
		if err != nil {
			return "", err
		}
		if e.Type != perdure.EventCreated && e.Type != perdure.EventSignal {
			taken()
		}
		w.cursor = e.Cursor
		if err := w.view.event(e); err != nil {
			return "", err
		}
		if status := w.stops(e); status != "" {
			return status, nil
		}
	}
	return "", nil
}

// expect prints a message after a while if no worker has claimed the run, unless taken is called
// before.
func (w *watcher) expect(ctx context.Context) (taken func()) {
	fresh := w.cursor == ""
	var looks sync.WaitGroup
	looks.Add(1)
	timer := time.AfterFunc(noWorkerAfter, func() {
		defer looks.Done()
		x, err := w.Get(ctx, w.id)
		switch {
		case err != nil || x.Status != perdure.StatusPending:
		case x.Away != nil:
			tellAway(w.app, x)
		case fresh:
			fmt.Fprintf(w.stderr, "perdure: no worker has taken the run yet; perdure worker starts one\n")
		}
	})
	return sync.OnceFunc(func() {
		if timer.Stop() {
			looks.Done()
		}
		looks.Wait()
	})
}

const noWorkerAfter = 5 * time.Second

// stops returns the status if the event is the last one to wait for.
func (w *watcher) stops(e client.Event) perdure.Status {
	if e.Type.Ends() {
		return perdure.StatusCompleted // the execution has the exact status
	}
	if e.Type != perdure.EventWaiting || w.patient {
		return ""
	}
	var d struct {
		Reason string `json:"reason"`
	}
	if e.Decode(&d) == nil && d.Reason == "signal" {
		return perdure.StatusWaiting
	}
	return ""
}

// talk sends the user's next line; it returns false at the end of the input. The next call sends a
// line that could not be sent again, under the same id.
func (w *watcher) talk(ctx context.Context) (bool, error) {
	for w.unsent == nil {
		w.view.ask()
		line, ok, err := w.line(ctx)
		if !ok || err != nil {
			return false, err
		}
		if line = strings.TrimSpace(line); line != "" {
			w.view.said(line)
			q := client.UserMessage(line)
			q.ID = uuid.NewString()
			w.unsent = &q
		}
	}
	_, err := w.Signal(ctx, w.id, *w.unsent)
	if err == nil {
		w.unsent = nil
	}
	return true, err
}

// line reads a line and can be interrupted. An interrupted read continues in the background until
// the program ends.
func (w *watcher) line(ctx context.Context) (string, bool, error) {
	type read struct {
		text string
		ok   bool
	}
	if w.lines == nil {
		w.lines = bufio.NewScanner(w.stdin)
		w.lines.Buffer(nil, 8<<20)
	}
	got := make(chan read, 1)
	go func() {
		ok := w.lines.Scan()
		got <- read{w.lines.Text(), ok}
	}()
	select {
	case r := <-got:
		if !r.ok {
			return "", false, w.lines.Err()
		}
		return r.text, true, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}

// end shows the current state of the run.
func (w *watcher) end(ctx context.Context) error {
	r, err := w.resultOf(ctx, w.id)
	if err != nil {
		return err
	}
	if err := w.view.result(r); err != nil {
		return err
	}
	if r.ExitCode != exitOK {
		return exit{r.ExitCode}
	}
	return nil
}

// interrupted prints how to continue the run that the user has left.
func (w *watcher) interrupted() error {
	flags := w.typed
	if w.works {
		_ = w.stderr.say("\nperdure: interrupted; the run is kept\n  go on with it:  perdure resume %s%s\n  end it:         perdure cancel %s%s", w.id, flags, w.id, flags)
	} else {
		_ = w.stderr.say("\nperdure: interrupted; the run goes on at the server\n  watch it:  perdure tail %s%s\n  end it:    perdure cancel %s%s", w.id, flags, w.id, flags)
	}
	return exit{exitInterrupted}
}

// typedServer returns the flags with which another command reaches the same server.
func typedServer(flags *pflag.FlagSet) string {
	text := ""
	for _, name := range []string{"server", "data", "org"} {
		if f := flags.Lookup(name); f != nil && f.Changed && len(f.Annotations[fromEnv]) == 0 {
			text += " --" + name + " " + shellWord(f.Value.String())
		}
	}
	return text
}

// shellWord quotes a string for a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || slices.Contains([]rune("-_./:@%+=,"), r)
	}
	for _, r := range s {
		if !plain(r) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}
