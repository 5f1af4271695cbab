package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var rowTests = map[string]func(*fixture){
	"every field of an execution comes back":        executionFields,
	"every field of a waiting execution comes back": waitFields,
	"fields of an execution can be cleared":         executionCleared,
	"contents that are not given stay":              contentsStay,
	"every field of a task comes back":              taskFields,
	"every field of an entry comes back":            entryFields,
	"every field of a checkpoint comes back":        checkpointFields,
}

// wholeExecution returns an execution in which all fields are set that can be set at the same time.
func wholeExecution(id uuid.UUID) *perdure.Execution {
	return &perdure.Execution{
		ID: id, Org: org, Kind: "agent", Status: perdure.StatusFailed, PersistenceMode: perdure.Local,
		Input: json.RawMessage(`{"b": 2,  "a":"é"}`), Output: json.RawMessage(`[1.50]`), Error: ptr("broke"), ErrorCode: ptr(perdure.Internal),
		Queue: "local:x", Workspace: "w", CheckpointSeq: 3, Traceparent: "00-1-2-3", Metadata: json.RawMessage(`{"k": "v"}`),
		CreatedAt: milestone(1), UpdatedAt: milestone(2), StartedAt: ptr(milestone(3)), CompletedAt: ptr(milestone(4)), Version: 5,
		ResponseID: "resp_1", Fence: 6, LastCommit: perdure.CommitNumber{Fence: 6, Number: 7}, Answer: json.RawMessage(`{"ok":true}`),
		ReadyAt: milestone(5), NotBefore: milestone(6), WakeReason: perdure.WakeTimer, Crashes: 8, Panics: 9, Unfit: 11, CancelBy: milestone(7),
		CheckpointAt: milestone(8),
		NextSignal:   10, EntryCount: 11, RecordsSinceCheckpoint: 12, HomeID: ptr(uuid.UUID{7}), KeyID: ptr(uuid.UUID{8}), NeedsFeatures: perdure.FeatureContext,
		RecordedWaits: perdure.RecordedWaits{
			Dues:     []perdure.TimerDue{{Name: "sleep#1", At: milestone(8)}},
			Outcomes: []perdure.WaitOutcomes{{Name: "wait", Of: []int{0, perdure.NoOutcome, 2}}},
		},
	}
}

func (f *fixture) insert(x *perdure.Execution) {
	f.Helper()
	f.change(x.ID, func(s *store.State) *store.Changes {
		row := *x
		l := logAt(s, store.Head{Epoch: 1<<64 - 3})
		l.event(s, perdure.EventCreated)
		return &store.Changes{Execution: &row, Head: &l.head, Records: l.records}
	})
}

// sameExecution checks that a read returns the execution as it was written, and that a command gets
// the execution in the same form.
func (f *fixture) sameExecution(want *perdure.Execution) {
	f.Helper()
	w := *want
	w.MaxSeq = 1
	f.equal("the execution read", f.execution(want.ID), &w)
	state := f.look(want.ID, store.Needs{})
	w.Input, w.Output = nil, nil
	f.equal("the execution decided on", state.Execution, &w)
	f.equal("the head", state.Head, store.Head{LastSeq: 1, LastPos: 1, Epoch: 1<<64 - 3, Nonce: state.Head.Nonce})
}

func executionFields(f *fixture) {
	x := wholeExecution(uuid.New())
	f.insert(x)
	f.sameExecution(x)

	changed := *x
	changed.PersistenceMode, changed.Status, changed.Output = perdure.Remote, perdure.StatusCancelled, json.RawMessage(`"other"`)
	changed.HomeID, changed.NeedsFeatures = nil, 0
	changed.Error, changed.ErrorCode = ptr("more"), ptr(perdure.Conflict)
	changed.Queue, changed.Workspace, changed.CheckpointSeq, changed.Traceparent = "q2", "w2", 4, "t2"
	changed.Metadata, changed.UpdatedAt, changed.Version = json.RawMessage(`{}`), milestone(20), 6
	changed.StartedAt, changed.CompletedAt = ptr(milestone(30)), ptr(milestone(40))
	changed.ResponseID, changed.Fence, changed.Answer = "resp_2", 60, json.RawMessage(`{"ok":false}`)
	changed.LastCommit = perdure.CommitNumber{Fence: 60, Number: 1}
	changed.ReadyAt, changed.NotBefore, changed.WakeReason = milestone(50), milestone(60), perdure.WakeLost
	changed.RecordedWaits = perdure.RecordedWaits{Outcomes: []perdure.WaitOutcomes{{Name: "sleep", Of: []int{0}}}}
	changed.Crashes, changed.Panics, changed.Unfit, changed.CancelBy, changed.NextSignal, changed.EntryCount, changed.RecordsSinceCheckpoint = 80, 90, 120, milestone(70), 100, 110, 120
	changed.CheckpointAt = milestone(80)
	f.change(x.ID, func(*store.State) *store.Changes { return &store.Changes{Execution: &changed} })
	f.sameExecution(&changed)
}

func waitFields(f *fixture) {
	x := wholeExecution(uuid.New())
	x.Status, x.WaitReason, x.Error, x.ErrorCode, x.CompletedAt, x.Output = perdure.StatusWaiting, "task", nil, nil, nil, nil
	task := uuid.New()
	x.Wait = &perdure.Wait{All: []perdure.Wait{
		{Any: []perdure.Wait{{Signal: "a.*", Met: true}, {Timer: ptr(milestone(99))}}},
		{Task: &task, On: perdure.TaskSucceeded},
	}}
	f.insert(x)
	f.sameExecution(x)

	y := wholeExecution(uuid.New())
	y.Status, y.Error, y.ErrorCode, y.CompletedAt, y.Output = perdure.StatusRunning, nil, nil, nil, nil
	y.WorkerID, y.ClaimID, y.LeaseUntil, y.Embedded = y.HomeID, uuid.New(), milestone(9), true
	f.insert(y)
	f.sameExecution(y)
}

func executionCleared(f *fixture) {
	x := wholeExecution(uuid.New())
	f.insert(x)
	bare := &perdure.Execution{
		ID: x.ID, Org: org, Kind: x.Kind, Status: perdure.StatusPending, PersistenceMode: perdure.Remote,
		Queue: "q", CreatedAt: x.CreatedAt, ReadyAt: milestone(1), Version: 2,
	}
	f.change(x.ID, func(*store.State) *store.Changes { return &store.Changes{Execution: bare} })
	want := *bare
	want.Input, want.Output = x.Input, x.Output
	f.sameExecution(&want)
}

func contentsStay(f *fixture) {
	id := f.start()
	large := json.RawMessage(`"` + strings.Repeat("x", perdure.InlineLimit) + `"`)
	for _, output := range []json.RawMessage{json.RawMessage(`1`), large, json.RawMessage(`2`)} {
		f.change(id, func(s *store.State) *store.Changes {
			s.Execution.Output = output
			return &store.Changes{Execution: s.Execution}
		})
		f.change(id, func(s *store.State) *store.Changes {
			s.Execution.Version++
			return &store.Changes{Execution: s.Execution}
		})
		x := f.execution(id)
		f.equal("the output", string(x.Output), string(output))
		f.equal("the input", string(x.Input), `{"a":1}`)
		if x.OutputBlob != nil {
			f.Error("a loaded output still has a reference")
		}
	}
}

func wholeTask(execution uuid.UUID) *perdure.Task {
	return &perdure.Task{
		ID: uuid.New(), ExecutionID: execution, Org: org, Kind: "bash", Status: perdure.TaskFailed, Queue: "q", Attempt: 2, MaxAttempts: 3,
		Input: json.RawMessage(`{"c": 1}`), Result: json.RawMessage(`null`),
		Error:    &perdure.TaskError{Code: perdure.Unavailable, Message: "m", Permanent: true, RetryAfter: time.Second},
		Progress: json.RawMessage(`50`), WorkerID: ptr(uuid.New()), CreatedAt: milestone(1), StartedAt: ptr(milestone(2)), CompletedAt: ptr(milestone(3)),
		Key: "task:1", InputHash: sha256.Sum256([]byte("i")), ClaimID: uuid.New(), LeaseUntil: milestone(4), NotBefore: milestone(5), Embedded: true,
		Options: perdure.TaskOptions{
			Queue: "q", Instance: "i", Key: "k", MaxAttempts: 3, BackoffBase: time.Second, BackoffMax: time.Minute, ScheduleToClose: time.Hour,
			AttemptTimeout: 2 * time.Hour, HeartbeatTimeout: 3 * time.Hour, Priority: ptr(0), OnLost: perdure.OnLostReport,
			ConcurrencyKey: "c", ConcurrencyLimit: 2, KeyTTL: 4 * time.Hour, ReadsContext: true, Compacts: perdure.CompactionManual,
		},
		Uncounted: 6, Lost: 5, NeedsFeatures: perdure.FeatureContext, AttemptAt: milestone(6), SignAt: milestone(7),
		Step: true, Place: perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"},
	}
}

func (f *fixture) task(execution, id uuid.UUID) *perdure.Task {
	f.Helper()
	tasks, err := f.s.Tasks(f.ctx, execution, []uuid.UUID{id}, false)
	f.must(err)
	return tasks[0]
}

func (f *fixture) putTask(t *perdure.Task) {
	f.Helper()
	f.change(t.ExecutionID, func(*store.State) *store.Changes { return &store.Changes{Tasks: []*perdure.Task{t}} })
}

func taskFields(f *fixture) {
	id := f.start()
	whole := wholeTask(id)
	f.putTask(whole)
	f.equal("the task", f.task(id, whole.ID), whole)

	state := f.look(id, store.Needs{Tasks: []uuid.UUID{whole.ID, uuid.New()}})
	want := *whole
	want.Input, want.Result = nil, nil
	f.equal("the tasks decided on", state.Tasks, map[uuid.UUID]*perdure.Task{whole.ID: &want})

	// A write of a task without a result keeps the stored result, and replaces all other fields.
	bare := &perdure.Task{
		ID: whole.ID, ExecutionID: id, Org: org, Kind: "bash", Status: perdure.TaskPending, Queue: "q2", Key: "task:1",
		CreatedAt: whole.CreatedAt, InputHash: whole.InputHash,
	}
	f.putTask(bare)
	want = *bare
	want.Input, want.Result = whole.Input, whole.Result
	f.equal("the task changed", f.task(id, whole.ID), &want)
}

func entryFields(f *fixture) {
	id := f.start()
	root := perdure.Entry{
		ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleAssistant, TurnID: "t", ResponseID: "r", MessageID: "m",
		Content: json.RawMessage(`{"parts": [ ]}`), Metadata: json.RawMessage(`{"x": 1}`), CreatedAt: milestone(1),
		Key: "signal:1", Calls: []string{"a", "b"},
	}
	answer := perdure.Entry{
		ID: uuid.New(), ParentID: &root.ID, Type: perdure.EntryMessage, Role: perdure.RoleToolResult, Content: json.RawMessage(`{}`),
		CreatedAt: milestone(2), Answers: "a",
	}
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.Leaf = &answer.ID
		return &store.Changes{Execution: s.Execution, Entries: []store.Entry{{Entry: root, Open: []string{"a", "b"}}, {Entry: answer, Open: []string{"b"}}}}
	})
	for _, want := range []perdure.Entry{root, answer} {
		got, err := f.s.Entry(f.ctx, id, want.ID)
		f.must(err)
		f.equal("the entry", *got, want)
	}
	rootHead := perdure.EntryHead{
		ID: root.ID, Type: root.Type, Role: root.Role, Key: root.Key, Hash: sha256.Sum256(root.Content), Open: []string{"a", "b"}, ResponseID: root.ResponseID,
	}
	answerHead := perdure.EntryHead{
		ID: answer.ID, ParentID: &root.ID, Type: answer.Type, Role: answer.Role, Hash: sha256.Sum256(answer.Content), Open: []string{"b"}, ResponseID: answer.ResponseID,
	}
	state := f.look(id, store.Needs{Entries: []uuid.UUID{root.ID, answer.ID, uuid.New()}, EntryKeys: []string{"signal:1", "signal:2"}})
	f.equal("the heads", state.Entries, map[uuid.UUID]perdure.EntryHead{root.ID: rootHead, answer.ID: answerHead})
	f.equal("the heads by key", state.Keyed, map[string]perdure.EntryHead{"signal:1": rootHead})
	f.equal("the leaf", f.execution(id).Leaf, &answer.ID)
	_, err := f.s.Entry(f.ctx, id, uuid.New())
	f.wantCode(err, perdure.NotFound)
}

func checkpointFields(f *fixture) {
	id := f.start()
	_, err := f.s.Checkpoint(f.ctx, id, 0)
	f.wantCode(err, perdure.NotFound)
	entries := f.chain(id, 1)
	checkpoints := []*perdure.Checkpoint{
		{Sequence: 1, State: json.RawMessage(`{"n": 1}`), CreatedAt: milestone(1)},
		{Sequence: 2, State: json.RawMessage(`null`), LeafEntryID: &entries[0].ID, Metadata: json.RawMessage(`{"entry_count":1}`), CreatedAt: milestone(2)},
	}
	for _, c := range checkpoints {
		f.change(id, func(s *store.State) *store.Changes {
			s.Execution.CheckpointSeq = c.Sequence
			return &store.Changes{Execution: s.Execution, Checkpoint: c}
		})
	}
	for sequence, want := range map[int64]*perdure.Checkpoint{1: checkpoints[0], 2: checkpoints[1], 0: checkpoints[1]} {
		got, err := f.s.Checkpoint(f.ctx, id, sequence)
		f.must(err)
		f.equal("the checkpoint", got, want)
	}
	_, err = f.s.Checkpoint(f.ctx, id, 3)
	f.wantCode(err, perdure.NotFound)
}
