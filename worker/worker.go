// Package worker claims executions and tasks and runs the code that is
// registered for their kinds. A suspended execution's goroutine is parked, and
// continues in place if this worker claims the execution again with nothing
// changed in between; otherwise it is discarded and the execution is entered
// again from the top.
package worker

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/worker/local"
	"github.com/perdure/perdure/worker/results"
	"go.opentelemetry.io/otel/trace"
)

// Config says how a worker runs. Dispatch is needed; every other zero value
// works.
type Config struct {
	// Dispatch is the server: remote.Dial's client, or the engine in process.
	Dispatch perdure.Dispatch
	// ID is the worker's; default: that of Local, or random.
	ID uuid.UUID
	// Local keeps the contents of LOCAL executions, which this worker may claim
	// then; nil claims none. The worker has the store's stable id. It is the
	// caller's to close, once Run has returned.
	Local *local.Store
	// Results keeps the results of task kinds that have a Replay until the server
	// has stored them; default: that of Local. Nil without Local: such a result is
	// lost with the process, and the attempt is repeated.
	Results *results.Store
	// Queues that it takes work from; default: "default". They and the kinds that are
	// registered are bounded: see perdure.CheckPollSize.
	Queues []string
	// Plain asks the server for each record of a function that is entered again, and
	// not for pages of them.
	Plain bool
	// Agents bounds the executions whose code runs at once; default 50.
	Agents int
	// Tasks bounds the attempts that run at once; default 20.
	Tasks int
	// Parked bounds the goroutines kept of suspended executions; default 1,000.
	// Below 0 none is kept: every wait enters the function again.
	Parked int
	// ParkedBytes bounds what those hold: their state, signals, results and
	// entries; default 256 MiB. The one that has waited longest goes first.
	ParkedBytes int
	// ParkedFor is how long one is kept; default 10 min.
	ParkedFor time.Duration
	// Drain is how long running work may take to end at shutdown before it is
	// cancelled and given back; default 30 s. Below 0 it is cancelled at once.
	Drain time.Duration
	// Grace is how long cancelled code may take to return, before the worker
	// gives back what it held and Run returns without it; default 5 s.
	Grace time.Duration
	// StoreFor is how long a server may answer a commit, or the end of an attempt,
	// with nothing but internal; default 5 min. Then the execution is given back for
	// another worker, and fails after ten of those; a task fails with not_stored.
	StoreFor time.Duration
	// TextEvery is how long text that continues may wait, so that one flush of the
	// server's disk stores more of it; default 25 ms. The first piece of a part and its
	// last one never wait. Below 0 none does.
	TextEvery time.Duration
	// PollWait is how long one poll waits at the server; default 20 s.
	PollWait time.Duration
	Clock    func() time.Duration // how leases are measured; default: since boot, suspend included
	// Report, if set, is told what looks like a mistake of agent code, in words:
	// an entry that a function entered again appends a second time.
	Report func(string)
	// Observer is told what the worker does; may be nil. worker/metrics makes one
	// that counts.
	Observer *Observer
	// TracerProvider makes spans of claims, attempts, and calls of models and
	// tools; nil makes none.
	TracerProvider trace.TracerProvider
	Logger         *slog.Logger
	Version        string
}

// Worker runs agents and tasks.
type Worker struct {
	Config
	kept   *local.Dispatch // the Dispatch, if there is a Local store
	agents map[string]agent.Definition
	tasks  map[string]agent.TaskDefinition

	settings   perdure.Settings
	agentSlots slots
	taskSlots  slots
	work       sync.WaitGroup // runs and attempts
	goroutines sync.WaitGroup // of runs, the parked ones too
	streams    *streams
	paths      paths

	mu          sync.Mutex // guards what follows
	draining    bool
	runs        map[uuid.UUID]*run     // executions whose code runs, by id
	parked      map[uuid.UUID]*run     // executions whose goroutine is kept
	waiting     list.List              // of those, as *run; the one that has waited longest first
	parkedBytes int                    // what those hold
	begun       map[*run]bool          // every run whose goroutine has not ended
	attempts    map[uuid.UUID]*attempt // by claim id
	overdue     []perdure.AgentRelease // to give back once the server is there again
	unreached   error                  // of the last poll or heartbeat
	registered  chan struct{}
}

// New creates a worker. Register what it can run, then Run it.
func New(c Config) *Worker {
	var kept *local.Dispatch
	if c.Local != nil {
		kept = local.Wrap(c.Dispatch, c.Local, c.Logger)
		c.ID, c.Dispatch = c.Local.WorkerID(), kept
		if c.Results == nil {
			c.Results = c.Local.Results()
		}
	}
	if c.ID == uuid.Nil {
		c.ID = uuid.New()
	}
	if len(c.Queues) == 0 {
		c.Queues = []string{"default"}
	}
	setDefault(&c.Agents, 50)
	setDefault(&c.Tasks, 20)
	setDefault(&c.Parked, 1000)
	setDefault(&c.ParkedBytes, 256<<20)
	setDefault(&c.ParkedFor, 10*time.Minute)
	setDefault(&c.Grace, releaseTimeout)
	setDefault(&c.Drain, 30*time.Second)
	setDefault(&c.TextEvery, 25*time.Millisecond)
	setDefault(&c.PollWait, 20*time.Second)
	setDefault(&c.StoreFor, 5*time.Minute)
	if c.Clock == nil {
		c.Clock = bootTime
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return &Worker{
		Config: c, kept: kept, agents: map[string]agent.Definition{}, tasks: map[string]agent.TaskDefinition{},
		agentSlots: newSlots(c.Agents), taskSlots: newSlots(c.Tasks),
		runs: map[uuid.UUID]*run{}, parked: map[uuid.UUID]*run{}, attempts: map[uuid.UUID]*attempt{},
		begun: map[*run]bool{}, registered: make(chan struct{}),
	}
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// RegisterAgent adds an agent. It panics on a kind that is taken: two agents of
// one kind are a mistake of the program.
func (w *Worker) RegisterAgent(d agent.Definition) {
	if _, taken := w.agents[d.Spec.Kind]; taken || d.Spec.Kind == "" {
		panic(fmt.Sprintf("worker: the agent kind %q is empty or registered already", d.Spec.Kind))
	}
	w.agents[d.Spec.Kind] = d
}

// RegisterTask adds a task kind, with the same rule.
func (w *Worker) RegisterTask(d agent.TaskDefinition) {
	if _, taken := w.tasks[d.Spec.Kind]; taken || d.Spec.Kind == "" {
		panic(fmt.Sprintf("worker: the task kind %q is empty or registered already", d.Spec.Kind))
	}
	w.tasks[d.Spec.Kind] = d
}

// Registered is closed once the server knows the worker's kinds.
func (w *Worker) Registered() <-chan struct{} { return w.registered }

// Run works until ctx ends, then drains: it polls no more, gives back what
// waits, lets what runs end for Config.Drain, then cancels it and gives it
// back. Code that does not return even then is left behind: its work is given
// back, and the error names it; it ends with the process. Another error says
// that the worker could not be registered, or that it names more queues and kinds
// than perdure.CheckPollSize takes.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.checkPolls(); err != nil {
		return err
	}
	if err := w.register(ctx); err != nil {
		return err
	}
	close(w.registered)
	// Work outlives ctx while it drains.
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	w.streams = newStreams(w.Dispatch, w.lineOf(), w.TextEvery)
	var loops, beats sync.WaitGroup
	beats.Go(func() { w.streams.run(live) })
	beats.Go(func() { w.beat(live) })
	beats.Go(func() { w.watch(live) })
	if w.kept != nil {
		beats.Go(func() { w.serveContents(live) })
		beats.Go(func() { w.sweepContents(live) })
	}
	if len(w.agents) > 0 {
		loops.Go(func() { w.pollAgents(ctx, live) })
	}
	if len(w.tasks) > 0 {
		loops.Go(func() { w.pollTasks(ctx, live) })
	}
	<-ctx.Done()
	err := w.drain(stop, &loops)
	stop()
	beats.Wait()
	return err
}

// checkPolls refuses more queues and kinds than a poll may name.
func (w *Worker) checkPolls() error {
	if err := perdure.CheckPollSize(len(w.Queues), len(w.agents)); err != nil {
		return fmt.Errorf("worker: agents: %w", err)
	}
	queues := len(w.Queues)
	if w.kept != nil {
		queues++ // that of its LOCAL executions
	}
	if err := perdure.CheckPollSize(queues, len(w.tasks)); err != nil {
		return fmt.Errorf("worker: tasks: %w", err)
	}
	return nil
}

func (w *Worker) register(ctx context.Context) error {
	r := perdure.Registration{WorkerID: w.ID, Queues: w.Queues, Version: w.Version}
	for _, d := range w.agents {
		r.Agents = append(r.Agents, d.Spec)
	}
	for _, d := range w.tasks {
		r.Tasks = append(r.Tasks, d.Spec)
	}
	err := w.retry(ctx, func() (err error) {
		w.settings, err = w.Dispatch.Register(ctx, r)
		return err
	})
	setDefault(&w.settings.Lease, 15*time.Second)
	return err
}

func (w *Worker) isDraining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

// kinds lists the registered kinds.
func kinds[T any](registered map[string]T) []string {
	names := make([]string, 0, len(registered))
	for name := range registered {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// slots bounds what runs at once.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// acquire waits for a slot; false if ctx ended first.
func (s slots) acquire(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// try takes up to n slots that are free now.
func (s slots) try(n int) int {
	for got := range n {
		select {
		case s <- struct{}{}:
		default:
			return got
		}
	}
	return max(n, 0)
}

func (s slots) release(n int) {
	for range n {
		<-s
	}
}

// offer is how many slots an eager claim may take: half of the free ones, so
// that polls and eager claims do not starve each other.
func (s slots) offer() int { return (cap(s) - len(s) + 1) / 2 }
