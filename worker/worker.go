// Package worker claims executions and tasks, and runs the code that is registered for their kinds.
// The goroutine of a suspended execution is parked. It continues in place if this worker claims the
// execution again and nothing has changed in between. Otherwise the goroutine is discarded, and the
// function is entered again from the top.
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

// Config configures a worker. Dispatch is required; every other field may be zero.
type Config struct {
	// Dispatch is the server: the client of remote.Dial, or the engine in process.
	Dispatch perdure.Dispatch
	// ID is the worker's id; default: the id of Local, or a random one.
	ID uuid.UUID
	// Local stores the contents of LOCAL executions. If it is set, this worker may claim such
	// executions, and has the store's stable id. The caller must close it after Run has returned.
	Local *local.Store
	// Results stores the results of task kinds with a Replay until the server has stored them;
	// default: the one of Local. If it is nil and there is no Local, such a result is lost with the
	// process, and the attempt is repeated.
	Results *results.Store
	// Queues are the queues from which the worker takes work; default: "default". The numbers of
	// queues and registered kinds are limited; see perdure.CheckPollSize.
	Queues []string
	// Plain requests the records of a function that is entered again one by one, instead of in
	// pages.
	Plain bool
	// Agents is the maximum number of executions whose code runs at once; default 50.
	Agents int
	// Tasks is the maximum number of attempts that run at once; default 20.
	Tasks int
	// Parked is the maximum number of parked goroutines of suspended executions; default 1,000. If
	// it is negative, none is parked, and every wait enters the function again.
	Parked int
	// ParkedBytes is the maximum memory of parked goroutines: their state, signals, results and
	// entries; default 256 MiB. The goroutine that has waited longest is discarded first.
	ParkedBytes int
	// ParkedFor is the maximum time for which a goroutine is parked; default 10 min.
	ParkedFor time.Duration
	// Drain is the time that running work has to end at shutdown before it is cancelled and
	// released; default 30 s. If it is negative, work is cancelled at once.
	Drain time.Duration
	// Grace is the time that cancelled code has to return before the worker releases its claims and
	// Run returns without it; default 5 s.
	Grace time.Duration
	// StoreFor is the time for which a server may return nothing but internal for a commit or the
	// end of an attempt; default 5 min. After that, an execution is released for another worker,
	// and fails after ten releases. A task fails with not_stored.
	StoreFor time.Duration
	// TextEvery is the maximum delay of continued text, so that one flush of the server's disk
	// stores more of it; default 25 ms. The first and the last piece of a part are not delayed. If
	// it is negative, nothing is delayed.
	TextEvery time.Duration
	// PollWait is the time for which one poll waits at the server; default 20 s.
	PollWait time.Duration
	Clock    func() time.Duration // the clock of leases; default: time since boot, suspend included
	// Report, if set, is called with a description of a probable mistake in agent code, such as an
	// entry that a function entered again appends a second time.
	Report func(string)
	// Observer observes the worker; may be nil. Package worker/metrics has one that counts.
	Observer *Observer
	// TracerProvider creates spans of claims, attempts, and model and tool calls; nil creates none.
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
	goroutines sync.WaitGroup // of runs, including parked ones
	streams    *streams
	paths      paths

	mu          sync.Mutex // guards the fields below
	draining    bool
	runs        map[uuid.UUID]*run     // executions whose code runs, by id
	parked      map[uuid.UUID]*run     // executions with a parked goroutine
	waiting     list.List              // the parked runs, as *run; the one that has waited longest first
	parkedBytes int                    // their memory
	begun       map[*run]bool          // every run whose goroutine has not ended
	attempts    map[uuid.UUID]*attempt // by claim id
	overdue     []perdure.AgentRelease // to release once the server is reachable
	unreached   error                  // error of the last poll or heartbeat
	registered  chan struct{}
}

// New creates a worker. Register its agents and tasks, then call Run.
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

// RegisterAgent adds an agent. It panics if the kind is already registered, because that is a
// programming error.
func (w *Worker) RegisterAgent(d agent.Definition) {
	if _, taken := w.agents[d.Spec.Kind]; taken || d.Spec.Kind == "" {
		panic(fmt.Sprintf("worker: the agent kind %q is empty or registered already", d.Spec.Kind))
	}
	w.agents[d.Spec.Kind] = d
}

// RegisterTask adds a task kind. It panics if the kind is already registered.
func (w *Worker) RegisterTask(d agent.TaskDefinition) {
	if _, taken := w.tasks[d.Spec.Kind]; taken || d.Spec.Kind == "" {
		panic(fmt.Sprintf("worker: the task kind %q is empty or registered already", d.Spec.Kind))
	}
	w.tasks[d.Spec.Kind] = d
}

// Registered returns a channel that is closed once the server knows the worker's kinds.
func (w *Worker) Registered() <-chan struct{} { return w.registered }

// Run works until ctx ends, then drains. It stops polling, discards parked goroutines, and waits up
// to Config.Drain for running work. Then it cancels the rest and releases its claims. Code that
// does not return within Config.Grace is abandoned: its claims are released, and the error names
// it. It ends with the process. Other errors: the worker could not be registered, or it has more
// queues and kinds than perdure.CheckPollSize allows.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.checkPolls(); err != nil {
		return err
	}
	if err := w.register(ctx); err != nil {
		return err
	}
	close(w.registered)
	// Work continues after ctx while the worker drains.
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
		queues++ // the queue of its LOCAL executions
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

// kinds returns the registered kinds.
func kinds[T any](registered map[string]T) []string {
	names := make([]string, 0, len(registered))
	for name := range registered {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// slots limits concurrency.
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

// try takes up to n free slots without waiting.
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

// offer returns the number of slots that an eager claim may take: half of the free ones, so that
// polls and eager claims do not starve each other.
func (s slots) offer() int { return (cap(s) - len(s) + 1) / 2 }
