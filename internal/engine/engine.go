// Package engine implements the commands on executions, with one file for each verb: start, claim,
// commit, finish, signal, cancel, renew, release. It checks a request, reads the stored data that
// the command needs, and runs a function of package rules in the store's committer. That function
// determines what the transaction changes. The engine sends hints only after the commit. The
// package also has the sweeps, which apply the effects of time. The packages below it have the
// other commands, and the state in the memory of one server, such as open polls.
// docs/architecture.md describes the data flow.
package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/board"
	"github.com/perdure/perdure/internal/engine/bulk"
	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/engine/definitions"
	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/engine/kinds"
	"github.com/perdure/perdure/internal/engine/live"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/engine/retention"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/engine/uploads"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Config configures an engine. Store is required. The zero value of every other field selects its
// default.
type Config struct {
	Store store.Store
	Hints notify.Notifier // default: within this process
	// Grown, if set, is called after a commit that has added only text to a log. If Grown returns
	// true, it has passed the text to the readers in this process, which then get no hint. The field
	// must be set before the engine is used.
	Grown func(Growth) bool
	// Observer is notified of the claims, lost leases, ends and refusals that metrics count; it may
	// be nil.
	Observer Observer
	// Runs is notified when an execution starts, waits or ends; it may be nil.
	Runs RunObserver
	// Plain turns off optimizations: a commit reads each uploaded content to which it refers, even if
	// the content was checked during the upload.
	Plain  bool
	Logger *slog.Logger
	// Lease is how long a claim lasts without a renewal; default 15 s.
	Lease time.Duration
	// ReconnectTimeout is the time in which a worker whose connection was lost must connect or
	// renew its leases. After this time, other workers may claim that worker's executions; default
	// 0.5 s.
	ReconnectTimeout time.Duration
	// CancelGrace is the time within which a worker must end its cancelled execution; default 30 s.
	CancelGrace time.Duration
	// PayloadLimit is the maximum size of one payload in bytes; default 64 MiB.
	PayloadLimit int64
	// QueueLimits maps the name of a queue to the maximum number of tasks of one org that run on
	// the queue at the same time, on all workers together. A queue that is not in the map has no
	// limit.
	QueueLimits map[string]int
	// Tick is the interval at which polls and sweeps read the store without a hint; default 1 s.
	Tick time.Duration
	// RetentionEvery is the interval at which the engine looks for data whose retention has ended;
	// default one minute.
	RetentionEvery time.Duration
}

// Engine implements the commands on a store. [New] creates one.
type Engine struct {
	Config
	*tenants.Tenants
	// Bulk implements the commands on bulk actions, and continues the bulk actions that are
	// running.
	Bulk *bulk.Actions
	// Conversations implements the commands on conversations and responses.
	Conversations *conversations.Conversations
	// Definitions implements the commands on definitions of agents.
	Definitions *definitions.Definitions
	// Kinds registers the kinds of agents and tasks that workers can run.
	Kinds *kinds.Kinds
	// Questions implements the commands on the questions that executions ask.
	Questions *questions.Questions
	// Pruner deletes data whose retention has ended.
	Pruner     *retention.Pruner
	opened     perdure.Time // when the engine was created, by the clock of the store
	homes      *homes.Homes
	promotions promotions
	live       live.Contents
	keepers    *board.Keepers
	drains     board.Drains
	lost       board.LostWorkers
	uploads    *uploads.Uploads
	workers    board.Workers
	// refusedRenewal is set if the store has refused to renew or to end a lease since the last check
	// of the sweep loop.
	refusedRenewal atomic.Bool
	// refs reads like Store, but returns references to contents that are stored in blobs. The
	// server therefore never has a complete large content in memory.
	refs store.ClaimReader
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
	if c.ReconnectTimeout <= 0 {
		c.ReconnectTimeout = reconnectTimeout
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
	e := &Engine{Config: c, refs: c.Store.Lazy(), opened: c.Store.Now(), keepers: board.NewKeepers(c.Store, c.Lease)}
	e.Tenants = tenants.New(c.Store, e.value)
	e.homes = homes.New(c.Store, e.refs)
	e.uploads = uploads.New(uploads.Config{Store: c.Store, Refs: e.refs, One: e.value, PayloadLimit: c.PayloadLimit, Plain: c.Plain})
	e.Kinds = kinds.New(kinds.Config{Store: c.Store, Refs: e.refs, Uploads: e.uploads, One: e.value})
	e.Conversations = conversations.New(conversations.Config{Store: c.Store, Refs: e.refs, One: e.value, Rules: e.rules})
	e.Questions = questions.New(questions.Config{
		Store: c.Store, Refs: e.refs, Homes: e.homes, Kinds: e.Kinds, One: e.value, OrgWorks: e.OrgWorks, PayloadLimit: c.PayloadLimit,
	})
	e.Definitions = definitions.New(definitions.Config{Store: c.Store, Kinds: e.Kinds, Questions: e.Questions, One: e.value})
	e.Bulk = e.newBulk()
	e.Pruner = &retention.Pruner{Config: retention.Config{Store: c.Store, Do: e.do, Tenants: e.Tenants, Logger: c.Logger, Every: c.RetentionEvery}}
	return e
}

// Homes returns the workers that store the contents of LOCAL executions.
func (e *Engine) Homes() *homes.Homes { return e.homes }

// PutContent stores content for an execution before the signal that refers to it. Content without a
// reference is deleted after an hour. Errors: not_found, execution_ended, payload_too_large,
// invalid_argument, rate_limited.
func (e *Engine) PutContent(ctx context.Context, org string, execution uuid.UUID, length int64, content io.Reader) (perdure.BlobRef, error) {
	return e.uploads.Put(ctx, org, perdure.BlobOwner{ExecutionID: execution}, length, content)
}

// do runs a command. Once the command is durable, do sends the hints of the command. The result has
// one Decision for each execution that the command has changed.
func (e *Engine) do(ctx context.Context, c store.Command) ([]*rules.Decision, error) {
	all, err := e.write(ctx, c)
	e.tell(all)
	return all, err
}

func (e *Engine) write(ctx context.Context, c store.Command) ([]*rules.Decision, error) {
	ctx, end := startCommit(ctx, c)
	answers, err := e.Store.Do(ctx, c)
	end(err)
	if err != nil {
		e.refused(c, err)
		return nil, err
	}
	var all []*rules.Decision
	for _, a := range answers {
		if d, ok := a.(*rules.Decision); ok && d != nil {
			all = append(all, d)
		}
	}
	return all, nil
}

// rules returns the settings that functions of package rules use.
func (e *Engine) rules() rules.Config {
	return rules.Config{Lease: e.Lease, CancelGrace: e.CancelGrace, PayloadLimit: e.PayloadLimit, QueueLimits: e.QueueLimits}
}

// tell sends the hints of commands that are durable.
func (e *Engine) tell(all []*rules.Decision) {
	for _, d := range all {
		e.publish(d)
	}
}

// publish sends the hints of a command. If an attempt has ended, and its queue or its concurrency key
// has a limit, publish also sends the hint Freed. A poll that has found no task because of the limit
// gets no other hint.
func (e *Engine) publish(d *rules.Decision) {
	e.observed(d)
	tell := e.Hints.Publish
	if d.Growth != nil && e.Grown != nil && e.Grown(*d.Growth) {
		tell = e.Hints.PublishAway
	}
	for _, h := range d.Hints {
		tell(topicOf(h))
	}
	for _, f := range d.Freed {
		if _, limited := e.QueueLimits[f.Queue]; limited || f.Keyed {
			e.Hints.Publish(notify.Freed(f.Org))
		}
	}
}

// topicOf returns the topic of a hint.
func topicOf(h rules.Hint) string {
	switch h.Kind {
	case rules.HintAgents:
		return notify.Agents(h.Org, h.Queue)
	case rules.HintTasks:
		return notify.Tasks(h.Org, h.Queue)
	case rules.HintLog:
		return notify.Log(h.Execution)
	case rules.HintDue:
		return notify.Due
	case rules.HintRecheck:
		return notify.Recheck
	case rules.HintQuestions:
		return notify.Questions(h.Org)
	case rules.HintLeases:
		return notify.Leases(h.Org, h.Worker)
	case rules.HintDeliveries:
		return notify.Deliveries
	case rules.HintPauses:
		return notify.Pauses
	case rules.HintBulk:
		return notify.BulkActions
	}
	panic(fmt.Sprintf("engine: a hint of the kind %d has no topic", h.Kind)) // unreachable: the kinds are all above
}

// one runs a command for a single execution, like do. It returns the command's Decision, which is
// empty if nothing changed.
func (e *Engine) one(ctx context.Context, c store.Command) (*rules.Decision, error) {
	all, err := e.do(ctx, c)
	if err != nil {
		return &rules.Decision{}, err
	}
	if len(all) == 0 {
		return &rules.Decision{}, nil
	}
	return all[0], nil
}

// value runs a command as the method `one` does, and returns the Value of the command's Decision.
func (e *Engine) value(ctx context.Context, c store.Command) (any, error) {
	d, err := e.one(ctx, c)
	return d.Value, err
}

// oneShown runs a command as the method `one` does. It is for commands with content that is shown
// to live readers but not stored in the log. It makes this content readable before it sends the
// hints.
func (e *Engine) oneShown(ctx context.Context, c store.Command) (*rules.Decision, error) {
	over := e.live.Writing(c.Execution)
	all, err := e.write(ctx, c)
	var content []rules.LiveContent
	for _, d := range all {
		content = append(content, d.Live...)
	}
	over(content)
	e.tell(all)
	if err != nil || len(all) == 0 {
		return &rules.Decision{}, err
	}
	return all[0], nil
}

// Growth contains the records that one commit has added to a log.
type Growth = rules.Growth
