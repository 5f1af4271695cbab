package engine

import (
	"context"
	"io"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// Dispatch returns the interface for workers of an org that run in this process. If `embedded` is
// true, the leases of these workers end when the next process that owns the data directory starts
// ([Engine.ReturnEmbedded]).
func (e *Engine) Dispatch(org string, embedded bool) perdure.Dispatch {
	return dispatch{e: e, org: org, embedded: embedded}
}

// Remote returns the interface for workers of an org that are connected by a transport. Claims
// contain references instead of the contents that are stored in blobs. The transport sends such a
// content in pieces, so that the server never has all of it in memory.
func (e *Engine) Remote(org string) perdure.Dispatch {
	return dispatch{e: e, org: org, byRef: true}
}

// ReturnEmbedded ends the leases of the workers that ran inside the previous owner of the data
// directory. It must be called after the directory is locked and before any worker starts.
func (e *Engine) ReturnEmbedded(ctx context.Context) error { return e.returnEmbedded(ctx) }

type dispatch struct {
	e        *Engine
	org      string
	embedded bool
	byRef    bool // the worker gets references in place of contents that are stored in blobs
}

func (d dispatch) Register(ctx context.Context, r perdure.Registration) (perdure.Settings, error) {
	ctx = store.ForOrg(ctx, d.org)
	r.Embedded = d.embedded
	settings := perdure.Settings{Lease: d.e.Lease, PayloadLimit: d.e.PayloadLimit, Org: d.org}
	return settings, d.e.Kinds.Register(ctx, d.org, r)
}

func (d dispatch) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	ctx = store.ForOrg(ctx, d.org)
	p.Embedded = d.embedded
	d.e.lost.Back(d.org, p.WorkerID)
	defer d.e.homes.Polling(d.org, p)()
	defer d.e.workers.Polling(d.org, p.WorkerID)()
	claims, err := d.e.claimAgents(ctx, d.org, p)
	if err != nil || d.byRef {
		return claims, err
	}
	ctx = context.WithoutCancel(ctx) // a stored claim must be returned with its data, or be released
	return readable(claims, func(c perdure.AgentClaim) (*perdure.AgentClaim, error) {
		err := d.fillAgent(ctx, &c)
		if err != nil {
			d.e.giveBack(ctx, d.org, agentBack(p.WorkerID, c.Lease))
		}
		return &c, err
	})
}

func (d dispatch) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	ctx = store.ForOrg(ctx, d.org)
	p.Embedded = d.embedded
	defer d.e.homes.Polling(d.org, p)()
	defer d.e.workers.Polling(d.org, p.WorkerID)()
	claims, err := d.e.claimTasks(ctx, d.org, p)
	if err != nil || d.byRef {
		return claims, err
	}
	ctx = context.WithoutCancel(ctx)
	return readable(claims, func(c perdure.TaskClaim) (*perdure.TaskClaim, error) {
		err := d.fillTasks(ctx, c.Task)
		if err != nil {
			d.e.giveBack(ctx, d.org, taskBack(p.WorkerID, c.Lease))
		}
		return &c, err
	})
}

func (d dispatch) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	ctx = store.ForOrg(ctx, d.org)
	d.e.homes.Beating(d.org, h.WorkerID)
	d.e.workers.Saw(d.org, h.WorkerID)
	d.e.lost.Back(d.org, h.WorkerID)
	return d.e.heartbeat(ctx, d.org, h)
}

func (d dispatch) Release(ctx context.Context, r perdure.Release) error {
	ctx = store.ForOrg(ctx, d.org)
	return d.e.release(ctx, d.org, r)
}

func (d dispatch) Commit(ctx context.Context, c perdure.Commit) (reply perdure.CommitReply, err error) {
	ctx = store.ForOrg(ctx, d.org)
	if c.Offer.Embedded = d.embedded; !d.e.Claims(ctx, d.org) {
		c.Offer.Slots = 0
	}
	if c.Offer.Slots > 0 {
		if c.Offer.Queues, err = d.e.openQueues(ctx, d.org, c.Offer.Queues); err != nil {
			return perdure.CommitReply{}, err
		}
	}
	reply, err = d.e.commit(ctx, d.org, c)
	if err != nil {
		return reply, err
	}
	return reply, perdure.Unanswered(d.fillReply(ctx, c.Lease.ExecutionID, &reply))
}

func (d dispatch) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	ctx = store.ForOrg(ctx, d.org)
	f.Embedded = d.embedded
	f.Parked = f.Parked && d.e.Claims(ctx, d.org)
	reply, err := d.e.finishTask(ctx, d.org, f)
	if err != nil || reply.Claim == nil {
		return reply, err
	}
	return reply, perdure.Unanswered(d.fillAgent(ctx, reply.Claim))
}

func (d dispatch) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	ctx = store.ForOrg(ctx, d.org)
	return d.e.appendFrames(ctx, d.org, frames)
}

func (d dispatch) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	ctx = store.ForOrg(ctx, d.org)
	return func(yield func(perdure.Entry, error) bool) {
		if err := d.own(ctx, q.ExecutionID); err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		if q.Context {
			d.read().ContextPath(ctx, q.ExecutionID, q.Leaf, q.After, false)(yield)
			return
		}
		d.read().Path(ctx, q.ExecutionID, q.Leaf, q.After, q.Newest, false)(yield)
	}
}

func (d dispatch) Execution(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	ctx = store.ForOrg(ctx, d.org)
	return d.read().Execution(ctx, d.org, id)
}

func (d dispatch) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	ctx = store.ForOrg(ctx, d.org)
	if err := d.own(ctx, execution); err != nil {
		return nil, err
	}
	return d.read().Tasks(ctx, execution, ids, false)
}

func (d dispatch) Ended(ctx context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	return d.e.ended(store.ForOrg(ctx, d.org), d.org, q)
}

func (d dispatch) Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	ctx = store.ForOrg(ctx, d.org)
	if err := validate.Texts("patterns", patterns); err != nil {
		return nil, err
	}
	if err := d.own(ctx, execution); err != nil {
		return nil, err
	}
	return d.read().PendingSignals(ctx, execution, patterns, after, limit)
}

func (d dispatch) Questions(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	ctx = store.ForOrg(ctx, d.org)
	if len(ids) > 2*perdure.MaxOpenQuestions {
		return nil, perdure.FieldErrorf("questionIds", "are %d, and %d are allowed", len(ids), 2*perdure.MaxOpenQuestions)
	}
	if err := d.own(ctx, execution); err != nil {
		return nil, err
	}
	found, err := d.read().QuestionsOf(ctx, execution, ids)
	if err != nil {
		return nil, err
	}
	for _, q := range found {
		if q != nil && !q.Edited() {
			q.Details = nil // the worker that asked the question has its details
		}
	}
	return found, d.e.Questions.FillDecisions(ctx, execution, found)
}

func (d dispatch) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	ctx = store.ForOrg(ctx, d.org)
	return d.e.uploads.Put(ctx, d.org, owner, length, content)
}

func (d dispatch) GetBlob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error) {
	ctx = store.ForOrg(ctx, d.org)
	if err := d.own(ctx, execution); err != nil {
		return nil, err
	}
	return d.e.Store.Blob(ctx, execution, blob)
}

func (d dispatch) ServeContents(ctx context.Context, worker uuid.UUID, source perdure.ContentSource) error {
	ctx = store.ForOrg(ctx, d.org)
	return d.e.homes.Serve(ctx, d.org, worker, source)
}

// own checks that the execution belongs to the org, because the rows of its tasks, entries and
// contents have no org. Error: not_found.
func (d dispatch) own(ctx context.Context, id uuid.UUID) error {
	_, err := d.e.refs.Execution(ctx, d.org, id)
	return err
}
