package load

import (
	"database/sql"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/row"
)

// TestRowsScanWhatTheyWrite checks that a row that is scanned from the column values of another row
// has the same column values.
func TestRowsScanWhatTheyWrite(t *testing.T) {
	id, at, text, code := uuid.New(), perdure.AtMilli(1_700_000_000_123), "text", perdure.Conflict
	ref := &perdure.BlobRef{ID: uuid.New()}
	hash := perdure.Hash{1, 2, 3}
	scansWhatItWrites(t, &ExecutionRows, &perdure.Execution{
		ID: id, Org: "o", DefinitionID: &id, Kind: "k", PersistenceMode: perdure.Local, Status: perdure.StatusWaiting, WaitReason: "task",
		Wait: &perdure.Wait{Task: &id}, Error: &text, ErrorCode: &code, Queue: "q", Workspace: "w", CheckpointSeq: 1, WorkerID: &id,
		Traceparent: "t", Metadata: json.RawMessage(`{"a":1}`), CreatedAt: at, UpdatedAt: at, StartedAt: &at, CompletedAt: &at, Version: 2,
		Leaf: &id, EntryCount: 3, RecordsSinceCheckpoint: 4, ResponseID: "r", Fence: 5, ClaimID: id, LeaseUntil: at, Embedded: true,
		LastCommit: perdure.CommitNumber{Fence: 6, Number: 7}, Answer: json.RawMessage(`[]`), ReadyAt: at, NotBefore: at, WakeReason: perdure.WakeLost,
		Crashes: 8, Panics: 9, CancelBy: at, NextSignal: 10, CheckpointAt: at, HomeID: &id, Unfit: 11, KeyID: &id, NeedsFeatures: 1, InputBlob: ref, OutputBlob: ref,
		OpenQuestions: 12, Gate: &perdure.Gate{SHA256: hash, Tools: []string{"t"}}, Askers: []uuid.UUID{id},
	}, "asked")
	scansWhatItWrites(t, &TaskRows, &perdure.Task{
		ExecutionID: id, ID: id, Org: "o", Kind: "k", Status: perdure.TaskRunning, Queue: "q", Key: "key", InputHash: hash,
		Options: perdure.TaskOptions{ConcurrencyKey: "c", ScheduleToClose: 5}, Attempt: 1, MaxAttempts: 2, Error: &perdure.TaskError{Message: "m"},
		Progress: json.RawMessage(`1`), WorkerID: &id, ClaimID: id, LeaseUntil: at, Embedded: true, NotBefore: at, Uncounted: 3, Lost: 4,
		AttemptAt: at, SignAt: at, Step: true, Place: perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"},
		CreatedAt: at, StartedAt: &at, CompletedAt: &at, NeedsFeatures: 1, InputBlob: ref, ResultBlob: ref,
	}, "attempt_due")
	scansWhatItWrites(t, &tenant.OrgRows, &perdure.Org{ID: "o", CreatedAt: at, DisabledAt: &at})
	scansWhatItWrites(t, &tenant.KeyRows, &perdure.APIKey{
		ID: id, Org: "o", Name: "n", Role: "admin", Hash: hash, CreatedAt: at, RevokedAt: &at,
		Limits: perdure.KeyLimits{RequestsPerSecond: 1, MaxRunning: 2, MaxStored: 3},
	})
	scansWhatItWrites(t, &tenant.SessionRows, &perdure.Session{
		ID: id, Org: "o", KeyID: &id, KeyName: "n", Key: hash, Cookie: hash, Page: hash, CreatedAt: at, ExpiresAt: at, RemoteAddress: "r", UserAgent: "u",
	})
	scansWhatItWrites(t, &ConversationRows, &store.Conversation{
		ID: "c", Org: "o", KeyID: &id, Response: "r", Items: 1, Bytes: 2, Metadata: json.RawMessage(`{}`), CreatedAt: at, Executions: 3, Mark: "m",
	})
	scansWhatItWrites(t, &tenant.DefinitionRows, &perdure.Definition{
		ID: id, Org: "o", Name: "n", Slug: "s", Description: "d", SystemPrompt: "p", Models: make([]perdure.ModelConfig, 1), Tools: []string{"t"},
		Config: perdure.AgentConfig{}, Metadata: json.RawMessage(`{}`), CreatedAt: at, UpdatedAt: at, Version: 1, Retention: &perdure.Retention{},
		Approvals: perdure.ApprovalPolicy{{Tools: []string{"t"}, Then: perdure.ApprovalAsk}},
	})
	scansWhatItWrites(t, &log.BlockRows, &log.BlockRow{Execution: id, Block: &store.Block{
		Key: perdure.BlockKey{TaskID: id, Attempt: 1, Block: 2}, Seq: 3, Type: perdure.EventCreated, Stream: "s",
		Place: perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"}, CreatedAt: at, Open: true, Event: true, Length: 4,
		FirstPos: 5, LastPos: 6, Digest: []byte{1}, Reason: "done", SHA256: hash,
	}})
	place := perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"}
	scansWhatItWrites(t, &EntryRows, &EntryRow{
		Execution: id, Open: []string{"c"}, Place: TreePlace{Segment: 1, Depth: 2}, Hash: hash, Entry: &perdure.Entry{
			ID: id, ParentID: &id, Type: "message", Role: "user", TurnID: "t", ResponseID: "r", MessageID: "m", Metadata: json.RawMessage(`{}`),
			CreatedAt: at, Key: "k", Calls: []string{"c"}, Answers: "a", Blob: ref,
		},
	})
	scansWhatItWrites(t, &CheckpointRows, &CheckpointRow{id, &perdure.Checkpoint{Sequence: 1, LeafEntryID: &id, Metadata: json.RawMessage(`{}`), CreatedAt: at, Blob: ref}})
	scansWhatItWrites(t, &SignalRows, &SignalRow{id, &perdure.Signal{
		ID: "s", Name: "n", State: perdure.SignalPending, Order: 1, TakenAt: 2, ResponseID: "r", CreatedAt: at, KeyID: &id, Blob: ref,
	}})
	scansWhatItWrites(t, &QuestionRows, &perdure.Question{
		ID: id, ExecutionID: id, Org: "o", Key: "k", QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionInput, Subject: "s", Prompt: "p"},
		EntryID: &id, CallID: "c", Details: json.RawMessage(`1`), DetailsSHA256: hash, ExpiresAt: &at, Status: perdure.QuestionAnswered,
		Answer: &perdure.Answer{Verdict: perdure.VerdictDeny}, Votes: []perdure.Vote{{AnswerID: "a"}}, TaskID: &id, Version: 2, CreatedAt: at,
		DecidedAt: &at, Place: place, DetailsBlob: ref, Askers: []uuid.UUID{id},
	})
	scansWhatItWrites(t, &log.RecordRows, &log.RecordRow{Execution: id, Record: perdure.Record{
		Pos: 1, Seq: 2, Nonce: 1 << 31, Type: perdure.EventCreated, CreatedAt: at, Place: place, TaskID: &id, Attempt: 3, Fields: json.RawMessage(`{}`), Blob: ref,
	}, Of: []byte{1}})
	scansWhatItWrites(t, &ResponseRows, &store.Response{
		ID: "r", Execution: id, SignalID: "s", FirstPos: 1, Joined: "j", Hidden: true, CreatedAt: at, Request: json.RawMessage(`{}`),
		History: store.History{Said: hash, SaidAndRun: perdure.Hash{4}},
	})
	scansWhatItWrites(t, &contents.BlobRows, &contents.StoredBlob{Execution: id, Blob: &store.Blob{ID: id, Length: 1, Held: 2, Digest: []byte{1}, SHA256: hash, Owned: true}, CreatedAt: at})
	scansWhatItWrites(t, &KindRows, &store.Kind{Org: "o", Agent: true, SeenAt: at, Spec: perdure.KindSpec{
		Kind: "k", Description: "d", InputSchema: json.RawMessage(`{}`), Providers: []string{"p"}, Endpoints: make([]perdure.ModelEndpoint, 1),
	}})
	scansWhatItWrites(t, &tenant.AuditRows, &perdure.AuditRecord{
		Org: "o", At: at, Actor: perdure.Actor{KeyID: &id, Name: "n", RequestID: "r", RemoteAddress: "a"},
		Action: "key.create", SubjectID: &id, SubjectName: "s", Before: "b", After: "a",
	})
	scansWhatItWrites(t, &StreamRows, RowOfStream(&store.Stream{
		ID: id, Org: "o", Path: "p", ContentType: "c", Tail: 1, Closed: true, Seq: "s", ClosedBy: &store.StreamProducer{ID: "p", Epoch: 2, Seq: 3},
		CreatedAt: at, KeyID: &id,
	}))
}

// scansWhatItWrites checks one row. Every field must have a value, except those in `empty`, so that
// a field that is scanned into another field is found.
func scansWhatItWrites[T any](t *testing.T, r *row.Rows[T], row *T, empty ...string) {
	t.Helper()
	values, err := r.Values(row)
	if err != nil {
		t.Fatal(err)
	}
	if cap(values) < len(r.Columns) {
		t.Errorf("%s: there is no room for the contents", r.Name)
	}
	again := emptyRow[T]()
	read := strings.Split(r.List(""), ", ")
	for i, dest := range r.Scan(nil, again) {
		value := values[slices.Index(r.Columns, read[i])]
		if value == nil && !slices.Contains(empty, read[i]) {
			t.Errorf("%s: %s has no value", r.Name, read[i])
		}
		if err := scanInto(dest, value); err != nil {
			t.Errorf("%s: %s: %v", r.Name, read[i], err)
		}
	}
	scanned, err := r.Values(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range read {
		if i := slices.Index(r.Columns, name); !reflect.DeepEqual(values[i], scanned[i]) {
			t.Errorf("%s: %s is written as %v and as %v once it was read", r.Name, name, values[i], scanned[i])
		}
	}
}

// emptyRow returns a row to scan into.
func emptyRow[T any]() *T {
	empty := new(T)
	switch r := any(empty).(type) {
	case *log.BlockRow:
		r.Block = new(store.Block)
	case *EntryRow:
		r.Entry = new(perdure.Entry)
	case *CheckpointRow:
		r.Checkpoint = new(perdure.Checkpoint)
	case *SignalRow:
		r.Signal = new(perdure.Signal)
	case *contents.StoredBlob:
		r.Blob = new(store.Blob)
	}
	return empty
}

func scanInto(dest, value any) error {
	if s, is := dest.(sql.Scanner); is {
		return s.Scan(value)
	}
	v := reflect.ValueOf(dest).Elem()
	if value != nil && v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if value != nil {
		v.Set(reflect.ValueOf(value).Convert(v.Type()))
	}
	return nil
}
