package react_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/storetest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

// crashPlan says when the processes of a run die. Each process is a server with its worker.
type crashPlan struct {
	// The first process dies after `first` commits, and every later process after `each` commits. 0
	// means that the process does not die.
	first, each int
	how         interruption // whether the process dies before or after its last commit
}

// crashStore is a store with one run of the built-in agent and tools. Processes work on the run one
// after another. The model has a window of 8,000 tokens.
type crashStore struct {
	t       *testing.T
	store   store.Store
	hints   *notify.Local
	client  *engine.Engine // a server without a worker, which no test kills
	model   *windowModel
	folder  string
	journal string
	crashPlan
	died   int           // number of processes that have died
	buried chan struct{} // receives a value after a death, because a dead process may have sent no hint
}

const smallWindow = 8000

func newCrashStore(t *testing.T, script string, d crashPlan) *crashStore {
	t.Helper()
	h := &crashStore{t: t, store: opentest.Store(t), hints: &notify.Local{}, folder: t.TempDir(), crashPlan: d, buried: make(chan struct{}, 1)}
	scripts := t.TempDir()
	writeFile(t, filepath.Join(scripts, "s"), script)
	h.journal = filepath.Join(t.TempDir(), "journal")
	h.model = &windowModel{Provider: scripted.New(scripted.Config{Dir: scripts, Journal: h.journal}), window: smallWindow, forget: true}
	h.client = h.server(h.store)
	return h
}

func (h *crashStore) server(s store.Store) *engine.Engine {
	return engine.New(engine.Config{Store: s, Hints: h.hints, Lease: runLease, Logger: slog.New(slog.DiscardHandler)})
}

// crashingProcess is the state of a process that dies at one of its commits.
type crashingProcess struct {
	fate *killSwitch
	how  interruption
	mu   sync.Mutex
	left int // number of commits until the process dies
}

func (l *crashingProcess) plan(_ int, c store.Command) storetest.Fault {
	if c.Name == "register" || c.Name == "kinds" {
		return storetest.NoFault // these commits do not belong to the run
	}
	if _, dead := l.fate.next("", ""); dead {
		return storetest.FailBefore
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left--; l.left != 0 {
		return storetest.NoFault
	}
	l.fate.end()
	if l.how == before {
		return storetest.FailBefore
	}
	return storetest.LoseAnswer
}

// work runs one process after another until stop is called. It returns when a worker has
// registered, so that a client can start a run.
func (h *crashStore) work() (stop func()) {
	h.begin(h.client.Dispatch("default", true))()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for left := h.first; ; left = h.each {
			if !h.live(left, over) {
				return
			}
			h.died++
		}
	}()
	return sync.OnceFunc(func() { close(over); <-done })
}

// live runs a process that dies after the given number of commits. It returns false if the process
// ends because the channel `over` is closed.
func (h *crashStore) live(left int, over <-chan struct{}) bool {
	l := &crashingProcess{fate: newKillSwitch(killPoint{}), how: h.how, left: left}
	e := h.server(&storetest.Faults{Store: h.store, Plan: l.plan})
	stop := h.begin(endingDispatch{&killedDispatch{Dispatch: e.Dispatch("default", true), fate: l.fate}})
	defer stop()
	select {
	case <-over:
		return false
	case <-l.fate.died:
	}
	stop()
	if err := h.client.ReturnEmbedded(context.WithoutCancel(h.t.Context())); err != nil {
		h.t.Error(err)
	}
	select {
	case h.buried <- struct{}{}:
	default:
	}
	return true
}

// endingDispatch is the dispatch of a worker that may die. Once the worker is dead, every frame
// that the worker appends to a stream gets the error lease_lost, so that the worker stops at once.
type endingDispatch struct{ *killedDispatch }

func (b endingDispatch) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	replies, err := b.killedDispatch.Append(ctx, frames)
	if !perdure.IsCode(err, perdure.LeaseLost) {
		return replies, err
	}
	replies = make([]perdure.FrameReply, len(frames))
	for i := range replies {
		replies[i].Err = perdure.Errorf(perdure.LeaseLost, "the process is dead")
	}
	return replies, nil
}

// begin starts a worker that calls the server through d.
func (h *crashStore) begin(d perdure.Dispatch) (stop func()) {
	providers := llm.NewProviders(h.model)
	providers.SetWindows(llm.Windows{{Provider: "scripted", ID: "s"}: {Window: smallWindow}})
	c := react.Config{
		Providers: providers, Tools: tool.Builtin(),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(h.folder, dir, tool.WorkspaceOptions{})
		},
	}
	w := worker.New(worker.Config{
		Dispatch: d, Parked: 100, Drain: -1, PollWait: time.Minute,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	w.RegisterAgent(react.Agent(c))
	for _, d := range react.Tasks(c) {
		w.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	<-w.Registered()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			h.t.Error(err)
		}
	})
}

func (h *crashStore) start(prompt string, oneShot bool) uuid.UUID {
	h.t.Helper()
	tools, most := []string{"read-file", "write-file", "bash", "grep"}, 10_000
	x, err := h.client.Start(h.t.Context(), "default", engine.StartRequest{
		UserPrompt: prompt, OneShot: oneShot, Tools: &tools, Config: perdure.AgentConfig{MaxTurns: &most},
		Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return x.ID
}

// until waits until the function `want` returns true for the execution, and returns the execution.
func (h *crashStore) until(id uuid.UUID, want func(*perdure.Execution) bool) *perdure.Execution {
	h.t.Helper()
	hints, unsubscribe := h.hints.Subscribe(notify.Log(id))
	defer unsubscribe()
	for limit := time.After(20 * time.Minute); ; {
		x, err := h.store.Execution(h.t.Context(), "default", id)
		if err != nil {
			h.t.Fatal(err)
		}
		if want(x) {
			return x
		}
		if x.Status.Terminal() {
			h.t.Fatalf("the run is %s: %v", x.Status, x.Error)
		}
		select {
		case <-hints:
		case <-h.buried:
		case <-limit:
			h.t.Fatalf("the run is %s (%s) after %d deaths", x.Status, x.WaitReason, h.died)
		}
	}
}
