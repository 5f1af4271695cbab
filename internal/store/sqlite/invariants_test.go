package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// recorder is a testing.TB that only records errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// sound stores an execution with entries, a task, a signal, records, a block and a stream, which
// violate no invariant.
func sound(t *testing.T, s *Store) {
	t.Helper()
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
		x := st.Execution
		root := perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleAssistant, Calls: []string{"c"}, Content: []byte(`{}`), CreatedAt: st.Now}
		answer := perdure.Entry{
			ID: uuid.New(), ParentID: &root.ID, Type: perdure.EntryMessage, Role: perdure.RoleToolResult, Answers: "c", Content: []byte(`{}`), CreatedAt: st.Now,
		}
		task := uuid.New()
		x.Leaf, x.Status, x.WaitReason, x.Wait = &answer.ID, perdure.StatusWaiting, "task", &perdure.Wait{Task: &task}
		key := perdure.BlockKey{Attempt: 1}
		return &store.Changes{
			Execution: x, Head: &store.Head{LastSeq: 2, LastPos: 2},
			Entries: []store.Entry{{Entry: root, Open: []string{"c"}}, {Entry: answer}},
			Tasks: []*perdure.Task{{
				ID: task, ExecutionID: id, Org: "acme", Kind: "k", Queue: "q", Status: perdure.TaskRunning,
				WorkerID: &task, ClaimID: task, LeaseUntil: st.Now, CreatedAt: st.Now,
			}},
			Signals: []perdure.Signal{{ID: "s", Name: "n", Order: 1, CreatedAt: st.Now}},
			Records: []perdure.Record{
				{Pos: 1, Seq: 1, Type: perdure.EventCreated, CreatedAt: st.Now},
				{Pos: 2, Seq: 2, Type: perdure.EventToken, CreatedAt: st.Now, Chunk: &perdure.Chunk{Text: "x"}},
			},
			ChunkKeys: []perdure.BlockKey{key},
			Blocks:    []store.Block{{Key: key, Seq: 2, Type: perdure.EventToken, Open: true, Length: 1, FirstPos: 2, LastPos: 2, CreatedAt: st.Now}},
			Stream: &store.StreamChange{
				Stream: store.Stream{ID: uuid.New(), Org: "acme", Path: "stream", ContentType: "text/plain", Tail: 3, CreatedAt: st.Now},
				Append: [][]byte{[]byte("x"), []byte("yz")}, Producer: &store.StreamProducer{ID: "p"},
			},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInvariantsFindWhatIsWrong checks that the invariants find nothing in an intact store, and
// find each fault that the test creates.
func TestInvariantsFindWhatIsWrong(t *testing.T) {
	longtest.Skip(t, "seconds")
	for what, query := range map[string]string{
		"":                                "SELECT 1",
		"lacks seq 3":                     "UPDATE log_head SET last_seq = 3",
		"its head says 9":                 "UPDATE log_head SET last_pos = 9",
		"lacks positions":                 "UPDATE log_record SET pos = 0",
		"gives seq 2 twice":               "UPDATE log_record SET seq = 2, pos = 3; UPDATE log_head SET last_pos = 3",
		"has a chunk of block 2 at 5":     "UPDATE log_chunk SET byte_offset = 5",
		"without an end that is not open": "UPDATE log_block SET open = 0, span = 0, cuts = x'020100', content = x'78'",
		"which its log does not give":     "UPDATE log_block SET length = 2",
		"stores the open calls":           `UPDATE agent_entry SET open_calls = '["c"]' WHERE role = 'tool_result'`,
		"has no valid transcript":         "UPDATE agent_entry SET answers = 'd' WHERE role = 'tool_result'",
		"has no place in the tree":        "UPDATE agent_entry SET depth = NULL WHERE role = 'tool_result'",
		"hangs on at depth 1":             "UPDATE agent_entry SET depth = 7 WHERE role = 'tool_result'",
		"segment 3 begins after":          "UPDATE agent_entry SET segment = 3 WHERE role = 'tool_result'; INSERT INTO agent_segment SELECT agent_execution_id, 3, 0, 4 FROM agent_entry LIMIT 1",
		"segment 5 has no entries":        "INSERT INTO agent_segment SELECT agent_execution_id, 5, 0, 1 FROM agent_entry LIMIT 1",
		"has 2 roots":                     "UPDATE agent_entry SET parent_id = NULL",
		"is not before it":                "UPDATE agent_entry SET parent_id = id WHERE role = 'assistant'",
		"which is no entry":               "UPDATE agent_execution SET leaf_entry_id = zeroblob(16)",
		"does not hold together":          "UPDATE task_execution SET agent_execution_id = zeroblob(16)",
		"stream has a hole before 9":      "UPDATE durable_stream SET tail = 9",
		"stream has a hole before 3":      "DELETE FROM durable_stream_chunk WHERE upto = 1",
		"stream has a hole before 1":      "UPDATE durable_stream_chunk SET content = x'' WHERE upto = 1",
		"RUNNING without a lease":         "UPDATE task_execution SET claim_id = NULL",
		"completed at":                    "UPDATE task_execution SET completed_at = 5",
		"org \"other\"":                   "UPDATE task_execution SET org_id = 'other'",
		"is COMPLETED, its task":          "UPDATE agent_execution SET status = 'COMPLETED', completed_at = 5",
		"COMPLETED with an open block":    "UPDATE agent_execution SET status = 'COMPLETED', completed_at = 5",
		"is WAITING for nothing":          "UPDATE agent_execution SET wait = NULL",
		"its wait is met":                 `UPDATE agent_execution SET wait = '{"signal":"s","met":true}'`,
		"a wait that is none":             `UPDATE agent_execution SET wait = '{}'`,
		"its wait says":                   "UPDATE agent_execution SET wait_reason = 'timer'",
		"is WAITING with worker":          "UPDATE agent_execution SET worker_id = zeroblob(16)",
		"is RUNNING with worker":          "UPDATE agent_execution SET status = 'RUNNING'",
		"is FAILED without a code":        "UPDATE agent_execution SET status = 'FAILED', completed_at = 5",
		"is PENDING since never":          "UPDATE agent_execution SET status = 'PENDING', ready_at = 0",
		"has a commit of fence 7":         "UPDATE agent_execution SET last_commit_fence = 7",
		"has no org, kind, queue or time": "UPDATE agent_execution SET kind = ''",
		"is WAITING and completed":        "UPDATE agent_execution SET completed_at = 5",
	} {
		t.Run(what, func(t *testing.T) {
			s := open(t, Options{})
			sound(t, s)
			v := s.committer.conn.With(t.Context())
			for _, query := range append([]string{"PRAGMA foreign_keys = 0", "PRAGMA ignore_check_constraints = 1"}, strings.Split(query, "; ")...) {
				if _, err := v.Run(query); err != nil {
					t.Fatal(err)
				}
			}
			s.committer.cache.Clear()
			r := &recorder{TB: t}
			invariants.Check(r, s)
			all := strings.Join(r.errors, "\n")
			if what == "" && all != "" || !strings.Contains(all, what) {
				t.Errorf("the invariants say %q, want %q", all, what)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for fault, want := range map[storetest.Fault]struct {
		code    perdure.Code
		version int64
	}{
		storetest.NoFault:    {"", 1},
		storetest.FailBefore: {perdure.Unavailable, 0},
		storetest.LoseAnswer: {perdure.Unavailable, 1},
		storetest.Twice:      {"", 2},
	} {
		s := open(t, Options{})
		id := uuid.New()
		if err := begin(t, s, id, nil); err != nil {
			t.Fatal(err)
		}
		faulty := &storetest.Faults{Store: s, Plan: func(n int, c store.Command) storetest.Fault {
			if n == 2 && c.Name == "test" {
				return fault
			}
			return storetest.NoFault
		}}
		add := store.Command{Name: "test", Execution: id, Decide: func(st *store.State) (*store.Changes, error) {
			st.Execution.Version++
			return &store.Changes{Execution: st.Execution}, nil
		}}
		look := store.Command{Execution: id, Decide: func(*store.State) (*store.Changes, error) { return nil, nil }}
		if _, err := faulty.Do(t.Context(), look); err != nil {
			t.Fatal(err)
		}
		if _, err := faulty.Do(t.Context(), add); perdure.CodeOf(err) != want.code {
			t.Errorf("fault %d gives %v", fault, err)
		}
		if x, err := faulty.Execution(t.Context(), "acme", id); err != nil || x.Version != want.version {
			t.Errorf("fault %d leaves the version %v, %v", fault, x, err)
		}
		if faulty.Count() != 2 {
			t.Errorf("Do was called %d times", faulty.Count())
		}
		invariants.Check(t, faulty)
	}
}
