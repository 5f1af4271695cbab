package logtest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

// deployment is a server over a real store, and a worker that runs the react agent. A restarted
// server has another address.
type deployment struct {
	t       testing.TB
	open    opentest.Reopener
	folder  string // the workspace of the agent
	scripts string
	key     string
	run     *runState
	client  *http.Client

	mu     sync.Mutex // guards the fields below
	url    string
	up     chan struct{} // closed while the server runs
	engine *engine.Engine
	stop   []func() // functions that stop the running parts, called in reverse order
	worker func()
}

func newDeployment(t testing.TB, open opentest.Reopener) *deployment {
	t.Helper()
	h := &deployment{
		t: t, open: open, folder: t.TempDir(), scripts: t.TempDir(), up: make(chan struct{}), run: newRunState(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	if err := os.WriteFile(filepath.Join(h.scripts, "s"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start()
	t.Cleanup(h.close)
	_, secret, err := h.engine.CreateKey(t.Context(), "default", "test", perdure.KeyClient)
	if err != nil {
		t.Fatal(err)
	}
	h.key = secret
	return h
}

// start opens the store and starts the server on it.
func (h *deployment) start() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	store, shut := h.open(h.t)
	hints := &notify.Local{}
	quiet := slog.New(slog.DiscardHandler)
	h.engine = engine.New(engine.Config{Store: store, Hints: hints, Lease: 5 * time.Second, Logger: quiet})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.engine.Run(ctx) }()
	halt := make(chan struct{})
	handler, err := face.New(face.Config{
		Config: front.Config{
			Engine: h.engine, Stop: halt, Logger: quiet,
			PingEvery: time.Second, // so that each omitted item causes a ping
		},
		Log: eventlog.New(h.engine.Read(), store.Epoch(), hints),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	h.url = srv.URL
	h.stop = []func(){shut, func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	}, func() {
		close(halt)
		srv.CloseClientConnections()
		srv.Close()
	}}
	h.worker = h.work()
	close(h.up)
}

// work starts a worker and returns the function that stops it. A stopped worker releases its
// leases at once, so that another worker can continue the executions.
func (h *deployment) work() (stop func()) {
	h.t.Helper()
	c := react.Config{
		Providers: llm.NewProviders(&interruptedProvider{Provider: scripted.New(scripted.Config{Dir: h.scripts}), run: h.run}),
		Tools:     h.tools(),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(h.folder, dir, tool.WorkspaceOptions{})
		},
	}
	w := worker.New(worker.Config{
		Dispatch: h.engine.Dispatch("default", false), Drain: -1, Logger: slog.New(slog.DiscardHandler),
	})
	w.RegisterAgent(react.Agent(c))
	for _, d := range react.Tasks(c) {
		w.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-w.Registered()
	return func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	}
}

// close stops everything, the worker first.
func (h *deployment) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = make(chan struct{})
	h.worker()
	for i := len(h.stop) - 1; i >= 0; i-- {
		h.stop[i]()
	}
	h.client.CloseIdleConnections()
	h.stop = nil
}

// restart closes the store and the server and opens them again.
func (h *deployment) restart() {
	h.t.Helper()
	h.close()
	h.start()
}

// replaceWorker stops the worker and starts another one, which continues the run.
func (h *deployment) replaceWorker() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.worker()
	h.worker = h.work()
}

func (h *deployment) address() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.url
}

// ready waits until the server runs.
func (h *deployment) ready(ctx context.Context) error {
	h.mu.Lock()
	up := h.up
	h.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *deployment) api(id uuid.UUID) API {
	return API{URL: h.address, Org: "default", Key: h.key, Execution: id, Client: h.client}
}
