package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// commit sends the pending work and the outcome to the server. If the reply is lost, or the server
// cannot store the data now, commit sends the same data again until the lease expires. If the lease
// is lost, commit ends the goroutine. If the server refuses the commit for another reason, commit
// drops the pending work and returns the error.
func (r *run) commit(o perdure.Outcome) (perdure.CommitReply, error) {
	if r.over() {
		r.exit(context.Cause(r.Context))
	}
	c := r.pending
	c.Lease, c.Number, c.Outcome, c.Place = r.claim.Lease, r.number+1, o, r.place
	c.Offer, c.WaitChoices = r.w.offer(len(c.Tasks)), r.asks.chose
	defer func() { r.w.taskSlots.release(c.Offer.Slots) }()
	ctx, cancel := r.leaseContext()
	defer cancel()
	err := r.prepare(ctx, &c)
	var reply perdure.CommitReply
	var sent time.Duration
	if err == nil {
		err = r.w.called(r.spanned(ctx), "commit", func(ctx context.Context) error {
			return r.persist(ctx, func() error {
				sent = r.w.Clock()
				reply, err = r.w.Dispatch.Commit(ctx, c)
				return err
			})
		})
	}
	if err != nil {
		return reply, r.refused(err, c.Blocks)
	}
	r.committed(c, reply)
	for _, claim := range reply.Claims {
		c.Offer.Slots-- // the attempt of the claimed task now holds the slot
		r.w.dateTask(&claim, sent)
		r.w.startAttempt(r.live, claim)
	}
	if o.Kind == perdure.OutcomeContinue && r.w.isDraining() {
		r.exit(errShutdown) // the next claim of the execution resumes after this commit
	}
	return reply, nil
}

// leaseContext returns a context that ends when the lease is lost or the worker stops. It does not
// end when the execution is cancelled, because the outcome of a cancelled execution must be stored.
func (r *run) leaseContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(r.live)
	stop := context.AfterFunc(r.Context, func() {
		if r.over() && !errors.Is(context.Cause(r.Context), errShutdown) {
			cancel(context.Cause(r.Context))
		}
	})
	return ctx, func() { stop(); cancel(nil) }
}

// refused handles a commit that the server did not store, and returns the error that the agent's
// code gets. It does not return if the lease is lost. The parameter `ends` lists the blocks that
// the commit would have closed.
func (r *run) refused(err error, ends []perdure.BlockEnd) error {
	if perdure.IsCode(err, perdure.LeaseLost) || r.over() {
		r.exit(agent.ErrLeaseLost)
	}
	if perdure.IsCode(err, notStored) {
		// The worker releases the execution, because another worker may be able to store the
		// commit. The server makes the pause before the next claim longer after each such release.
		// If no worker succeeds, the execution fails with the message of err.
		r.log().Error("the server cannot store what this execution commits; it is given back", "error", err)
		r.w.Observer.notStored(false)
		r.release(perdure.AgentRelease{Unfit: failureOf(err).Message})
		r.exit(errNotStored)
	}
	r.forget()
	conflict := perdure.IsCode(err, perdure.Conflict)
	cancelled := conflict && r.cancelRequested()
	if cancelled || !conflict { // any other conflict means that the server lacks a part of a block
		r.stream.Leave(ends)
	}
	if cancelled {
		r.drop(agent.ErrCancelled)
		return agent.ErrCancelled
	}
	return err
}

// forget drops the pending work of the run, as if the agent had not asked for it. The agent may schedule
// the same tasks and steps again. Signals that the commit would have taken become pending again, and a
// delayed checkpoint is dropped.
func (r *run) forget() {
	for _, t := range r.pending.Tasks {
		delete(r.asked, perdure.TaskID(t.Key))
	}
	for _, s := range r.pending.Steps {
		delete(r.steps, s.Key)
		r.tasks.drop(perdure.TaskID(s.Key))
	}
	for _, q := range r.pending.Questions {
		delete(r.questionKeys, q.Key)
	}
	kept := len(r.taken) - len(r.pending.Take)
	r.signals = append(slices.Clone(r.taken[kept:]), r.signals...)
	r.takenBytes -= bytesOfSignals(r.taken[kept:])
	r.taken = r.taken[:kept]
	if r.before != nil { // a checkpoint was pending and is dropped
		r.asks, r.before = *r.before, nil
	}
	r.pending, r.entries = perdure.Commit{}, nil
	r.leaf = r.stored
}

// cancelRequested reports whether the execution is being cancelled. If no heartbeat has reported a
// cancel, cancelRequested asks the server.
func (r *run) cancelRequested() bool {
	r.mu.Lock()
	known := r.beat.CancelRequested
	r.mu.Unlock()
	if known {
		return true
	}
	x, err := r.w.Dispatch.Execution(r.live, r.id)
	return err == nil && x.Status == perdure.StatusCancelling
}

// prepare makes c ready to be sent: it flushes the stream, and uploads contents over InlineLimit as blobs,
// to which c then refers.
func (r *run) prepare(ctx context.Context, c *perdure.Commit) error {
	ends, err := r.stream.Flush(ctx)
	if err != nil {
		return err
	}
	c.Blocks = ends
	owner := perdure.BlobOwner{ExecutionID: r.ID(), Lease: &r.claim.Lease}
	for i := range c.Entries {
		p := perdure.Inline(c.Entries[i].Content)
		if err := r.w.upload(ctx, owner, &p, r.persist); err != nil {
			return err
		}
		c.Entries[i].Content, c.Entries[i].Blob = p.Bytes, p.Blob
	}
	for i := range c.Tasks {
		if err := r.w.upload(ctx, owner, &c.Tasks[i].Input, r.persist); err != nil {
			return err
		}
	}
	for i := range c.Steps {
		if err := r.w.upload(ctx, owner, &c.Steps[i].Result, r.persist); err != nil {
			return err
		}
	}
	for i := range c.Questions {
		p := perdure.Inline(c.Questions[i].Details)
		if err := r.w.upload(ctx, owner, &p, r.persist); err != nil {
			return err
		}
		c.Questions[i].Details, c.Questions[i].DetailsBlob = p.Bytes, p.Blob
	}
	if c.Checkpoint != nil {
		ckpt := *c.Checkpoint
		if err := r.w.upload(ctx, owner, &ckpt.State, r.persist); err != nil {
			return err
		}
		c.Checkpoint = &ckpt
	}
	return r.w.upload(ctx, owner, &c.Outcome.Output, r.persist)
}

// upload uploads the content of p as a blob if it is larger than InlineLimit, and replaces it in p
// by a reference to the blob. For LOCAL executions it uploads nothing, because the local store
// takes the content out of the commit. The function `persist` repeats the upload after temporary
// errors. Errors: payload_too_large over PayloadLimit, and those of `persist`.
func (w *Worker) upload(ctx context.Context, owner perdure.BlobOwner, p *perdure.Payload, persist func(context.Context, func() error) error) error {
	if len(p.Bytes) <= perdure.InlineLimit {
		return nil
	}
	if int64(len(p.Bytes)) > w.settings.PayloadLimit {
		return perdure.Errorf(perdure.PayloadTooLarge, "a payload has %d bytes; the limit is %d", len(p.Bytes), w.settings.PayloadLimit)
	}
	if w.localDispatch != nil && w.localDispatch.Keeps(owner.ExecutionID) {
		return nil // the local store takes the content with the commit
	}
	content := p.Bytes
	return persist(ctx, func() error {
		ref, err := w.Dispatch.PutBlob(ctx, owner, int64(len(content)), bytes.NewReader(content))
		if err == nil {
			p.Bytes, p.Blob = nil, &ref
		}
		return err
	})
}

// committed updates the run after the server has stored the commit c.
func (r *run) committed(c perdure.Commit, reply perdure.CommitReply) {
	r.number++
	// If the reply has Adopted entries, the server has used stored entries in place of some that
	// the agent appended.
	if len(reply.Adopted) == 0 {
		for i := range r.entries {
			r.entries[i].CreatedAt = reply.At
		}
		r.w.paths.add(r.ID(), r.entries)
	}
	state := r.pending.Checkpoint
	r.pending, r.entries = perdure.Commit{}, nil
	if r.leaf != nil {
		if stored, ok := reply.Adopted[*r.leaf]; ok {
			r.leaf = &stored
		}
	}
	r.stored = r.leaf
	r.asks.chose, r.before = nil, nil
	if state != nil {
		r.seq, r.state, r.version, r.ckptLeaf = reply.CheckpointSeq, state.State.Bytes, state.StateVersion, r.leaf
		r.taken, r.takenBytes = nil, 0
		r.since = &[]perdure.Entry{} // from now on, Append looks for duplicates only among entries since the checkpoint
	}
	r.countRecords(reply.RecordsSinceCheckpoint)
	r.learn(reply.Tasks)
	r.learnQuestions(reply.Questions)
	r.addSignals(reply.Signals)
}

// offer reserves task slots for a commit that schedules the given number of tasks. The reply to the
// commit can then contain claims of these tasks. The caller releases the slots that the reply does
// not use.
func (w *Worker) offer(tasks int) perdure.TaskOffer {
	if tasks == 0 || w.isDraining() || len(w.tasks) == 0 {
		return perdure.TaskOffer{}
	}
	n := w.taskSlots.try(min(tasks, w.taskSlots.offer()))
	return perdure.TaskOffer{WorkerID: w.ID, Kinds: kinds(w.tasks), Queues: w.Queues, Slots: n, Features: perdure.AllFeatures}
}

// Append implements agent.Context.
func (r *run) Append(m perdure.Message, opts ...agent.AppendOption) (uuid.UUID, error) {
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		return uuid.Nil, err
	}
	e.ParentID = r.leaf
	e.TurnID, e.ResponseID, e.MessageID = r.place.TurnID, r.place.ResponseID, r.place.MessageID
	if e.Role != perdure.RoleAssistant {
		// The message id in r.place belongs to the assistant's message that is being streamed, and
		// not to the message that is appended here.
		e.MessageID = ""
	}
	for _, opt := range opts {
		opt(&e)
	}
	switch {
	case e.Type == perdure.EntryLLMCall:
		e.Calls, e.Answers = nil, ""
		if e.MessageID == "" {
			e.MessageID = r.place.MessageID // the id of the message that contains the tool call
		}
	case e.MessageID == "":
		e.MessageID = e.ID.String()
	}
	if id, err := r.appendedBefore(e); err != nil || id != uuid.Nil {
		return id, err
	}
	// The content is checked here, so that Append itself returns the error to the agent.
	if err := perdure.CheckContent(e); err != nil {
		return uuid.Nil, err
	}
	r.pending.Entries = append(r.pending.Entries, perdure.NewEntry{Entry: e})
	if e.OnPath() {
		id := e.ID
		r.leaf = &id
		r.entries = append(r.entries, e)
	}
	return e.ID, nil
}

// Checkpoint implements agent.Context.
func (r *run) Checkpoint(state any, opts ...agent.CheckpointOption) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return perdure.FieldErrorf("state", "does not encode: %v", err)
	}
	settings := agent.CheckpointSettings{Reason: "checkpoint"}
	for _, opt := range opts {
		opt(&settings)
	}
	r.pending.Checkpoint = &perdure.NewCheckpoint{
		State: perdure.Inline(raw), Reason: settings.Reason, StateVersion: settings.Version,
		Traceparent: traceparent(r.spanned(context.Background())),
	}
	if r.before == nil {
		before := r.asks
		r.before = &before
	}
	r.asks = asks{count: map[string]int{}} // waits are numbered from the checkpoint
	if settings.WithNext {
		return nil
	}
	return r.Flush()
}

// Flush implements agent.Context.
func (r *run) Flush() error {
	if err := r.blocking("Flush"); err != nil {
		return err
	}
	_, err := r.commit(perdure.Outcome{})
	return err
}

// settle commits a delayed checkpoint, if there is one, before the agent takes a signal. A
// checkpoint consumes all signals that were taken before its commit. A checkpoint that is committed
// after the agent has taken the signal would consume the signal.
func (r *run) settle() error {
	if r.pending.Checkpoint == nil {
		return nil
	}
	return r.Flush()
}

// CheckpointSeq implements agent.Context.
func (r *run) CheckpointSeq() int64 { return r.seq }

// StateVersion implements agent.Context.
func (r *run) StateVersion() int { return r.version }

// State implements agent.Context.
func (r *run) State(v any) (bool, error) {
	if r.seq == 0 {
		return false, nil
	}
	if err := json.Unmarshal(r.state, v); err != nil {
		return true, perdure.FieldErrorf("state", "of checkpoint %d does not decode: %v", r.seq, err)
	}
	return true, nil
}
