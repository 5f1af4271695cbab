// Package engine holds the rules of executions, a file a verb: start, claim,
// commit, finish, signal, cancel, renew, release, reap. Each rule is a pure
// decision over the state of one execution; the store's committer makes it
// durable, and only then are hints given. docs/architecture.md walks the way of
// the data.
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

// Config says how an engine runs. The zero value of every field but Store
// works.
type Config struct {
	Store store.Store
	Hints notify.Notifier // default: inside this process
	// Grown, if set, is given what a commit has added to a log, where that is
	// pieces of text alone, and reports whether it could use it: readers inside this
	// process are spared the hint of the log then. It is set before the engine is
	// used.
	Grown func(Growth) bool
	// Observer is told what happens; may be nil.
	Observer Observer
	// Plain turns off what is there for speed alone: each uploaded content is read again
	// by the commit that names it.
	Plain  bool
	Logger *slog.Logger
	// Lease is how long a claim lasts without a renewal; default 15 s.
	Lease time.Duration
	// GoneAfter is how long a worker whose connection was lost has to show that it
	// lives, before its executions go to others; default 0.5 s.
	GoneAfter time.Duration
	// CancelGrace is how long a cancelled execution's worker may take to end
	// it; default 30 s.
	CancelGrace time.Duration
	// PayloadLimit is the most bytes of one payload; default 64 MiB.
	PayloadLimit int64
	// QueueLimits bounds, by queue, how many tasks of one org run at once on it,
	// however many workers there are; a queue that is not named has no bound.
	QueueLimits map[string]int
	// Tick is how often pollers and sweeps look at the store without a hint;
	// default 1 s.
	Tick time.Duration
	// RetentionEvery is how often what is kept no longer is looked for; default
	// one minute.
	RetentionEvery time.Duration
}

// Engine applies the rules to a store.
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
	// refusedRenewal says that the store has refused to renew a lease, or to take
	// one back, since the loop looked last.
	refusedRenewal atomic.Bool
	// refs reads like Store, and leaves contents that rest in blobs there: the
	// server never holds them whole.
	refs store.Reader
}

// New creates an engine.
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

// tell gives the hints.
func (e *Engine) tell(all []*decided) {
	for _, d := range all {
		e.publish(d)
	}
}

// publish gives a decision's hints. A place that is free again may let a task
// continue whose queue nothing else tells of.
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

// one is do for a command that names its execution.
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

// oneShown is one for a command that may show something to live readers which
// the log does not keep. They have it before they are told of it.
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

// decided is what a decision answers: a value for the caller, and the hints to
// give after the commit.
type decided struct {
	value any
	hints []string
	freed []freed
	shown []shown          // to live readers
	seen  []func(Observer) // to tell the observer
	// growth is all that hints tells of, unless nil.
	growth *Growth
	woken  *woken // the claim that was made beside what was asked for
}

// Growth is what a commit has added to a log.
type Growth struct {
	Execution uuid.UUID
	Head      store.Head       // after it
	Records   []perdure.Record // as the store gives them
}

// freed is the place of an attempt that runs no more.
type freed struct {
	org, queue string
	keyed      bool
}

func notFound(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no execution %s", id)
}
