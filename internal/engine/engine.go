// Package engine implements the rules of executions, one file for each verb: start, claim, commit,
// finish, signal, cancel, renew, release, reap. Each rule is a pure decision on the state of one
// execution. The store's committer makes the decision durable; hints are sent only after that.
// docs/architecture.md describes the data flow.
package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// Config configures an engine. Store is required. The zero value of every other field selects its
// default.
type Config struct {
	Store store.Store
	Hints notify.Notifier // default: within this process
	// Grown, if set, receives the additions of a commit to a log if they are only pieces of text.
	// It reports whether it could use them; if so, readers in this process do not get the hint of
	// the log. It must be set before the engine is used.
	Grown func(Growth) bool
	// Observer receives what happens to executions and tasks; it may be nil.
	Observer Observer
	// Plain turns off optimizations: the commit that refers to an uploaded content always reads it
	// again.
	Plain  bool
	Logger *slog.Logger
	// Lease is the duration of a claim without a renewal; default 15 s.
	Lease time.Duration
	// GoneAfter is the time in which a worker whose connection was lost must connect or renew its
	// leases. After it, other workers may claim its executions; default 0.5 s.
	GoneAfter time.Duration
	// CancelGrace is the time in which the worker of a cancelled execution must end it; default 30
	// s.
	CancelGrace time.Duration
	// PayloadLimit is the maximum size of one payload in bytes; default 64 MiB.
	PayloadLimit int64
	// QueueLimits maps a queue to the maximum number of tasks of one org that run on it at the same
	// time, on all workers together. A queue that is not in the map has no limit.
	QueueLimits map[string]int
	// Tick is the interval at which pollers and sweeps read the store without a hint; default 1 s.
	Tick time.Duration
	// RetentionEvery is the interval at which the engine looks for data whose retention has ended;
	// default one minute.
	RetentionEvery time.Duration
}

// Engine applies the rules to a store. [New] creates one.
type Engine struct {
	Config
	keys       keyCache
	orgs       orgCache
	secret     secretCache
	sessions   sessionCache
	sources    sources
	promotions promotions
	live       live
	parked     parkedBoard
	alone      aloneBoard
	gone       goneBoard
	large      *largeTurns
	passed     passedContents
	schemas    inputSchemas
	agentKinds sharedReads[kindName, *store.Kind]
	// refusedRenewal reports whether the store has refused to renew or to end a lease since the
	// sweep loop last checked.
	refusedRenewal atomic.Bool
	// refs reads like Store, but returns references to contents that are stored in blobs, so that
	// the server never holds a whole one.
	refs store.Reader
}

// New creates an engine and sets the defaults of c.
func New(c Config) *Engine {
	if c.Hints == nil {
		c.Hints = &notify.Local{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Lease <= 0 {
		c.Lease = 15 * time.Second
	}
	if c.GoneAfter <= 0 {
		c.GoneAfter = goneAfter
	}
	if c.CancelGrace <= 0 {
		c.CancelGrace = 30 * time.Second
	}
	if c.PayloadLimit <= 0 {
		c.PayloadLimit = perdure.DefaultPayloadLimit
	}
	if c.Tick <= 0 {
		c.Tick = time.Second
	}
	if c.RetentionEvery <= 0 {
		c.RetentionEvery = time.Minute
	}
	return &Engine{Config: c, refs: c.Store.Lazy(), large: newLargeTurns()}
}

// do runs a command and, once it is durable, sends the hints that its decision
// collected. It returns the answers of the decisions that changed something.
func (e *Engine) do(ctx context.Context, c store.Command) ([]*decided, error) {
	all, err := e.write(ctx, c)
	e.tell(all)
	return all, err
}

func (e *Engine) write(ctx context.Context, c store.Command) ([]*decided, error) {
	ctx, end := startCommit(ctx, c)
	answers, err := e.Store.Do(ctx, c)
	end(err)
	if err != nil {
		e.refused(c, err)
		return nil, err
	}
	var all []*decided
	for _, a := range answers {
		if d, ok := a.(*decided); ok && d != nil {
			all = append(all, d)
		}
	}
	return all, nil
}

// tell sends the hints of the decisions.
func (e *Engine) tell(all []*decided) {
	for _, d := range all {
		e.publish(d)
	}
}

// publish sends a decision's hints. For a freed place of a limited queue or key it also sends the
// hint Freed, because no other hint reaches the tasks that wait for the place.
func (e *Engine) publish(d *decided) {
	e.observed(d)
	tell := e.Hints.Publish
	if d.growth != nil && e.Grown != nil && e.Grown(*d.growth) {
		tell = e.Hints.PublishAway
	}
	for _, topic := range d.hints {
		tell(topic)
	}
	for _, f := range d.freed {
		if _, limited := e.QueueLimits[f.queue]; limited || f.keyed {
			e.Hints.Publish(notify.Freed(f.org))
		}
	}
}

// one runs a command that names its execution, like do, and returns its only answer.
func (e *Engine) one(ctx context.Context, c store.Command) (*decided, error) {
	all, err := e.do(ctx, c)
	if err != nil {
		return &decided{}, err
	}
	if len(all) == 0 {
		return &decided{}, nil
	}
	return all[0], nil
}

// oneShown is one for a command whose content may go to live readers without being stored in the
// log. Live readers can read the content before they receive the hint.
func (e *Engine) oneShown(ctx context.Context, c store.Command) (*decided, error) {
	over := e.live.writing(c.Execution)
	all, err := e.write(ctx, c)
	var content []shown
	for _, d := range all {
		content = append(content, d.shown...)
	}
	over(content)
	e.tell(all)
	if err != nil || len(all) == 0 {
		return &decided{}, err
	}
	return all[0], nil
}

// decided is the answer of a decision: a value for the caller, and the hints to send after the
// commit.
type decided struct {
	value any
	hints []string
	freed []freed
	shown []shown          // for live readers
	seen  []func(Observer) // calls of the observer
	// growth, unless nil, contains all that the hints report.
	growth *Growth
	woken  *woken // the claim that the decision made for a handover or a reply
}

// Growth is the addition of a commit to a log.
type Growth struct {
	Execution uuid.UUID
	Head      store.Head       // after the addition
	Records   []perdure.Record // as the store returns them
}

// freed is the queue place of an attempt that has stopped running.
type freed struct {
	org, queue string
	keyed      bool
}

func notFound(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no execution %s", id)
}
