package pbconv

import (
	"encoding/json"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// ExecutionToProto converts an execution to its message; nil is converted to nil. It omits the fields
// that only the server uses: Answer, NextSignal, ReadyAt, NotBefore, CancelBy and CheckpointAt.
func ExecutionToProto(x *perdure.Execution) *perdurev1.Execution {
	if x == nil {
		return nil
	}
	m := &perdurev1.Execution{
		Id: UUIDToProto(x.ID), Kind: x.Kind, Status: statuses.to[x.Status],
		WaitReason: x.WaitReason, Wait: waitToProto(x.Wait),
		PersistenceMode:   persistenceModes.to[x.PersistenceMode],
		AgentDefinitionId: idPtrToProto(x.DefinitionID),
		Input:             ContentToProto(x.Input, x.InputBlob),
		Output:            ContentToProto(x.Output, x.OutputBlob),
		Error:             textPtr(x.Error),
		Queue:             x.Queue, Workspace: x.Workspace,
		CurrentCheckpointSeq: x.CheckpointSeq, MaxSeq: x.MaxSeq,
		WorkerId: idPtrToProto(x.WorkerID), Traceparent: x.Traceparent, Metadata: x.Metadata,
		CreatedAt: timeToProto(x.CreatedAt), UpdatedAt: timeToProto(x.UpdatedAt),
		StartedAt: timePtrToProto(x.StartedAt), CompletedAt: timePtrToProto(x.CompletedAt),
		Version: x.Version, Org: x.Org, LeafEntryId: idPtrToProto(x.Leaf), ResponseId: x.ResponseID,
		Fence: x.Fence, ClaimId: UUIDToProto(x.ClaimID), LeaseUntil: timeToProto(x.LeaseUntil),
		Embedded: x.Embedded, LastCommit: commitNumberToProto(x.LastCommit),
		Woke: wokes.to[x.WakeReason], Crashes: int64(x.Crashes), Panics: int64(x.Panics), Unfit: int64(x.Unfit),
		EntryCount: x.EntryCount, Asked: askedToProto(x.RecordedWaits), HomeWorkerId: idPtrToProto(x.HomeID), Away: awayToProto(x.Away),
		RecordsSinceCheckpoint: x.RecordsSinceCheckpoint, OpenQuestions: int64(x.OpenQuestions), Gate: gateToProto(x.Gate),
	}
	m.ErrorCode, m.OtherErrorCode = codePtrToProto(x.ErrorCode)
	return m
}

// ExecutionFromProto converts an execution from its message; nil is converted to nil. Errors:
// invalid_argument.
func ExecutionFromProto(m *perdurev1.Execution) (*perdure.Execution, error) {
	return decode(m, (*decoder).execution)
}

func (d *decoder) execution(m *perdurev1.Execution) *perdure.Execution {
	if m == nil {
		return nil
	}
	x := &perdure.Execution{
		ID: d.id("execution.id", m.GetId()), Kind: m.GetKind(),
		Status:     read(d, statuses, "execution.status", m.GetStatus()),
		WaitReason: m.GetWaitReason(), Wait: d.wait(m.GetWait()),
		PersistenceMode: read(d, persistenceModes, "execution.persistence_mode", m.GetPersistenceMode()),
		DefinitionID:    d.idPtr("execution.agent_definition_id", m.AgentDefinitionId),
		Error:           m.Error,
		ErrorCode:       d.codePtr("execution.error_code", m.GetErrorCode(), m.OtherErrorCode),
		Queue:           m.GetQueue(), Workspace: m.GetWorkspace(),
		CheckpointSeq: m.GetCurrentCheckpointSeq(), MaxSeq: m.GetMaxSeq(),
		WorkerID: d.idPtr("execution.worker_id", m.WorkerId), Traceparent: m.GetTraceparent(),
		Metadata:  raw(m.Metadata),
		CreatedAt: d.time("execution.created_at", m.GetCreatedAt()), UpdatedAt: d.time("execution.updated_at", m.GetUpdatedAt()),
		StartedAt: d.timePtr("execution.started_at", m.GetStartedAt()), CompletedAt: d.timePtr("execution.completed_at", m.GetCompletedAt()),
		Version: m.GetVersion(), Org: m.GetOrg(), Leaf: d.idPtr("execution.leaf_entry_id", m.LeafEntryId),
		ResponseID: m.GetResponseId(), Fence: m.GetFence(), ClaimID: d.id("execution.claim_id", m.GetClaimId()),
		LeaseUntil: d.time("execution.lease_until", m.GetLeaseUntil()), Embedded: m.GetEmbedded(),
		LastCommit: d.commitNumber("execution.last_commit.claim_id", m.GetLastCommit()), WakeReason: read(d, wokes, "execution.woke", m.GetWoke()),
		Crashes: int(m.GetCrashes()), Panics: int(m.GetPanics()), Unfit: int(m.GetUnfit()), EntryCount: m.GetEntryCount(), RecordsSinceCheckpoint: m.GetRecordsSinceCheckpoint(),
		RecordedWaits: d.asked(m.GetAsked()), HomeID: d.idPtr("execution.home_worker_id", m.HomeWorkerId), Away: d.away(m.GetAway()),
		OpenQuestions: int(m.GetOpenQuestions()), Gate: d.gate(m.Gate),
	}
	x.Input, x.InputBlob = d.content("execution.input", m.GetInput())
	x.Output, x.OutputBlob = d.content("execution.output", m.GetOutput())
	return x
}

// gateToProto returns a gate as JSON; nil for a nil gate. A gate is the part of an execution's
// approval policies that the server checks.
func gateToProto(g *perdure.Gate) []byte {
	if g == nil {
		return nil
	}
	raw, err := json.Marshal(g)
	if err != nil { // unreachable: its schemas were decoded from JSON
		panic("pbconv: a gate does not encode: " + err.Error())
	}
	return raw
}

func (d *decoder) gate(raw []byte) *perdure.Gate {
	if raw == nil {
		return nil
	}
	g := new(perdure.Gate)
	if err := json.Unmarshal(raw, g); err != nil {
		d.fail("execution.gate", "does not decode: %v", err)
		return nil
	}
	return g
}

func awayToProto(a *perdure.WorkerAway) *perdurev1.WorkerAway {
	if a == nil {
		return nil
	}
	return &perdurev1.WorkerAway{WorkerId: UUIDToProto(a.WorkerID), Since: timePtrToProto(a.Since)}
}

func (d *decoder) away(m *perdurev1.WorkerAway) *perdure.WorkerAway {
	if m == nil {
		return nil
	}
	return &perdure.WorkerAway{
		WorkerID: d.id("execution.away.worker_id", m.GetWorkerId()), Since: d.timePtr("execution.away.since", m.GetSince()),
	}
}

// CheckpointToProto converts a checkpoint to its message; nil is converted to nil.
func CheckpointToProto(c *perdure.Checkpoint) *perdurev1.Checkpoint {
	if c == nil {
		return nil
	}
	return &perdurev1.Checkpoint{
		Sequence: c.Sequence, LeafEntryId: idPtrToProto(c.LeafEntryID),
		State: ContentToProto(c.State, c.Blob), Metadata: c.Metadata, CreatedAt: timeToProto(c.CreatedAt),
	}
}

// CheckpointFromProto converts a checkpoint from its message; nil is converted to nil. Errors:
// invalid_argument.
func CheckpointFromProto(m *perdurev1.Checkpoint) (*perdure.Checkpoint, error) {
	return decode(m, (*decoder).checkpoint)
}

func (d *decoder) checkpoint(m *perdurev1.Checkpoint) *perdure.Checkpoint {
	if m == nil {
		return nil
	}
	c := &perdure.Checkpoint{
		Sequence: m.GetSequence(), LeafEntryID: d.idPtr("checkpoint.leaf_entry_id", m.LeafEntryId),
		Metadata: raw(m.Metadata), CreatedAt: d.time("checkpoint.created_at", m.GetCreatedAt()),
	}
	c.State, c.Blob = d.content("checkpoint.state", m.GetState())
	return c
}

func commitNumberToProto(n perdure.CommitNumber) *perdurev1.CommitNumber {
	if n == (perdure.CommitNumber{}) {
		return nil
	}
	return &perdurev1.CommitNumber{Fence: n.Fence, Number: n.Number, ClaimId: UUIDToProto(n.ClaimID)}
}

func (d *decoder) commitNumber(field string, m *perdurev1.CommitNumber) perdure.CommitNumber {
	return perdure.CommitNumber{Fence: m.GetFence(), Number: m.GetNumber(), ClaimID: d.id(field, m.GetClaimId())}
}

func waitToProto(w *perdure.Wait) *perdurev1.Wait {
	if w == nil {
		return nil
	}
	return &perdurev1.Wait{
		Any: waitsToProto(w.Any), All: waitsToProto(w.All), Signal: w.Signal,
		Task: idPtrToProto(w.Task), On: taskConditions.to[w.On], Timer: timePtrToProto(w.Timer), Met: w.Met,
		After: durationToProto(w.After), Name: w.Name, Question: idPtrToProto(w.Question),
	}
}

// waitsToProto converts a list of waits to its message. An empty list and nil remain different, because
// an empty All is a wait that is met.
func waitsToProto(waits []perdure.Wait) *perdurev1.WaitList {
	if waits == nil {
		return nil
	}
	return &perdurev1.WaitList{Waits: each(waits, func(w perdure.Wait) *perdurev1.Wait { return waitToProto(&w) })}
}

// WaitFromProto converts a wait from its message; nil is converted to nil. It does not check that the
// wait is valid; the engine does. Errors: invalid_argument.
func WaitFromProto(m *perdurev1.Wait) (*perdure.Wait, error) { return decode(m, (*decoder).wait) }

func (d *decoder) wait(m *perdurev1.Wait) *perdure.Wait {
	if m == nil {
		return nil
	}
	return &perdure.Wait{
		Any: d.waits(m.GetAny()), All: d.waits(m.GetAll()), Signal: m.GetSignal(),
		Task: d.idPtr("wait.task", m.Task), On: read(d, taskConditions, "wait.on", m.GetOn()),
		Timer: d.timePtr("wait.timer", m.GetTimer()), Met: m.GetMet(),
		After: d.duration("wait.after", m.GetAfter()), Name: m.GetName(), Question: d.idPtr("wait.question", m.Question),
	}
}

func (d *decoder) waits(m *perdurev1.WaitList) []perdure.Wait {
	if m == nil {
		return nil
	}
	waits := make([]perdure.Wait, len(m.GetWaits()))
	for i, child := range m.GetWaits() {
		if w := d.wait(child); w != nil {
			waits[i] = *w
		}
	}
	return waits
}

// StatusToProto converts the status of an execution to its proto enum.
func StatusToProto(s perdure.Status) perdurev1.ExecutionStatus { return statuses.to[s] }
