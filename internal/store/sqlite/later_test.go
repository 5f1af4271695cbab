package sqlite

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// addition returns a command that adds an entry to an execution. It first reads the entries that
// earlier commands have added, so the deferred writes of these commands must be executed before
// that read.
func addition(t *testing.T, id uuid.UUID, n int, entries []uuid.UUID) *commit.Call {
	return &commit.Call{Command: store.Command{
		Name: "add", Lane: store.LaneCommits, Org: "acme", Execution: id,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Entries: entries[:n]} },
		Decide: func(st *store.State) (*store.Changes, error) {
			if len(st.Entries) != n {
				t.Errorf("the addition %d finds %d entries", n, len(st.Entries))
			}
			e := perdure.Entry{ID: entries[n], Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: json.RawMessage(`{}`), CreatedAt: st.Now}
			if n > 0 {
				e.ParentID = &entries[n-1]
			}
			st.Execution.Leaf = &e.ID
			st.Execution.EntryCount++
			return &store.Changes{Execution: st.Execution, Entries: []store.Entry{{Entry: e}}}, nil
		},
	}}
}

func additions(t *testing.T, id uuid.UUID) (batch []*commit.Call, entries []uuid.UUID) {
	for range 3 * laterFrom {
		entries = append(entries, uuid.New())
	}
	for n := range entries {
		batch = append(batch, addition(t, id, n, entries))
	}
	return batch, entries
}

// attempt runs a batch in place of the committer, which must be idle.
func attempt(s *Store, batch []*commit.Call) ([]commit.Outcome, error) {
	s.committer.deciding.Lock()
	defer s.committer.deciding.Unlock()
	return s.committer.Attempt(batch, false)
}

// TestCommandsSeeWhatWasPutOff checks that each command of a batch reads the deferred writes of the
// earlier commands. The commit must store all writes.
func TestCommandsSeeWhatWasPutOff(t *testing.T) {
	s := open(t, Options{})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	batch, entries := additions(t, id)
	outcomes, err := attempt(s, batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Err != nil {
			t.Errorf("command %d: %v", i, o.Err)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM agent_entry"); n != len(entries) {
		t.Errorf("%d entries are stored, want %d", n, len(entries))
	}
	invariants.Check(t, s)
}

// TestWhatWasPutOffAndFailsSpoilsTheBatch checks that a batch fails with SQLite's error if one of
// its deferred writes fails, that nothing of the batch is stored, and that the next batch succeeds.
func TestWhatWasPutOffAndFailsSpoilsTheBatch(t *testing.T) {
	for name, at := range map[string]int{"first": 0, "in the middle": 13, "last": 3*laterFrom - 1} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Logger: slog.New(slog.DiscardHandler)})
			id := uuid.New()
			if err := begin(t, s, id, nil); err != nil {
				t.Fatal(err)
			}
			// Each command inserts another execution, so that none has to read what the others have
			// written.
			var batch []*commit.Call
			for i := range 3 * laterFrom {
				batch = append(batch, &commit.Call{Command: store.Command{
					Name: fmt.Sprint(i), Lane: store.LaneCommits, Org: "acme",
					Decide: func(st *store.State) (*store.Changes, error) {
						x := &perdure.Execution{
							ID: uuid.New(), Org: "acme", Kind: "k", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "q",
							CreatedAt: st.Now, ReadyAt: st.Now,
						}
						if i == at {
							x.Status = "NONE" // the table rejects this status
						}
						return &store.Changes{Execution: x}, nil
					},
				}})
			}
			if _, err := attempt(s, batch); connection.ResultCode(err) == 0 {
				t.Errorf("the batch gives %v, want an error of SQLite", err)
			}
			if n := count(t, s, "SELECT count(*) FROM agent_execution"); n != 1 {
				t.Errorf("%d executions are stored, want the one before", n)
			}
			good, entries := additions(t, id)
			if _, err := attempt(s, good); err != nil {
				t.Errorf("the next batch: %v", err)
			}
			if n := count(t, s, "SELECT count(*) FROM agent_entry"); n != len(entries) {
				t.Errorf("%d entries are stored, want %d", n, len(entries))
			}
			invariants.Check(t, s)
		})
	}
}

// TestACommandThatFailsAfterWritesWerePutOff checks that no entry of a batch is stored if the
// changes of one of its commands cannot be written.
func TestACommandThatFailsAfterWritesWerePutOff(t *testing.T) {
	s := open(t, Options{Logger: slog.New(slog.DiscardHandler)})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	batch, _ := additions(t, id)
	batch[5].Decide = func(*store.State) (*store.Changes, error) {
		// The execution of this task is missing.
		return &store.Changes{Tasks: []*perdure.Task{{ID: uuid.New(), ExecutionID: uuid.New()}}}, nil
	}
	if _, err := attempt(s, batch); err == nil {
		t.Error("the batch is committed")
	}
	if n := count(t, s, "SELECT count(*) FROM agent_entry"); n != 0 {
		t.Errorf("%d entries are stored", n)
	}
	invariants.Check(t, s)
}
