package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/sql/cache"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"pgregory.net/rapid"
)

// keptModel is the expected state of executions and their tasks after the commands that have
// succeeded.
type keptModel struct {
	versions map[uuid.UUID]int64
	tasks    map[uuid.UUID]map[uuid.UUID]perdure.TaskStatus
	blocks   map[uuid.UUID]int // number of open blocks by execution
}

func (m *keptModel) sees(s *store.State, id uuid.UUID) error {
	version, there := m.versions[id]
	switch {
	case there != (s.Execution != nil):
		return fmt.Errorf("%s: is there: %t, want %t", id, s.Execution != nil, there)
	case there && s.Execution.Version != version:
		return fmt.Errorf("%s: version %d, want %d", id, s.Execution.Version, version)
	}
	if got := len(s.Blocks); got != m.blocks[id] {
		return fmt.Errorf("%s: has %d open blocks, want %d", id, got, m.blocks[id])
	}
	if got := len(s.Tasks); there && got != len(m.tasks[id]) {
		return fmt.Errorf("%s: has %d tasks, want %d", id, got, len(m.tasks[id]))
	}
	for task, status := range m.tasks[id] {
		if got := s.Tasks[task]; there && (got == nil || got.Status != status) {
			return fmt.Errorf("%s: task %s is %v, want %s", id, task, got, status)
		}
	}
	return nil
}

// TestKeptRowsAreStoredRows checks that each of many random commands decides on the stored state.
// Some commands are refused or fail, some delete rows, and the cache has different sizes.
func TestKeptRowsAreStoredRows(t *testing.T) {
	longtest.Checks(t, 30, 100)
	quiet := slog.New(slog.DiscardHandler)
	rapid.Check(t, func(rt *rapid.T) {
		path := place(t)
		s, err := Open(t.Context(), Options{Path: path, Logger: quiet})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		s.committer.cache = cache.NewRowCache(rapid.SampledFrom([]int{1, 12 << 10, 0}).Draw(rt, "limit"))
		var ids, tasks [3]uuid.UUID
		for i := range ids {
			ids[i], tasks[i] = uuid.New(), uuid.New()
		}
		definition := uuid.New()
		m := &keptModel{versions: map[uuid.UUID]int64{}, tasks: map[uuid.UUID]map[uuid.UUID]perdure.TaskStatus{}, blocks: map[uuid.UUID]int{}}
		var wrong error
		run := func(id uuid.UUID, decide func(*store.State) (*store.Changes, error)) error {
			wrong = nil
			_, err := s.Do(t.Context(), store.Command{
				Name: "test", Lane: store.LaneCommits, Org: "acme", Execution: id,
				Needs: func(*perdure.Execution) store.Needs { return store.Needs{Tasks: tasks[:], OpenBlocks: true} },
				Decide: func(st *store.State) (*store.Changes, error) {
					wrong = errors.Join(wrong, m.sees(st, id))
					return decide(st)
				},
			})
			if wrong != nil {
				rt.Fatal(wrong)
			}
			return err
		}
		gone := map[uuid.UUID]bool{}
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				i, j := rapid.IntRange(0, 2).Draw(rt, "execution"), rapid.IntRange(0, 2).Draw(rt, "task")
				id, status := ids[i], rapid.SampledFrom([]perdure.TaskStatus{perdure.TaskPending, perdure.TaskRunning, perdure.TaskCompleted}).Draw(rt, "status")
				fate := rapid.SampledFrom([]string{"stored", "stored", "refused", "fails"}).Draw(rt, "fate")
				named, opens := rapid.Bool().Draw(rt, "of the definition"), rapid.Bool().Draw(rt, "opens a block")
				if gone[id] {
					rt.Skip("it is being deleted")
				}
				err := run(id, func(st *store.State) (*store.Changes, error) {
					ch := keptStep(st, id, tasks[j], status)
					if opens {
						ch.Blocks = []store.Block{openBlock(st, tasks[j])}
					}
					switch x := ch.Execution; {
					case fate == "refused":
						return nil, perdure.Errorf(perdure.Conflict, "refused")
					case fate == "fails":
						x.DefinitionID = ptr(uuid.New())
					case named:
						ch.Definition = &perdure.Definition{ID: definition, Org: "acme", Name: "d", Slug: "d", CreatedAt: st.Now, UpdatedAt: st.Now, Version: 1}
						x.DefinitionID = &definition
					}
					return ch, nil
				})
				if (err == nil) != (fate == "stored") {
					rt.Fatalf("%s: %v", fate, err)
				}
				if err == nil {
					m.versions[id]++
					if m.tasks[id] == nil {
						m.tasks[id] = map[uuid.UUID]perdure.TaskStatus{}
					}
					m.tasks[id][tasks[j]] = status
					if opens {
						m.blocks[id]++
					}
				}
			},
			"delete the definition": func(rt *rapid.T) {
				if err := run(uuid.Nil, func(*store.State) (*store.Changes, error) {
					return &store.Changes{DeleteDefinition: &definition}, nil
				}); err != nil {
					rt.Fatal(err)
				}
			},
			"delete an execution": func(rt *rapid.T) {
				id := ids[rapid.IntRange(0, 2).Draw(rt, "execution")]
				if m.versions[id] == 0 {
					rt.Skip("it is not there")
				}
				if err := run(id, func(*store.State) (*store.Changes, error) {
					return &store.Changes{Prune: &store.Prune{Execution: true}}, nil
				}); err != nil {
					rt.Fatal(err)
				}
				delete(m.versions, id)
				delete(m.blocks, id)
				gone[id] = true
			},
			"": func(rt *rapid.T) {
				if err := s.committer.audit(t.Context()); err != nil {
					rt.Fatal(err)
				}
			},
		})
	})
}

func ptr[T any](v T) *T { return &v }

// openBlock returns an open block that begins with the newest record.
func openBlock(s *store.State, task uuid.UUID) store.Block {
	return store.Block{
		Key: perdure.BlockKey{TaskID: task, Attempt: 1, Block: s.Head.LastSeq}, Seq: s.Head.LastSeq, CreatedAt: s.Now, Open: true,
		FirstPos: s.Head.LastPos, LastPos: s.Head.LastPos,
	}
}

// keptStep returns changes of an execution, of the head of its log and of a task. They create the
// execution and the task if these do not exist.
func keptStep(s *store.State, id, task uuid.UUID, status perdure.TaskStatus) *store.Changes {
	x := s.Execution
	if x == nil {
		x = &perdure.Execution{
			ID: id, Org: "acme", Kind: "k", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "q", CreatedAt: s.Now, ReadyAt: s.Now,
		}
	}
	x.Version++
	x.Wait = &perdure.Wait{Any: []perdure.Wait{{Task: &task}, {Timer: ptr(s.Now)}}}
	s.Head.LastSeq++
	s.Head.LastPos++
	t := s.Tasks[task]
	if t == nil {
		t = &perdure.Task{ID: task, ExecutionID: id, Org: "acme", Kind: "t", Queue: "q", CreatedAt: s.Now, Input: []byte(`{}`)}
	}
	t.Status, t.Progress = status, []byte(`{"at":1}`)
	return &store.Changes{
		Execution: x, Head: &s.Head, Tasks: []*perdure.Task{t},
		Records: []perdure.Record{{Pos: s.Head.LastPos, Seq: s.Head.LastSeq, Type: perdure.EventEntry, CreatedAt: s.Now, Fields: []byte(`{}`)}},
	}
}

// TestKeptRowsAreLetGoWhereOthersWrite checks that the next command sees what another connection has
// written, and not the cached row.
func TestKeptRowsAreLetGoWhereOthersWrite(t *testing.T) {
	s := open(t, Options{})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	other, err := connection.Open(t.Context(), s.path, connection.Writing)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.With(t.Context()).Run("UPDATE agent_execution SET version = 4711"); err != nil {
		t.Fatal(err)
	}
	err = do(t, s, id, func(st *store.State) (*store.Changes, error) {
		if st.Execution.Version != 4711 {
			t.Errorf("a command decides on version %d", st.Execution.Version)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAuditComparesWhatIsKept checks that the audit finds each difference between the cached rows
// and the stored rows.
func TestAuditComparesWhatIsKept(t *testing.T) {
	for _, one := range []struct{ query, what string }{
		{"UPDATE agent_execution SET version = 4711", "has a version that is kept"},
		{"UPDATE task_execution SET attempt = 4711", "has a attempt that is kept"},
		{"UPDATE log_head SET last_pos = 4711", "the head of"},
		{"DELETE FROM task_execution", "is kept and not stored"},
		{"UPDATE task_execution SET id = x'00112233445566778899aabbccddeeff'", "known not to have the task"},
		{
			"INSERT INTO log_block (agent_execution_id, task_id, attempt, block, seq, created_at, open, length, first_pos, last_pos)" +
				" SELECT id, id, 1, 1, 1, 1, 1, 1, 1, 1 FROM agent_execution", "known not to have blocks",
		},
	} {
		s := open(t, Options{})
		id := uuid.New()
		err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
			return keptStep(st, id, uuid.New(), perdure.TaskRunning), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.committer.conn.With(t.Context()).Run(one.query); err != nil {
			t.Fatal(err)
		}
		s.committer.version = s.committer.conn.Version() // as if the committer had noticed the write
		err = s.committer.audit(t.Context())
		if err == nil || !strings.Contains(err.Error(), one.what) {
			t.Errorf("after %s the audit says %v", one.query, err)
		}
	}
}

// TestCommandsOfABatchSeeEachOther checks that a command sees what earlier commands of its batch
// have written, although the cache says that the execution had neither blocks nor tasks before. No
// later command may see the writes of a failed batch.
func TestCommandsOfABatchSeeEachOther(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s := open(t, Options{})
		id, task := uuid.New(), uuid.New()
		if err := begin(t, s, id, nil); err != nil {
			t.Fatal(err)
		}
		call := func(blocks, tasks int, change func(*store.State) *store.Changes) *commit.Call {
			return &commit.Call{Command: store.Command{
				Lane: store.LaneCommits, Org: "acme", Execution: id,
				Needs: func(*perdure.Execution) store.Needs { return store.Needs{Tasks: []uuid.UUID{task}, OpenBlocks: true} },
				Decide: func(st *store.State) (*store.Changes, error) {
					if len(st.Blocks) != blocks || len(st.Tasks) != tasks {
						t.Errorf("there are %d blocks and %d tasks, want %d and %d", len(st.Blocks), len(st.Tasks), blocks, tasks)
					}
					return change(st), nil
				},
			}}
		}
		write := func(st *store.State) *store.Changes {
			ch := keptStep(st, id, task, perdure.TaskCompleted)
			ch.Blocks = []store.Block{openBlock(st, task)}
			return ch
		}
		end := func(st *store.State) *store.Changes {
			if !fails {
				return nil
			}
			st.Execution.DefinitionID = ptr(uuid.New()) // this definition does not exist, so the write fails
			return &store.Changes{Execution: st.Execution}
		}
		look := func(*store.State) *store.Changes { return nil }
		s.committer.deciding.Lock()
		_, err := s.committer.Attempt([]*commit.Call{call(0, 0, write), call(1, 1, end)}, false)
		if (err != nil) != fails {
			t.Errorf("fails: %t, %v", fails, err)
		}
		there := 1
		if fails {
			there = 0
		}
		_, err = s.committer.Attempt([]*commit.Call{call(there, there, look)}, false)
		s.committer.deciding.Unlock()
		if err != nil {
			t.Error(err)
		}
	}
}
