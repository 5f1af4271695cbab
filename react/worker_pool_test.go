package react_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/local"
)

// workerPool is a scriptedEngine whose workers and scripts a test can change.
type workerPool struct {
	*scriptedEngine
	scripts string
}

// newWorkerPool creates a worker pool with one worker.
func newWorkerPool(t *testing.T, parked int, script string) *workerPool {
	t.Helper()
	s := emptyWorkerPool(t, script)
	s.work(parked)
	return s
}

// emptyWorkerPool creates a worker pool without a worker.
func emptyWorkerPool(t *testing.T, script string) *workerPool {
	t.Helper()
	s := &workerPool{scriptedEngine: &scriptedEngine{t: t, folder: t.TempDir()}, scripts: t.TempDir()}
	s.journal = filepath.Join(t.TempDir(), "journal")
	s.play("s", script)
	s.store = opentest.Store(t)
	s.engine = engine.New(engine.Config{Store: s.store, Lease: 5 * time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// play sets the script of the model with this name.
func (s *workerPool) play(name, script string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.scripts, name), []byte(script), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// workerSetup is the configuration of a worker of a worker pool.
type workerSetup struct {
	react.Config
	noTasks bool // the worker runs only agents
	noAgent bool // the worker runs only tasks
	over    func(perdure.Dispatch) perdure.Dispatch
	local   *local.Store
	others  []agent.Definition // additional agents of the worker
}

// work starts a worker, and returns a function that stops it. The functions in `change` edit the
// worker's configuration.
func (s *workerPool) work(parked int, change ...func(*workerSetup)) (stop func()) {
	s.t.Helper()
	provider := scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal})
	c := workerSetup{Config: react.Config{
		Providers: llm.NewProviders(provider), Tools: tool.Builtin(),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(s.folder, dir, tool.WorkspaceOptions{})
		},
	}}
	for _, edit := range change {
		edit(&c)
	}
	d := s.engine.Dispatch("default", true)
	if c.over != nil {
		d = c.over(d)
	}
	w := worker.New(worker.Config{Dispatch: d, Parked: parked, Drain: time.Second, Local: c.local})
	if !c.noAgent {
		w.RegisterAgent(react.Agent(c.Config))
	}
	for _, other := range c.others {
		w.RegisterAgent(other)
	}
	if !c.noTasks {
		for _, d := range react.Tasks(c.Config) {
			w.RegisterTask(d)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	<-w.Registered()
	return stop
}
