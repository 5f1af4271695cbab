// Package worker claims executions and tasks from a server, and runs the code that is registered
// for their kinds. A worker parks the goroutine of a suspended execution in memory. The goroutine
// continues if this worker claims the execution next and nothing has changed in between. Otherwise
// the worker discards the goroutine, and the function is entered again from the top.
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
	"github.com/perdure/perdure/internal/schema"
	"github.com/perdure/perdure/worker/internal/streams"
	"github.com/perdure/perdure/worker/local"
	"github.com/perdure/perdure/worker/results"
	"go.opentelemetry.io/otel/trace"
)

// Config configures a worker. Dispatch is required; every other field may be zero.
type Config struct {
	// Dispatch is the worker's connection to the server: the client that remote.Dial returns, or the engine
	// of a server in the same process.
	Dispatch perdure.Dispatch
	// ID is the id of the worker. Default: the id of Local or, if Local is nil, a random id.
	ID uuid.UUID
	// Local is the store for the contents of LOCAL executions. With it, this worker may claim such
	// executions. The id of the worker is then the id of the store, which never changes. The caller must
	// close the store after Run has returned.
	Local *local.Store
	// Results stores results of task kinds that have a Replay function (see TaskDef). It keeps a
	// result from the end of the attempt until the server has stored the result. Default: the
	// results store of Local, if Local is set. Without a results store, such a result is lost if
	// the process ends before the server has stored the result, and the task runs again.
	Results *results.Store
	// Queues are the queues from which the worker takes work; default: the queue "default".
	// perdure.CheckPollSize limits the numbers of queues and registered kinds.
	Queues []string
	// Plain, if set, makes the worker request the records of steps and tasks one by one, instead of in
	// pages, when a function is entered again.
	Plain bool
	// Agents is the maximum number of executions whose functions run at once; default 50.
	Agents int
	// Tasks is the maximum number of task attempts that run at once; default 20.
	Tasks int
	// Parked is the maximum number of goroutines of suspended executions that are parked in memory;
	// default 1,000. If it is negative, no goroutine is parked, and the function is entered again
	// after every wait.
	Parked int
	// ParkedBytes is the maximum number of bytes that all parked goroutines occupy with their state,
	// signals, results and entries; default 256 MiB. Above the limit, the goroutines that were parked first
	// are discarded.
	ParkedBytes int
	// ParkedFor is the maximum time for which a goroutine is parked; default 10 min. After that,
	// the goroutine is discarded.
	ParkedFor time.Duration
	// Drain is how long running work may continue when the worker stops; default 30 s. Then the work is
	// cancelled and its claims are released. If Drain is negative, work is cancelled at once.
	Drain time.Duration
	// Grace is how long cancelled code may take to return when the worker stops; default 5 s. Then the
	// worker releases the code's claims, and Run returns although the code still runs.
	Grace time.Duration
	// StoreFor is how long the worker repeats a commit or the end of an attempt to which the server
	// replies only with the error internal; default 5 min. Then the worker releases the execution,
	// so that another worker can try; after ten such releases, the execution fails. A task fails
	// with the error not_stored.
	StoreFor time.Duration
	// TextEvery is the maximum time for which streamed text waits for more text of the same block,
	// so that one flush of the server's disk stores both; default 25 ms. The beginning and the end
	// of a block are not delayed. If TextEvery is negative, text is not delayed.
	TextEvery time.Duration
	// PollWait is how long the server holds a poll while there is no work; default 20 s.
	PollWait time.Duration
	// Clock returns the time since a fixed point; the worker measures leases by it. Default: the time since
	// boot, including the time in which the machine was suspended.
	Clock func() time.Duration
	// Report, if set, is called with a description of a probable mistake in agent code. For example, a
	// function that was entered again may append an entry without a key for the second time.
	Report func(string)
	// Observer, if set, has functions that the worker calls when something happens in it. Package
	// worker/metrics contains an Observer that counts what happens.
	Observer *Observer
	// TracerProvider, if set, creates spans of claims, attempts, and model and tool calls.
	TracerProvider trace.TracerProvider
	Logger         *slog.Logger
	Version        string
}

// Worker claims executions and tasks from a server and runs their code.
type Worker struct {
	Config
	localDispatch *local.Dispatch // is Dispatch if there is a Local store; otherwise nil
	agents        map[string]agent.Definition
	tasks         map[string]agent.TaskDefinition

	settings   perdure.Settings
	agentSlots slots
	taskSlots  slots
	work       sync.WaitGroup // runs and attempts
	goroutines sync.WaitGroup // goroutines of runs, including parked ones
	streams    *streams.Streams
	paths      paths
	schemas    schema.Cache  // compiled schemas of outputs of LOCAL executions
	news       chan struct{} // has one token if the server has asked for a heartbeat

	mu          sync.Mutex // guards the fields below
	draining    bool
	runs        map[uuid.UUID]*run     // running executions, by id
	parked      map[uuid.UUID]*run     // executions with a parked goroutine, by id
	waiting     list.List              // parked runs, as *run; the run that was parked first comes first
	parkedBytes int                    // approximate memory of the parked runs
	begun       map[*run]bool          // runs whose goroutine has not ended
	attempts    map[uuid.UUID]*attempt // running attempts, by claim id
	overdue     []perdure.AgentRelease // executions to release as soon as the server is reachable
	unreached   error                  // error of the last poll or heartbeat; nil if it succeeded
	registered  chan struct{}
}

// New creates a worker. The caller registers its agents and tasks, and then calls Run.
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
		Config: c, localDispatch: kept, agents: map[string]agent.Definition{}, tasks: map[string]agent.TaskDefinition{},
		agentSlots: newSlots(c.Agents), taskSlots: newSlots(c.Tasks),
		runs: map[uuid.UUID]*run{}, parked: map[uuid.UUID]*run{}, attempts: map[uuid.UUID]*attempt{},
		begun: map[*run]bool{}, registered: make(chan struct{}), news: make(chan struct{}, 1),
	}
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// RegisterAgent adds an agent to the worker. It must be called before Run. It panics if the kind is empty
// or already registered, because that is a programming error.
func (w *Worker) RegisterAgent(d agent.Definition) {
	if _, taken := w.agents[d.Spec.Kind]; taken || d.Spec.Kind == "" {
		panic(fmt.Sprintf("worker: the agent kind %q is empty or registered already", d.Spec.Kind))
	}
	w.agents[d.Spec.Kind] = d
}

// RegisterTask adds a task kind to the worker. It must be called before Run. It panics if the kind is empty
// or already registered, because that is a programming error.
func (w *Worker) RegisterTask(k agent.TaskKind) {
	d := k.Definition()
	if _, taken := w.tasks[d.Spec.Kind]; taken || d.Spec.Kind == "" {
		panic(fmt.Sprintf("worker: the task kind %q is empty or registered already", d.Spec.Kind))
	}
	w.tasks[d.Spec.Kind] = d
}

// Registered returns a channel that is closed once the server knows which kinds the worker runs.
func (w *Worker) Registered() <-chan struct{} { return w.registered }

// Run registers the worker at the server and runs the work that it claims. When ctx ends, Run stops
// polling, discards parked goroutines, and waits up to Config.Drain for running work. Then it cancels the
// work that still runs and releases its claims. If code does not return within Config.Grace, Run returns an
// error that names the code, and the code continues to run. Other errors: the worker could not be
// registered, or it has more queues and kinds than perdure.CheckPollSize allows.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.checkPolls(); err != nil {
		return err
	}
	if err := w.register(ctx); err != nil {
		return err
	}
	close(w.registered)
	// Running work continues after ctx has ended, as long as the worker drains.
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	w.streams = streams.New(w.Dispatch, w.lineOf(), w.TextEvery, forNow)
	var loops, beats sync.WaitGroup
	beats.Go(func() { w.streams.Run(live) })
	beats.Go(func() { w.beat(live) })
	beats.Go(func() { w.watch(live) })
	beats.Go(func() { w.watchLeases(live) })
	if w.localDispatch != nil {
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

// checkPolls returns an error if the worker has more queues and registered kinds than a poll may
// name.
func (w *Worker) checkPolls() error {
	if err := perdure.CheckPollSize(len(w.Queues), len(w.agents)); err != nil {
		return fmt.Errorf("worker: agents: %w", err)
	}
	queues := len(w.Queues)
	if w.localDispatch != nil {
		queues++ // counts the queue of this worker's LOCAL executions
	}
	if err := perdure.CheckPollSize(queues, len(w.tasks)); err != nil {
		return fmt.Errorf("worker: tasks: %w", err)
	}
	return nil
}

func (w *Worker) register(ctx context.Context) error {
	r := w.registration()
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

// kinds returns the registered kinds of agents or tasks in alphabetical order.
func kinds[T any](registered map[string]T) []string {
	names := make([]string, 0, len(registered))
	for name := range registered {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// slots limits how many runs or attempts exist at once. The length of the channel is the number of slots in
// use.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// acquire waits for a free slot and takes it. It returns false if ctx ends first.
func (s slots) acquire(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// try takes up to n free slots without waiting, and returns the number of slots that it took.
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

// offer returns how many slots one request may reserve for the claims in its reply; the request is
// a poll or a commit. It is half of the free slots, so that some are left for other requests.
func (s slots) offer() int { return (cap(s) - len(s) + 1) / 2 }
