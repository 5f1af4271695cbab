package chat

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/editor"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// Causes with which a chat leaves the run that it follows.
var (
	errLeft     = errors.New("the user has left the chat")
	errInputEnd = errors.New("the input has ended")
	errSwitched = errors.New("the chat goes on with another run")
	// errAnswerStopped ends the asking of a question in the terminal, because the user has stopped the
	// turn.
	errAnswerStopped = errors.New("the turn was stopped")
	// errLeftOpen ends the asking of a question in the terminal. The question stays open.
	errLeftOpen = errors.New("the question stays open")
	// errSetAside ends the asking of a question in the terminal, or the following of events,
	// because the user has chosen another question.
	errSetAside = errors.New("another question is asked first")
)

// session is a chat with an input line. The goroutine of the method run follows one run at a time.
// Another goroutine takes the input, which is a command, an answer to a question, or a message to the
// run.
type session struct {
	*connection.RunConn
	options Options
	ed      *editor.Editor
	view    *view
	quit    context.CancelCauseFunc
	live    context.Context // ends with the chat
	reads   sync.WaitGroup  // reads for completion, in the background

	connection sync.RWMutex // held while the connection is replaced
	targets    chan Target

	stops atomic.Bool // the user has asked to stop the turn, and the log does not have it yet

	mu     sync.Mutex
	id     uuid.UUID // the followed run; uuid.Nil between runs
	input  perdure.ReactInput
	chosen *perdure.ModelChoice // the user's choice of a model; nil means the run's first model
	// preferred are the models for new runs. The first is the model that the user chose last in
	// this chat; after it come the other models of the run in which the user chose it.
	preferred []perdure.ModelConfig
	busy      bool
	react     bool // the run is of the react agent
	failed    bool // the last turn has failed, and the run waits
	leave     context.CancelCauseFunc
	opening   chan struct{} // closed when the next run is open, or could not be opened; nil if there is none
	asked     *askedHere    // the question that the terminal asks; nil if there is none
	// next is the question that the user has chosen to be asked next; uuid.Nil if there is none.
	next    uuid.UUID
	pause   context.CancelCauseFunc // ends the following of the events; nil if they are not followed
	waiting []string                // messages that the run has not taken yet
	offers  offers
	// interrupted is when the process last received an interrupt.
	interrupted time.Time
}

func newSession(o Options) *session {
	return &session{RunConn: o.Conn, options: o, live: context.Background(), targets: make(chan Target, 1)}
}

// historyFile is the name of the file with the inputs of earlier chats, in the data directory.
const historyFile = "chat-history"

// run implements the function Run for the session.
func (s *session) run(ctx context.Context, first Target) error {
	session, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	s.quit, s.live = quit, session
	path := ""
	if s.Conn.Data != "" {
		path = filepath.Join(s.Conn.Data, historyFile)
	}
	history, err := editor.OpenHistory(path)
	if err != nil {
		_ = s.Stderr.Linef("perdure: the history of inputs cannot be read: %v", err)
	}
	s.view = newView(s)
	s.offers.open(s.workspaceRoot())
	s.ed = editor.Start(editor.Options{Streams: s.Streams, History: history, Remembers: s.remembers, Complete: s.complete, Escape: s.escape, Interrupt: s.interrupt})
	defer s.Interrupts.Handle(func() bool { s.interrupt(s.pressed()); return true })()
	if !first.waits() {
		s.opening = make(chan struct{})
	}
	var takes sync.WaitGroup
	takes.Go(func() { s.takeInputs(session) })
	last, err := s.followAll(session, first)
	cause := context.Cause(session)
	quit(errLeft)
	failed := s.ed.Close()
	takes.Wait()
	s.reads.Wait()
	switch {
	case ctx.Err() != nil || errors.Is(cause, errLeft):
		if last == nil {
			return setup.ExitWith(setup.ExitInterrupted)
		}
		return last.PrintLeft()
	case errors.Is(cause, errInputEnd) && last == nil:
		return failed
	case errors.Is(cause, errInputEnd):
		last.View = terminal.NewTextView(s.Streams, s.ServerFlags)
		_ = s.Stdout.Linef("")
		return last.ShowLeft(ctx)
	}
	return err
}

// followAll follows the first run and those that the user switches to. It returns the watcher of the
// last run, nil if there was none.
func (s *session) followAll(ctx context.Context, first Target) (last *watcher.Watcher, err error) {
	target := first
	for {
		w, err := s.open(ctx, target)
		s.opened()
		switch {
		case ctx.Err() != nil && w != nil:
			return w, nil
		case ctx.Err() != nil:
			return last, nil
		case err != nil && last == nil:
			return nil, err
		case err != nil:
			s.view.note(terminal.StyleError, terminal.ErrorMessage(err))
		case w != nil:
			last = w
			if switched, err := s.follow(ctx, w); !switched {
				return w, err
			}
		}
		s.ed.SetStatus(newRunStatus(target))
		select {
		case target = <-s.targets:
		case <-ctx.Done():
			return last, nil
		}
	}
}

// open starts or resumes the run of a target. It returns nil if the run needs a prompt first. If
// the run exists, open returns a watcher even with an error.
func (s *session) open(ctx context.Context, t Target) (*watcher.Watcher, error) {
	s.connection.Lock()
	defer s.connection.Unlock()
	if t.Resume != nil {
		w := s.newWatcher(t.Resume.ID)
		x := t.Resume
		if err := lookup.FetchInput(ctx, s.Conn, x); err != nil {
			return nil, err
		}
		state, err := lookup.ReadAgentState(ctx, s.Conn, x)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.preferred = nil
		s.mu.Unlock()
		s.attach(x, state.Model)
		return w, s.options.Attach(ctx, w, x, t.Prompt)
	}
	if t.waits() {
		return nil, nil
	}
	s.ed.SetStatus("starting")
	q := *t.Start
	q.IdempotencyKey = uuid.NewString()
	x, err := s.options.Start.StartRun(ctx, s.RunConn, &q)
	if err != nil {
		return nil, err
	}
	w := s.newWatcher(x.ID)
	s.view.Started(x)
	if err := lookup.FetchInput(ctx, s.Conn, x); err != nil {
		return w, err
	}
	s.attach(x, nil)
	return w, nil
}

func (s *session) newWatcher(id uuid.UUID) *watcher.Watcher {
	w := watcher.New(s.App, s.RunConn, id)
	w.View, w.Chat, w.Session = s.view, true, s
	return w
}

// follow follows a run until it ends, or the user leaves it. `switched` reports whether the chat
// continues with another run.
func (s *session) follow(ctx context.Context, w *watcher.Watcher) (switched bool, err error) {
	run, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	defer s.detach()
	s.mu.Lock()
	s.leave = leave
	if len(s.targets) > 0 { // chosen while this run was opened
		leave(errSwitched)
	}
	s.mu.Unlock()
	for {
		if w.Status == "" {
			w.Status, err = s.followEvents(run, w)
		}
		if err == nil {
			err = w.Settle(run)
		}
		if errors.Is(err, errSetAside) {
			if err = s.askNext(run, w); err == nil {
				continue
			}
		}
		switch {
		case errors.Is(context.Cause(run), errSwitched):
			return true, nil
		case run.Err() != nil:
			return false, nil
		case errors.Is(err, errAnswerStopped):
			w.Status, err = "", nil
		case w.OwnerGone(err):
			s.connection.Lock()
			err = w.Reconnect(ctx)
			s.connection.Unlock()
		case err == nil && w.Status != "":
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// works reports whether a run does something other than wait for the user. The status alone does
// not show this, because a run whose tool is running also has the status WAITING.
func works(x *perdure.Execution) bool {
	return x.Status != perdure.StatusWaiting || x.WaitReason != lookup.WaitsForSignal
}

// attach directs the user's input to a run.
func (s *session) attach(x *perdure.Execution, chosen *perdure.ModelChoice) {
	var in perdure.ReactInput
	if x.Kind == perdure.ReactKind {
		_ = decodeInput(x, &in) // the input may be on a worker; then its settings stay unknown
	}
	s.mu.Lock()
	s.id, s.input, s.waiting, s.next = x.ID, in, nil, uuid.Nil
	s.busy, s.failed = works(x), x.TurnFailed()
	s.react = x.Kind == perdure.ReactKind
	s.choose(chosen)
	s.mu.Unlock()
	s.offers.setQuestions(nil)
	if x.Status == perdure.StatusWaiting {
		s.refreshQuestions()
	}
	s.showStatus()
}

func (s *session) detach() {
	s.mu.Lock()
	s.id, s.busy, s.leave, s.waiting = uuid.Nil, false, nil, nil
	s.mu.Unlock()
	s.ed.SetQueue(nil)
}

// switchTo leaves the current run, and continues the chat with another run.
func (s *session) switchTo(t Target) {
	if !s.chooseTarget(t) {
		s.view.note(terminal.StyleWarn, "the chat is already changing to another run")
	}
}

// chooseTarget leaves the current run for a target. It returns false if another target is already
// chosen.
func (s *session) chooseTarget(t Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.targets <- t:
	default:
		return false
	}
	if s.opening == nil {
		s.opening = make(chan struct{})
	}
	if s.leave != nil {
		s.leave(errSwitched)
	}
	return true
}

// opened records that the next run was opened, or could not be opened. It ends the wait of awaitOpen,
// unless the user has chosen another run in the meantime.
func (s *session) opened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening != nil && len(s.targets) == 0 {
		close(s.opening)
		s.opening = nil
	}
}

// awaitOpen waits while a run is being opened, so that text which the user has typed meanwhile goes to
// that run.
func (s *session) awaitOpen(ctx context.Context) error {
	s.mu.Lock()
	opening := s.opening
	s.mu.Unlock()
	if opening == nil {
		return nil
	}
	select {
	case <-opening:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// client returns the client of the current connection.
func (s *session) client() *client.Client {
	s.connection.RLock()
	defer s.connection.RUnlock()
	return s.Client
}

// current returns the run that the input is for; uuid.Nil if there is none.
func (s *session) current() uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// workspaceRoot returns the folder to which paths in messages are relative. This folder is the
// workspace of this process's worker if there is one, and otherwise the current folder.
func (s *session) workspaceRoot() string {
	if s.Server == "" && s.options.Worker.Workspace != "" {
		return s.options.Worker.Workspace
	}
	return "."
}

// decodeInput decodes the input of a run of the react agent. If only a worker has the input,
// decodeInput changes nothing.
func decodeInput(x *perdure.Execution, in *perdure.ReactInput) error {
	if terminal.ContentOnWorker(x.Input) {
		return nil
	}
	return json.Unmarshal(x.Input, in)
}
