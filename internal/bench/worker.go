package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

// idleKind is a kind of agent that is registered but that no worker runs.
const idleKind = "idle"

// workerSpec is the configuration of a worker.
type workerSpec struct {
	Addr, Token string // address and token of the server, if it is another process
	Slots       int    // slots for agents, and as many for tasks
}

// benchWorker is a worker with the agents of the workloads, and with react agents that call the
// models of `provider`.
type benchWorker struct {
	provider *provider
	recorder *recorder
	stop     func()
}

// startWorker starts a worker, and returns when the worker is registered.
func startWorker(ctx context.Context, d perdure.Dispatch, spec workerSpec) (*benchWorker, error) {
	p := newProvider()
	r := newRecorder()
	c := react.Config{
		Providers: llm.NewProviders(p),
		Tools:     []tool.Tool{lookUp},
		Workspaces: func(string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(os.TempDir(), "", tool.WorkspaceOptions{})
		},
	}
	w := worker.New(worker.Config{
		Dispatch: d, Agents: spec.Slots, Tasks: spec.Slots, Parked: max(1000, 2*spec.Slots), Drain: 5 * time.Second, Logger: quietLogger(),
	})
	w.RegisterAgent(react.Agent(c))
	for _, t := range react.Tasks(c) {
		w.RegisterTask(t)
	}
	r.register(w)
	if _, err := d.Register(ctx, perdure.Registration{WorkerID: uuid.New(), Agents: []perdure.KindSpec{{Kind: idleKind}}}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	running := &benchWorker{provider: p, recorder: r, stop: sync.OnceFunc(func() {
		r.close()
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
		}
	})}
	select {
	case <-w.Registered():
		return running, nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}

// streamedText describes the text that a provider has streamed: its hash by stream, and the maximum
// delay of a chunk.
type streamedText struct {
	Sums map[int]string
	Late time.Duration
}

func (w *benchWorker) streamedText() streamedText {
	w.provider.mu.Lock()
	defer w.provider.mu.Unlock()
	said := streamedText{maps.Clone(w.provider.sums), w.provider.late}
	clear(w.provider.sums)
	w.provider.late = 0
	return said
}

func workerRole(ctx context.Context, args []string) error {
	var spec workerSpec
	if err := json.Unmarshal([]byte(args[0]), &spec); err != nil {
		return err
	}
	d, err := remote.Dial(ctx, remote.Options{Addr: spec.Addr, Token: spec.Token, Logger: quietLogger()})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	// After a signal to stop, the worker first finishes its work. The worker's context must not end
	// before that.
	w, err := startWorker(context.WithoutCancel(ctx), d, spec)
	if err != nil {
		return err
	}
	defer w.stop()
	verbs := workerHandlers(func() *benchWorker { return w })
	maps.Copy(verbs, processVerbs())
	return serveRequests(ctx, verbs)
}

var errNoWorker = errors.New("there is no worker in this process")

// workerHandlers returns the handlers for requests to a process with a worker.
func workerHandlers(worker func() *benchWorker) map[string]handler {
	verbs := map[string]handler{}
	for name, do := range map[string]func(w *benchWorker, name string, n int) any{
		"said":    func(w *benchWorker, _ string, _ int) any { return w.streamedText() },
		"samples": func(w *benchWorker, name string, _ int) any { return w.recorder.take(name) },
		"arrived": func(w *benchWorker, name string, n int) any { w.recorder.arrived(name, n); return nil },
		"next":    func(w *benchWorker, name string, _ int) any { return w.recorder.first(name) },
		"reach":   func(w *benchWorker, name string, n int) any { return w.provider.reach(n) },
		"go on":   func(w *benchWorker, _ string, n int) any { w.provider.allowTurns(n); return nil },
		"open":    func(w *benchWorker, name string, _ int) any { return w.recorder.open(name) },
	} {
		verbs[name] = on(func(about workerArgs) (any, error) {
			w := worker()
			if w == nil {
				return nil, errNoWorker
			}
			return do(w, about.Name, about.N), nil
		})
	}
	return verbs
}

// workerArgs holds the arguments of a request to a worker.
type workerArgs struct {
	Name string
	N    int
}
