package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

const (
	org = "default"
	// lease is the lease time of the server. It is long, so that days of virtual time need few
	// renewals. A run that tests lost leases ends them explicitly.
	lease = time.Hour
	// restart is the time from the death of a worker until another worker replaces it. latency is
	// the duration of each call, so that the clock shows different times before and after the call.
	restart = time.Second
	latency = time.Millisecond
	// never is longer than any run. A worker's poll waits at most this long for work.
	never = 1 << 62
)

// world is one run of a scenario: a server, its workers, and a record of what the workers have done.
type world struct {
	Scenario
	plan   plan
	parked int
	core   *server.Core
	begun  time.Time
	id     uuid.UUID       // id of the execution
	script string          // folder of the model's script
	files  string          // folder in which tools work
	known  map[string]bool // kinds of tasks that the workers run
	ended  chan struct{}
	poked  chan struct{}
	group  sync.WaitGroup // workers, and the goroutines that replace dead ones

	mu      sync.Mutex // guards the fields below
	stops   []context.CancelFunc
	closing bool
	commits int
	calls   int  // number of writes so far, with those that are no boundaries
	writes  int  // number of writes so far, as plan.at counts them
	met     bool // whether the run has reached the write that the plan selects
	what    string
	// taken is closed when another worker has claimed the work whose lease was lost. It is nil if no
	// lease was lost.
	taken    chan struct{}
	kinds    map[uuid.UUID]string
	finished map[uuid.UUID]bool // tasks whose result is stored
	// failed contains, for each task, the claim ids of the attempts whose failure is stored.
	failed  map[uuid.UUID]map[uuid.UUID]bool
	ran     map[string]int
	signals []string // ids of the taken signals, in order
	faults  []string
}

// emptyStore returns the bytes of a database file without data. The file is created once per process,
// outside of any synctest bubble, because creating its tables takes longer than most runs.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "agenttest")
	if err != nil {
		return nil, err
	}
	core, err := server.OpenCore(context.Background(), server.Config{Data: dir})
	if err != nil {
		return nil, err
	}
	if err := core.Close(); err != nil {
		return nil, err
	}
	blank, err := os.ReadFile(filepath.Join(dir, server.CoreFile))
	return blank, errors.Join(err, os.RemoveAll(dir))
})

// newWorld opens a server in the synctest bubble. Its store is a copy of the database `blank`.
// s.normal has already set the defaults of the scenario.
func newWorld(t *testing.T, s Scenario, p plan, parked int, blank []byte) (*world, error) {
	w := &world{
		Scenario: s, plan: p, parked: parked, begun: time.Now(),
		ended: make(chan struct{}), poked: make(chan struct{}, 1),
		kinds: map[uuid.UUID]string{}, finished: map[uuid.UUID]bool{},
		failed: map[uuid.UUID]map[uuid.UUID]bool{}, ran: map[string]int{},
	}
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, server.CoreFile), blank, 0o600)
	if err != nil {
		return nil, err
	}
	if w.core, err = server.OpenCore(t.Context(), server.Config{Data: dir, Lease: lease, Logger: s.Logger}); err != nil {
		return nil, err
	}
	if w.isReact() {
		w.script, w.files = t.TempDir(), t.TempDir()
		err = os.WriteFile(filepath.Join(w.script, "script"), []byte(s.Model), 0o600)
		for id, script := range s.Models {
			err = errors.Join(err, os.WriteFile(filepath.Join(w.script, id), []byte(script), 0o600))
		}
	}
	w.known = map[string]bool{}
	_, tasks := w.code()
	for _, d := range tasks {
		w.known[d.Definition().Spec.Kind] = true
	}
	return w, err
}

func (w *world) isReact() bool { return w.Agent.Run == nil }

// work starts a worker and waits until the worker is registered at the server. After a call of
// close, work does nothing.
func (w *world) work() error {
	ctx, stop := context.WithCancel(context.Background())
	line := &wire{Dispatch: w.core.Dispatch(org), w: w, stop: stop}
	line.cut, line.cutLine = context.WithCancel(context.Background())
	hired := worker.New(worker.Config{
		Dispatch: line, Logger: w.Logger, Parked: w.parked, Drain: -1, PollWait: never,
		Clock: func() time.Duration { return time.Since(w.begun) },
	})
	definition, tasks := w.code()
	hired.RegisterAgent(definition)
	for _, d := range tasks {
		hired.RegisterTask(w.watched(d))
	}
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		stop()
		return nil
	}
	w.stops = append(w.stops, stop)
	failed := make(chan error, 1)
	w.group.Go(func() { failed <- hired.Run(ctx) })
	w.mu.Unlock()
	select {
	case <-hired.Registered():
		return nil
	case err := <-failed:
		return fmt.Errorf("the worker did not start: %w", err)
	}
}

// code returns the agent and the tasks that the workers register.
func (w *world) code() (agent.Definition, []agent.TaskKind) {
	if !w.isReact() {
		return w.Agent, w.Tasks
	}
	c := react.Config{
		Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: w.script})), Tools: w.Tools,
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(w.files, dir, tool.WorkspaceOptions{})
		},
	}
	var tasks []agent.TaskKind
	for _, t := range react.Tasks(c) {
		tasks = append(tasks, t)
	}
	return react.Agent(c), append(tasks, w.Tasks...)
}

// watched returns the task kind with a Run that counts its calls, and that records a fault if the
// task's result is already stored.
func (w *world) watched(k agent.TaskKind) agent.TaskDefinition {
	d := k.Definition()
	run := d.Run
	d.Run = func(ctx agent.TaskContext, input json.RawMessage) (json.RawMessage, error) {
		w.mu.Lock()
		w.ran[d.Spec.Kind]++
		if w.finished[ctx.Task().ID] {
			w.faults = append(w.faults, fmt.Sprintf("the task %s(%s) ran again after its result had been stored", d.Spec.Kind, input))
		}
		a := attempt{TaskContext: ctx, failed: len(w.failed[ctx.Task().ID])}
		w.mu.Unlock()
		return run(a, input)
	}
	return d
}

// start creates the execution.
func (w *world) start(ctx context.Context) error {
	r := engine.StartRequest{Kind: w.Agent.Spec.Kind, Approvals: w.Approvals}
	if w.isReact() {
		prompt, ok := w.Input.(string)
		if !ok || w.Model == "" {
			return errors.New("a scenario without an Agent runs the react agent: it needs a Model, and a string as Input, the prompt")
		}
		r = engine.StartRequest{
			UserPrompt: prompt, OneShot: !w.Chat, Approvals: w.Approvals, Models: []perdure.ModelConfig{{Provider: scripted.Name, ModelID: "script"}},
		}
		for _, id := range slices.Sorted(maps.Keys(w.Models)) {
			r.Models = append(r.Models, perdure.ModelConfig{Provider: scripted.Name, ModelID: id})
		}
		names := []string{}
		for _, t := range w.Tools {
			names = append(names, t.Name)
		}
		r.Tools = &names
	} else {
		var err error
		if r.Input, err = json.Marshal(w.Input); err != nil {
			return fmt.Errorf("the input does not encode: %w", err)
		}
	}
	x, err := w.core.Start(ctx, org, r)
	if err != nil {
		return fmt.Errorf("the execution cannot be started: %w", err)
	}
	w.id = x.ID
	return nil
}

// replace starts another worker after the duration `restart`, because a worker has died. It also
// ends the leases of the dead worker, as a server with embedded workers does when it starts.
func (w *world) replace() {
	w.group.Go(func() {
		time.Sleep(restart)
		w.note(w.core.ReturnEmbedded(context.Background()))
		w.note(w.work())
		w.poke()
	})
}

// poke wakes the goroutine that runs `live`, because something may have changed.
func (w *world) poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

// note records err as a fault of the run if it is not nil.
func (w *world) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, err.Error())
}

// close stops all workers, waits until they have stopped, and closes the server.
func (w *world) close() error {
	w.mu.Lock()
	w.closing = true
	for _, stop := range w.stops {
		stop()
	}
	w.mu.Unlock()
	w.group.Wait()
	return w.core.Close()
}
