package react_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

const (
	turns     = 30
	modelTask = "llm-request"
	runLease  = time.Hour // a test moves the store's clock by this time to end leases
)

// runStore is a store on which a test plays runs one after another. It counts the model calls and
// tool runs.
type runStore struct {
	t      *testing.T
	store  store.Store
	org    string       // org of the current run
	ahead  atomic.Int64 // offset of the store's clock from the real time, in nanoseconds
	folder string
	model  llm.Provider

	mu     sync.Mutex // guards the fields below
	starts map[string]int
	asked  map[int]int
}

func newRunStore(t *testing.T, open opentest.Opener) *runStore {
	t.Helper()
	w := &runStore{t: t, folder: t.TempDir()}
	w.model = turnModel{w}
	w.store = open(t, func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) })
	return w
}

// process is a running worker. The function `stop` stops the worker and waits for all its
// goroutines.
type process struct{ stop func() }

// server creates a server on the store s. All servers of a run get the same notifier `hints`.
func (w *runStore) server(s store.Store, hints notify.Notifier) *engine.Engine {
	return engine.New(engine.Config{Store: s, Hints: hints, Lease: runLease, Logger: slog.New(slog.DiscardHandler)})
}

// begin starts a worker, which calls the server through the dispatch that `connect` returns.
func (w *runStore) begin(e *engine.Engine, parked int, connect func(perdure.Dispatch) perdure.Dispatch) process {
	w.t.Helper()
	c := react.Config{
		Providers: llm.NewProviders(w.model), Tools: w.tools(),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(w.folder, dir, tool.WorkspaceOptions{})
		},
	}
	one := worker.New(worker.Config{
		Dispatch: connect(e.Dispatch(w.org, true)), Parked: parked, Drain: -1, PollWait: time.Minute,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	one.RegisterAgent(react.Agent(c))
	for _, d := range react.Tasks(c) {
		one.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	over := make(chan error, 1)
	go func() { over <- one.Run(ctx) }()
	<-one.Registered()
	return process{sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			w.t.Error(err)
		}
	})}
}

// play plays a run that is interrupted at the point p, and returns its outcome. Each run has its
// own org, so that a failed run does not affect the next one.
func (w *runStore) play(t *testing.T, p killPoint) *outcome {
	t.Helper()
	w.t, w.org = t, uuid.NewString()
	w.mu.Lock()
	w.starts, w.asked = map[string]int{}, map[int]int{}
	w.mu.Unlock()
	id, fate := w.run(p, func(uuid.UUID, *engine.Engine) {})
	o := w.read(id)
	o.killPoint, o.reached, o.calls, o.commits = p, fate.met(), fate.calls, fate.commits
	return o
}

// run plays a run that is interrupted at the point p. As soon as the run exists, it calls the
// function `begun` with a server that is not interrupted.
func (w *runStore) run(p killPoint, begun func(uuid.UUID, *engine.Engine)) (uuid.UUID, *killSwitch) {
	w.t.Helper()
	// A server that dies between a commit and its hint loses the hint. So Shared is set: readers
	// then do not rely on every hint.
	fate, hints := newKillSwitch(p), &notify.Local{Shared: true}
	healthy := w.server(w.store, hints)
	first := w.begin(w.server(&storetest.Faults{Store: w.store, Plan: fate.plan}, hints), p.parked, func(d perdure.Dispatch) perdure.Dispatch {
		return &killedDispatch{Dispatch: d, fate: fate}
	})
	defer first.stop()
	tools := []string{"look", "act", "alone"}
	x, err := healthy.Start(w.t.Context(), w.org, engine.StartRequest{
		UserPrompt: "begin", OneShot: true, Tools: &tools, Models: []perdure.ModelConfig{{Provider: w.model.Name(), ModelID: "o"}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	begun(x.ID, healthy)
	now := first
	if w.until(hints, x.ID, fate.died) {
		first.stop()
		w.endLeases(healthy, p.layer)
		now = w.begin(healthy, p.parked, func(d perdure.Dispatch) perdure.Dispatch { return d })
		defer now.stop()
		w.until(hints, x.ID, nil)
	}
	now.stop()
	return x.ID, fate
}

// endLeases ends the leases of the dead worker. In the layer "store" it does so as a new server
// process does at its start. In the layer "rpc" it lets the leases expire.
func (w *runStore) endLeases(e *engine.Engine, layer string) {
	w.t.Helper()
	if layer == "store" {
		if err := e.ReturnEmbedded(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.ahead.Add(int64(runLease))
	if err := e.Sweep(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// until waits until the run has completed or the process has died. It returns true if the process
// died first. It fails the test if the run fails.
func (w *runStore) until(from notify.Notifier, id uuid.UUID, died <-chan struct{}) bool {
	w.t.Helper()
	hints, unsubscribe := from.Subscribe(notify.Log(id))
	defer unsubscribe()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		x, err := w.store.Execution(w.t.Context(), w.org, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if x.Status == perdure.StatusCompleted {
			return false
		}
		if x.Status.Terminal() {
			w.t.Fatalf("the run is %s: %s", x.Status, *x.Error)
		}
		select {
		case <-hints:
		case <-died:
			return true
		case <-limit.C:
			tasks, err := w.store.ListTasks(w.t.Context(), id, false, "", 1000)
			w.must(err)
			last := tasks.Items[len(tasks.Items)-1]
			w.t.Fatalf("the run is %s (%s) and goes no further; its last task, %s, is %s at attempt %d, not before %s, now %s",
				x.Status, x.WaitReason, last.Kind, last.Status, last.Attempt, last.NotBefore, w.store.Now())
		}
	}
}

// read returns the outcome of a run from the data in the store and from the counts of the runStore.
func (w *runStore) read(id uuid.UUID) *outcome {
	w.t.Helper()
	o := &outcome{}
	x, err := w.store.Execution(w.t.Context(), w.org, id)
	w.must(err)
	for e, err := range w.store.Path(w.t.Context(), id, *x.Leaf, nil, 0, false) {
		w.must(err)
		m, err := e.Message()
		w.must(err)
		l := line{text: string(m.Role) + ": " + m.PlainText()}
		for _, p := range m.Parts {
			l.text += fmt.Sprintf(" %s %s %s %v", p.Name, p.RawArguments, perdure.Content{Parts: p.Parts}.PlainText(), p.IsError)
		}
		o.lines = append(o.lines, l)
	}
	all, err := w.store.AllEntries(w.t.Context(), id, "", 1000)
	w.must(err)
	for _, e := range all.Items {
		if e.Type == perdure.EntryLLMCall {
			o.records++
		}
	}
	page, err := w.store.ListTasks(w.t.Context(), id, false, "", 1000)
	w.must(err)
	o.tasks = page.Items
	w.name(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	o.starts, o.asked = w.starts, w.asked
	return o
}

// name sets the label of each tool result in o.lines to the label of its call. The results are in
// the order of the calls.
func (w *runStore) name(o *outcome) {
	var waiting []string
	for i, l := range o.lines {
		switch {
		case strings.HasPrefix(l.text, "assistant: turn "):
			var turn int
			_, err := fmt.Sscanf(l.text, "assistant: turn %d", &turn)
			w.must(err)
			for _, c := range callsOf(turn) {
				waiting = append(waiting, c.label)
			}
		case strings.HasPrefix(l.text, "tool_result"):
			o.lines[i].label, waiting = waiting[0], waiting[1:]
		}
	}
}

func (w *runStore) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func labelOf(t *perdure.Task) string {
	var in struct{ Label string }
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return err.Error()
	}
	return in.Label
}

func turnOf(t *perdure.Task) int {
	var in struct{ Turn int }
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return -1
	}
	return in.Turn
}
