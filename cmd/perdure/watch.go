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
	chat   bool // continue with what the user types
	// patient continues while the run waits for the user, as tail does.
	patient bool

	status perdure.Status // that the log has come to, for commands
	lines  *bufio.Scanner
	unsent *client.SignalRequest
}

// view shows a run to people or to programs.
type view interface {
	// started says which run follows.
	started(x *perdure.Execution)
	// know hands over entries that were there before.
	know(entries []perdure.Entry)
	event(e client.Event) error
	// said tells that the next message of the user was given here.
	said(text string)
	// ask invites the user to type.
	ask()
	// lost says that the stream broke, and continues after the pause.
	lost(cause error, pause time.Duration)
	// result is the end of what is shown.
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

// errOwnerGone says that the process that owned the data directory has ended.
var errOwnerGone = errors.New("the owner of the data directory has ended")

// started shows which run was started, with what the user said.
func (w *watcher) started(x *perdure.Execution) {
	w.view.started(x)
	w.view.said("")
}

// toTheEnd follows the run until it has ended or waits for the user, and returns
// the error that tells the exit code. If the process through which it reached
// the server ends, it continues by itself.
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

// settle does what comes after the last event: it lets the user speak, which
// clears the status, or shows how the run stands.
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

// ownerGone reports whether the error is the end of another run's process, through
// which this one reached the server.
func (w *watcher) ownerGone(err error) bool {
	guest := w.owner != nil && w.owner.Kind == ownerRun
	return guest && (errors.Is(err, errOwnerGone) || perdure.IsCode(err, perdure.Unavailable))
}

// follow shows events until the run's status is one that a command ends with.
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

// expect tells after a while that nothing has come of the run, if that is so
// because nobody has taken it, unless the function that it gives is called
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
		return perdure.StatusCompleted // which end it is, the execution says
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

// talk sends the next line that the user types; false at the end of the input.
// A line that could not be sent is sent by the next call, under the same id.
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

// line reads a line without being deaf to an interrupt. Of a read that is still
// under way then, the end of the program is the end, too.
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

// end shows how the run stands now.
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

// interrupted says how to continue with the run that the user has left.
func (w *watcher) interrupted() error {
	flags := w.typed
	if w.works {
		_ = w.stderr.say("\nperdure: interrupted; the run is kept\n  go on with it:  perdure resume %s%s\n  end it:         perdure cancel %s%s", w.id, flags, w.id, flags)
	} else {
		_ = w.stderr.say("\nperdure: interrupted; the run goes on at the server\n  watch it:  perdure tail %s%s\n  end it:    perdure cancel %s%s", w.id, flags, w.id, flags)
	}
	return exit{exitInterrupted}
}

// typedServer returns the flags by which another command finds the same server.
func typedServer(flags *pflag.FlagSet) string {
	text := ""
	for _, name := range []string{"server", "data", "org"} {
		if f := flags.Lookup(name); f != nil && f.Changed && len(f.Annotations[fromEnv]) == 0 {
			text += " --" + name + " " + shellWord(f.Value.String())
		}
	}
	return text
}

// shellWord quotes what a shell would take apart.
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
