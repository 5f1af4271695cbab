package rules

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// CommitAnswer is the reply to a commit, in the form in which it is stored with the execution: it
// has ids in place of tasks, questions and contents. If the commit is repeated, the reply is the
// same.
type CommitAnswer struct {
	// Claim is the id of the claim that made the commit. It must be the first field, because
	// LastCommit reads it without decoding the other fields.
	Claim      uuid.UUID               `json:"claim"`
	Ended      perdure.Status          `json:"ended,omitempty"`
	Suspended  bool                    `json:"suspended,omitempty"`
	Patterns   []string                `json:"patterns,omitempty"`
	Tasks      []uuid.UUID             `json:"tasks,omitempty"`
	Questions  []uuid.UUID             `json:"questions,omitempty"`
	Claims     []ClaimedTask           `json:"claims,omitempty"`
	Checkpoint int64                   `json:"checkpoint,omitempty"`
	Adopted    map[uuid.UUID]uuid.UUID `json:"adopted,omitempty"`
	At         perdure.Time            `json:"at"`
	Wait       *perdure.Wait           `json:"wait,omitempty"`
	// Again reports whether the commit was a repeat. The leases in Claims may then have ended.
	Again bool `json:"-"`
	// Holder is the worker that had the lease; uuid.Nil if the commit was a repeat.
	Holder uuid.UUID `json:"-"`
	// Records is the number of steps and tasks that were recorded since the newest checkpoint.
	Records int64 `json:"-"`
}

// CommitNeeds says which rows the engine must read into the store.State that it passes to Commit:
// the leaf of the conversation, and the rows that the commit names.
func CommitNeeds(x *perdure.Execution, cfg Config, c perdure.Commit) store.Needs {
	var n store.Needs
	if c.Outcome.Kind == perdure.OutcomeComplete || c.Outcome.Kind == perdure.OutcomeFail || c.Outcome.Kind == perdure.OutcomeCancelled {
		n = EndNeeds(x)
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
		n.Entries = append(n.Entries, compactionNeeds(e)...)
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
	questionNeeds(&n, c)
	clearanceNeeds(&n, c)
	cfg.limitNeeds(&n, x, c)
	return n
}

// Commit stores a worker's commit to an execution. The command's result is a CommitAnswer.
// If the commit is a repeat, the result is the stored CommitAnswer. Errors: not_found, lease_lost,
// conflict, invalid_argument, already_exists, idempotency_key_reused, payload_too_large,
// permission_denied.
func Commit(s *store.State, cfg Config, c perdure.Commit, refs CheckedRefs, judged JudgedTasks) (*store.Changes, error) {
	x := s.Execution
	if x == nil {
		return nil, noExecution(c.Lease.ExecutionID)
	}
	if repeat := x.LastCommit; repeat.Fence == c.Lease.Fence && repeat.Number == c.Number {
		return repeatedAnswer(x, c.Lease)
	}
	if err := checkTurn(x, c); err != nil {
		return nil, err
	}
	if err := cfg.checkLocalCommit(x, c); err != nil {
		return nil, err
	}
	d := begin(s)
	d.cfg, d.refs, d.judged = cfg, refs, judged
	d.eraseInput() // the worker has read the input before its first commit
	a := CommitAnswer{Claim: c.Lease.ClaimID, Adopted: map[uuid.UUID]uuid.UUID{}}
	if x.WorkerID != nil {
		a.Holder = *x.WorkerID
	}
	if err := d.apply(c, &a); err != nil {
		return nil, err
	}
	if err := d.outcome(c, &a); err != nil {
		return nil, err
	}
	a.Checkpoint, a.At, a.Records = x.CheckpointSeq, s.Now, x.RecordsSinceCheckpoint
	x.LastCommit = perdure.CommitNumber{Fence: c.Lease.Fence, Number: c.Number}
	var err error
	if x.Answer, err = json.Marshal(a); err != nil {
		return nil, err
	}
	return d.done(a), nil
}

// LastCommit returns the number of the execution's newest commit, and the id of the claim that made
// the commit.
func LastCommit(x *perdure.Execution) perdure.CommitNumber {
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

// answerClaim is the text with which each stored CommitAnswer begins; the claim id follows.
// LastCommit reads only this beginning, because the complete CommitAnswer may be large.
const answerClaim = `{"claim":"`

// AnswerPrefix returns the text with which the stored CommitAnswer of the commit n begins. If the
// claim id in n is unknown, it returns "".
func AnswerPrefix(n perdure.CommitNumber) string {
	if n.ClaimID == uuid.Nil {
		return ""
	}
	return answerClaim + n.ClaimID.String()
}

// repeatedAnswer returns the stored CommitAnswer of a repeated commit. It is called before the
// check of the fence, so that a worker whose lease has ended still gets the reply to its last
// commit. After a restore from a backup, a commit of another claim can have the same fence and
// number. Error: lease_lost, if the claim ids differ.
func repeatedAnswer(x *perdure.Execution, l perdure.Lease) (*store.Changes, error) {
	var a CommitAnswer
	if err := json.Unmarshal(x.Answer, &a); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a stored answer does not decode", Err: err}
	}
	if a.Claim != l.ClaimID {
		return nil, leaseLost(x.ID)
	}
	a.Again, a.Records = true, x.RecordsSinceCheckpoint
	return Answer(a), nil
}

// checkTurn checks that the commit may be stored now: its lease is valid, and its number is the
// next one. If the execution is CANCELLING, the commit must end it.
func checkTurn(x *perdure.Execution, c perdure.Commit) error {
	if !HeldBy(x, c.Lease) {
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

// apply writes everything but the outcome of a commit, in a fixed order: the ends of blocks; taken
// signals; entries; steps; the answers that the home worker has stored; questions; new tasks;
// cancelled tasks; events; the checkpoint.
func (d *draft) apply(c perdure.Commit, a *CommitAnswer) error {
	if err := d.endBlocks(c.Blocks); err != nil {
		return err
	}
	if err := d.take(c.Take); err != nil {
		return err
	}
	if err := d.appendAll(c.Entries, a); err != nil {
		return err
	}
	d.recordAskers(c.Take)
	for _, s := range c.Steps {
		if err := d.step(s); err != nil {
			return err
		}
	}
	if err := d.decisionsStored(c.Decisions); err != nil {
		return err
	}
	if err := d.ask(c, a); err != nil {
		return err
	}
	for at := range c.Tasks {
		if err := d.schedule(at, c, a); err != nil {
			return err
		}
	}
	for _, id := range c.CancelTask {
		if err := d.cancelOne(id, slices.Contains(c.StopTask, id)); err != nil {
			return err
		}
	}
	for _, ev := range c.Events {
		d.emit(perdure.Record{Type: ev.Type, Place: d.placed(ev.Place), Fields: ev.Fields})
	}
	if err := d.checkpoint(c.Checkpoint); err != nil {
		return err
	}
	for _, choice := range c.WaitChoices { // choices are counted since the checkpoint
		d.x.RecordedWaits = d.x.RecordedWaits.With(choice)
	}
	return nil
}

// take marks signals as taken. A signal may be taken already, because an agent that was entered
// again may take it again. Error: invalid_argument, if there is no such signal.
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

// step records the outcome of a step as an ended task. If a step with the same key is stored
// already, nothing changes.
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
	if !d.local() { // the text may be content
		t.Options.Instance = s.Instance
	}
	if s.Error != nil {
		t.Status = perdure.TaskFailed
	}
	d.task(t)
	d.x.RecordsSinceCheckpoint++
	return nil
}

// checkpoint writes a checkpoint, and consumes the signals that the execution has taken.
func (d *draft) checkpoint(c *perdure.NewCheckpoint) error {
	if c == nil {
		return nil
	}
	if err := d.useContent(c.State.Blob, uuid.Nil); err != nil {
		return err
	}
	d.x.CheckpointSeq++
	d.x.CheckpointAt, d.x.RecordsSinceCheckpoint = d.s.Now, 0
	d.x.RecordedWaits = perdure.RecordedWaits{} // the scores of the crash guard are not reset
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

// traceparentLength is the length of a W3C traceparent of version 00. Longer ones are not stored.
const traceparentLength = 55
