package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// commit writes an agent's work since its last commit in one transaction.
func (e *Engine) commit(ctx context.Context, org string, c perdure.Commit) (perdure.CommitReply, error) {
	if err := e.checkCommit(c); err != nil {
		return perdure.CommitReply{}, err
	}
	if err := e.checkSizes(c); err != nil {
		return perdure.CommitReply{}, err
	}
	refs, err := e.checkContents(ctx, org, c.Lease.ExecutionID, contentsOf(c))
	if err != nil {
		return perdure.CommitReply{}, err
	}
	d, err := e.oneShown(ctx, store.Command{
		Name: "commit", Lane: store.LaneCommits, Org: org, Execution: c.Lease.ExecutionID, Bytes: sizeOf(c),
		Needs: func(x *perdure.Execution) store.Needs {
			n := commitNeeds(x, c)
			e.limitNeeds(&n, x, c)
			return n
		},
		Decide: func(s *store.State) (*store.Changes, error) { return e.decideCommit(s, c, refs) },
	})
	if err != nil {
		return perdure.CommitReply{}, err
	}
	answer := d.value.(commitAnswer)
	if answer.Suspended && c.Keeps != nil && c.Keeps.WorkerID == answer.holder {
		e.parked.keeps(c.Lease.ExecutionID, *c.Keeps, e.Store.Now())
	}
	reply, err := e.commitReply(ctx, c, answer)
	return reply, perdure.Unanswered(err)
}

// commitAnswer is the answer to a commit, with ids instead of contents. It is stored with the
// execution, so that a repeat of the commit gets the same answer.
type commitAnswer struct {
	// Claim is the first field: lastCommit reads it without decoding the rest.
	Claim      uuid.UUID               `json:"claim"`
	Ended      perdure.Status          `json:"ended,omitempty"`
	Suspended  bool                    `json:"suspended,omitempty"`
	Patterns   []string                `json:"patterns,omitempty"`
	Tasks      []uuid.UUID             `json:"tasks,omitempty"`
	Claims     []claimedTask           `json:"claims,omitempty"`
	Checkpoint int64                   `json:"checkpoint,omitempty"`
	Adopted    map[uuid.UUID]uuid.UUID `json:"adopted,omitempty"`
	At         perdure.Time            `json:"at"`
	Wait       *perdure.Wait           `json:"wait,omitempty"`
	// again reports that this answers a repeat of the commit: the claims in it may be lost by now.
	again bool

	holder uuid.UUID // the worker that had the lease; Nil in a repeated answer
}

func (e *Engine) commitReply(ctx context.Context, c perdure.Commit, a commitAnswer) (perdure.CommitReply, error) {
	r := perdure.CommitReply{Ended: a.Ended, Suspended: a.Suspended, CheckpointSeq: a.Checkpoint, Adopted: a.Adopted, At: a.At, Wait: a.Wait}
	execution := c.Lease.ExecutionID
	var err error
	if len(a.Patterns) > 0 {
		if r.Signals, _, err = pendingSignals(ctx, e.refs, execution, a.Patterns, 0); err != nil {
			return r, err
		}
	}
	if r.Tasks, err = tasksOf(ctx, e.refs, execution, a.Tasks); err != nil {
		return r, err
	}
	for _, claimed := range a.Claims {
		take := e.taskClaim
		if a.again {
			take = e.heldClaim
		}
		claim, err := take(ctx, claimed)
		if err != nil {
			return r, err
		}
		if claim != nil {
			r.Claims = append(r.Claims, *claim)
		}
	}
	return r, nil
}

// commitNeeds returns the state that a commit is decided on: the leaf, and the rows that the commit
// names.
func commitNeeds(x *perdure.Execution, c perdure.Commit) store.Needs {
	var n store.Needs
	if c.Outcome.Kind == perdure.OutcomeComplete || c.Outcome.Kind == perdure.OutcomeFail || c.Outcome.Kind == perdure.OutcomeCancelled {
		n = endNeeds(x)
	} else if x != nil && x.Leaf != nil {
		n.Entries = append(n.Entries, *x.Leaf)
	}
	blob := func(p *perdure.BlobRef) {
		if p != nil {
			n.Blobs = append(n.Blobs, p.ID)
		}
	}
	for _, e := range c.Entries {
		n.Entries = append(n.Entries, e.ID)
		if e.ParentID != nil {
			n.Entries = append(n.Entries, *e.ParentID)
		}
		if e.Key != "" {
			n.EntryKeys = append(n.EntryKeys, e.Key)
		}
		blob(e.Blob)
	}
	for _, t := range c.Tasks {
		n.Tasks = append(n.Tasks, perdure.TaskID(t.Key))
		blob(t.Input.Blob)
	}
	for _, s := range c.Steps {
		n.Tasks = append(n.Tasks, perdure.TaskID(s.Key))
		blob(s.Result.Blob)
	}
	n.Tasks = append(n.Tasks, c.CancelTask...)
	n.SignalIDs = c.Take
	if c.Checkpoint != nil {
		blob(c.Checkpoint.State.Blob)
	}
	blob(c.Outcome.Output.Blob)
	if c.Outcome.Wait != nil {
		n.Tasks = append(n.Tasks, c.Outcome.Wait.Tasks()...)
		n.Patterns = c.Outcome.Wait.Signals()
	}
	n.Patterns = append(n.Patterns, c.Outcome.Unless...)
	for _, b := range c.Blocks {
		n.Blocks = append(n.Blocks, b.Key)
	}
	n.TaskBlocks = c.CancelTask
	n.Blobs = append(n.Blobs, inputBlobs(x)...)
	return n
}

// decideCommit decides a commit. It returns the stored answer if the commit is a repeat.
func (e *Engine) decideCommit(s *store.State, c perdure.Commit, refs checkedRefs) (*store.Changes, error) {
	x := s.Execution
	if x == nil {
		return nil, notFound(c.Lease.ExecutionID)
	}
	if repeat := x.LastCommit; repeat.Fence == c.Lease.Fence && repeat.Number == c.Number {
		return repeatedAnswer(x, c.Lease)
	}
	if err := checkTurn(x, c); err != nil {
		return nil, err
	}
	if err := e.checkKept(x, c); err != nil {
		return nil, err
	}
	d := begin(s)
	d.refs = refs
	d.eraseInput() // the worker of a commit has the input
	a := commitAnswer{Claim: c.Lease.ClaimID, Adopted: map[uuid.UUID]uuid.UUID{}}
	if x.WorkerID != nil {
		a.holder = *x.WorkerID
	}
	if err := e.apply(d, c, &a); err != nil {
		return nil, err
	}
	if err := d.outcome(c, &a); err != nil {
		return nil, err
	}
	a.Checkpoint, a.At = x.CheckpointSeq, s.Now
	x.LastCommit = perdure.CommitNumber{Fence: c.Lease.Fence, Number: c.Number}
	var err error
	if x.Answer, err = json.Marshal(a); err != nil {
		return nil, err
	}
	return d.done(a), nil
}

// lastCommit returns the number of the execution's newest commit, with the id of its claim.
func lastCommit(x *perdure.Execution) perdure.CommitNumber {
	n := x.LastCommit
	if n == (perdure.CommitNumber{}) {
		return n
	}
	const length = len(answerClaim) + 36
	if a := string(x.Answer[:min(len(x.Answer), length)]); len(a) == length && a[:len(answerClaim)] == answerClaim {
		n.ClaimID, _ = uuid.Parse(a[len(answerClaim):]) // uuid.Nil matches any claim
	}
	return n
}

// answerClaim is the prefix of a stored commit's answer, before the claim id. The rest may be
// large.
const answerClaim = `{"claim":"`

// answerBegins returns the first bytes of the answer to a commit. It returns "", which matches any
// answer, if the claim id is unknown.
func answerBegins(n perdure.CommitNumber) string {
	if n.ClaimID == uuid.Nil {
		return ""
	}
	return answerClaim + n.ClaimID.String()
}

// repeatedAnswer returns the stored answer to the same commit. It is called before the fence is
// checked, so that a worker whose lease has ended still learns the outcome of its last commit. The
// claim id distinguishes the commit from one of another claim with the same fence, as after a
// restore. Error: lease_lost, if the claim ids differ.
func repeatedAnswer(x *perdure.Execution, l perdure.Lease) (*store.Changes, error) {
	var a commitAnswer
	if err := json.Unmarshal(x.Answer, &a); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a stored answer does not decode", Err: err}
	}
	if a.Claim != l.ClaimID {
		return nil, leaseLost(x.ID)
	}
	a.again = true
	return answerOf(a), nil
}

// checkTurn checks the commit's lease and number. A cancelling execution accepts only a commit that
// ends it.
func checkTurn(x *perdure.Execution, c perdure.Commit) error {
	if !heldBy(x, c.Lease) {
		return leaseLost(x.ID)
	}
	want := int64(1)
	if x.LastCommit.Fence == c.Lease.Fence {
		want = x.LastCommit.Number + 1
	}
	if c.Number != want {
		return perdure.FieldErrorf("number", "the next commit of this claim is %d, not %d", want, c.Number)
	}
	ends := c.Outcome.Kind != perdure.OutcomeContinue && c.Outcome.Kind != perdure.OutcomeSuspend
	if x.Status == perdure.StatusCancelling && !ends {
		return perdure.Errorf(perdure.Conflict, "execution %s is being cancelled and takes nothing but its end", x.ID)
	}
	return nil
}

// apply writes everything but the outcome, in a fixed order: readers see a commit's entries, then
// its tasks, then the results.
func (e *Engine) apply(d *draft, c perdure.Commit, a *commitAnswer) error {
	if err := d.endBlocks(c.Blocks); err != nil {
		return err
	}
	if err := d.take(c.Take); err != nil {
		return err
	}
	if err := d.appendAll(c.Entries, a); err != nil {
		return err
	}
	for _, s := range c.Steps {
		if err := d.step(s); err != nil {
			return err
		}
	}
	for _, t := range c.Tasks {
		if err := e.schedule(d, t, c, a); err != nil {
			return err
		}
	}
	for _, id := range c.CancelTask {
		if err := d.cancelOne(id); err != nil {
			return err
		}
	}
	for _, ev := range c.Events {
		d.emit(perdure.Record{Type: ev.Type, Place: d.placed(ev.Place), Fields: ev.Fields})
	}
	if err := d.checkpoint(c.Checkpoint); err != nil {
		return err
	}
	for _, choice := range c.Chose { // counted since the checkpoint
		d.x.Asked = d.x.Asked.With(choice)
	}
	return nil
}

// appendAll appends entries. An entry whose key is stored is replaced with the stored entry, also
// as the parent of later entries.
func (d *draft) appendAll(entries []perdure.NewEntry, a *commitAnswer) error {
	for _, e := range entries {
		if e.ParentID != nil {
			if stored, ok := a.Adopted[*e.ParentID]; ok {
				e.ParentID = &stored
			}
		}
		if known, ok := d.s.Keyed[e.Key]; ok && e.Key != "" {
			if known.ID == e.ID {
				if err := d.repeated(e, known); err != nil {
					return err
				}
				continue
			}
			a.Adopted[e.ID] = known.ID
			d.s.Entries[known.ID] = known // the next entry may have it as its parent
			continue
		}
		if err := d.append(e); err != nil {
			return err
		}
	}
	return nil
}

// take marks signals as taken. An agent that was entered again may take the same signal again; that
// changes nothing.
func (d *draft) take(ids []string) error {
	for _, id := range ids {
		s, ok := d.s.Signals[id]
		if !ok {
			return perdure.FieldErrorf("take", "there is no signal %q", id)
		}
		if s.State == perdure.SignalPending {
			s.State = perdure.SignalTaken
			d.c.Take = append(d.c.Take, id)
		}
	}
	return nil
}

// step records the outcome of a step as an ended task.
func (d *draft) step(s perdure.StepRecord) error {
	id := perdure.TaskID(s.Key)
	if _, known := d.s.Tasks[id]; known {
		return nil
	}
	if err := d.useContent(s.Result.Blob, uuid.Nil); err != nil {
		return err
	}
	now := d.s.Now
	t := &perdure.Task{
		ID: id, ExecutionID: d.x.ID, Org: d.x.Org, Kind: s.Name, Step: true, Status: perdure.TaskCompleted,
		Queue: d.x.Queue, Attempt: 1, MaxAttempts: 1, Key: s.Key, Error: d.quiet(s.Error),
		Result: s.Result.Bytes, ResultBlob: s.Result.Blob, CreatedAt: now, StartedAt: &now, CompletedAt: &now,
	}
	if s.Error != nil {
		t.Status = perdure.TaskFailed
	}
	d.task(t)
	d.x.RecordsSinceCheckpoint++
	return nil
}

// checkpoint writes a checkpoint. It consumes the taken signals.
func (d *draft) checkpoint(c *perdure.NewCheckpoint) error {
	if c == nil {
		return nil
	}
	if err := d.useContent(c.State.Blob, uuid.Nil); err != nil {
		return err
	}
	d.x.CheckpointSeq++
	d.x.CheckpointAt, d.x.RecordsSinceCheckpoint = d.s.Now, 0
	d.x.Asked = perdure.Asked{} // the scores of the crash guard are not reset
	state := c.State.Bytes
	if state == nil && c.State.Blob == nil {
		state = json.RawMessage("null")
	}
	metadata := map[string]any{"checkpoint_reason": c.Reason, "entry_count": d.x.EntryCount}
	if c.StateVersion != 0 {
		metadata["state_version"] = c.StateVersion
	}
	if c.Traceparent != "" && len(c.Traceparent) <= traceparentLength {
		metadata["traceparent"] = c.Traceparent
	}
	d.c.Checkpoint = &perdure.Checkpoint{
		Sequence: d.x.CheckpointSeq, LeafEntryID: d.x.Leaf, State: state, Blob: c.State.Blob, CreatedAt: d.s.Now,
		Metadata: fields(metadata),
	}
	d.c.ConsumeTaken = true
	d.event(perdure.EventCheckpoint, d.here(), map[string]any{"sequence": d.x.CheckpointSeq})
	return nil
}

// endBlocks closes blocks at the lengths that their source reports. Error: conflict, if the stored
// length differs; the source then sends the rest.
func (d *draft) endBlocks(ends []perdure.BlockEnd) error {
	for _, end := range ends {
		b, ok := d.s.Blocks[end.Key]
		held := int64(0)
		if ok {
			held = b.Length
		}
		if ok && !b.Open {
			continue
		}
		if held != end.Length {
			return perdure.Errorf(perdure.Conflict, "block %d of this source has %d bytes here, not %d; send the rest", end.Key.Block, held, end.Length)
		}
		if ok {
			if err := d.closeBlock(b, perdure.BlockDone); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizeOf returns the approximate number of content bytes of a commit.
func sizeOf(c perdure.Commit) int {
	size := 0
	for _, e := range c.Entries {
		size += len(e.Content)
	}
	for _, t := range c.Tasks {
		size += len(t.Input.Bytes)
	}
	for _, s := range c.Steps {
		size += len(s.Result.Bytes)
	}
	return size + len(c.Outcome.Output.Bytes)
}

var outcomes = map[perdure.OutcomeKind]bool{
	perdure.OutcomeContinue: true, perdure.OutcomeSuspend: true, perdure.OutcomeComplete: true,
	perdure.OutcomeFail: true, perdure.OutcomeCancelled: true,
}

// emitted are the types of the events that agent code and task code may emit.
var emitted = map[perdure.EventType]bool{perdure.EventData: true, perdure.EventError: true}

// checkCommit checks the parts of a commit that need no stored state.
func (e *Engine) checkCommit(c perdure.Commit) error {
	if err := checkTexts("", c); err != nil {
		return err
	}
	if err := perdure.CheckPollSize(len(c.Eager.Queues), len(c.Eager.Kinds)); err != nil {
		return err
	}
	if !outcomes[c.Outcome.Kind] {
		return perdure.FieldErrorf("outcome.kind", "%q is not an outcome; use one of %v", c.Outcome.Kind, slices.Sorted(maps.Keys(outcomes)))
	}
	if c.Outcome.Kind == perdure.OutcomeSuspend {
		if c.Outcome.Wait == nil {
			return perdure.FieldErrorf("outcome.wait", "a suspend needs a wait")
		}
		if err := c.Outcome.Wait.Check(); err != nil {
			return err
		}
	}
	for _, choice := range c.Chose {
		if err := choice.Check(); err != nil {
			return err
		}
	}
	for _, ev := range c.Events {
		if !emitted[ev.Type] {
			return perdure.FieldErrorf("events.type", "%q is not an event that an agent may emit", ev.Type)
		}
	}
	for _, n := range c.Entries {
		if err := checkJSON("entries."+n.ID.String()+".metadata", n.Metadata); err != nil {
			return err
		}
	}
	for i, ev := range c.Events {
		if err := checkJSON(fmt.Sprintf("events[%d].fields", i), ev.Fields); err != nil {
			return err
		}
	}
	for i, t := range c.Tasks {
		if t.Kind == "" || t.Key == "" {
			return perdure.FieldErrorf("tasks.kind", "a task needs a kind and a key")
		}
		if err := t.Options.Check(fmt.Sprintf("tasks[%d].options", i)); err != nil {
			return err
		}
	}
	return nil
}
