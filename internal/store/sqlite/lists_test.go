package sqlite

import (
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestListsAreBounded(t *testing.T) {
	s := open(t, Options{})
	s.ListRows = 10
	storetest.BoundedLists(t, s)
}

// filledByHand opens a store that indexes texts only when the test calls `fill`.
func filledByHand(t *testing.T) (s *Store, fill func()) {
	t.Helper()
	s = open(t, Options{})
	s.stop()
	s.filling.Wait()
	s.ListRows = 40
	return s, func() {
		for filled := true; filled; {
			var err error
			if filled, _, err = s.filler.Fill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTextsAreIndexed checks that the text of a deleted execution is removed from the index, and
// that a new execution with the same number is found by its own text.
func TestTextsAreIndexed(t *testing.T) {
	longtest.Skip(t, "seconds")
	s, fill := filledByHand(t)
	all := storetest.Texts(t, s, fill)
	if blocks := count(t, s, "SELECT blocks FROM text_index"); blocks != 2 {
		t.Fatalf("%d blocks are indexed, want 2", blocks)
	}
	const held = "SELECT coalesce(sum(length(grams)), 0) FROM agent_text WHERE block = 1"
	if count(t, s, held) == 0 {
		t.Fatal("the block has no texts")
	}
	for _, id := range all[255:] { // the executions with numbers from 256 on
		storetest.Prune(t, s, id)
	}
	if bytes := count(t, s, held); bytes != 0 {
		t.Errorf("%d bytes of the texts of what is deleted are left", bytes)
	}
	if blocks := count(t, s, "SELECT blocks FROM text_index"); blocks != 1 {
		t.Errorf("%d blocks are indexed, want 1", blocks)
	}
	again := uuid.New()
	if err := begin(t, s, again, json.RawMessage(`"said again"`)); err != nil {
		t.Fatal(err)
	}
	if number := count(t, s, "SELECT max(number) FROM agent_execution"); number != 256 {
		t.Fatalf("the new execution has the number %d", number)
	}
	page, err := s.Executions(t.Context(), "acme", store.ExecutionFilter{Query: "said again"})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != again {
		t.Errorf("the new execution is listed as %v, %v", page.Items, err)
	}
}

// TestPlainListsFindTheSame checks that queries find the same executions in a plain store, which
// does not fill the index.
func TestPlainListsFindTheSame(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := open(t, Options{Plain: true})
	s.ListRows = 4000
	storetest.Texts(t, s, func() {})
	if n := count(t, s, "SELECT count(*) FROM agent_text"); n != 0 {
		t.Errorf("%d parts are stored", n)
	}
}

// TestAStaleIndexIsNotWritten checks that the text index of a block (a range of execution numbers)
// is not written if the block contains other executions than those whose texts were read. The store
// must then set TextBlock.Stale.
func TestAStaleIndexIsNotWritten(t *testing.T) {
	s, fill := filledByHand(t)
	for range 600 {
		if err := begin(t, s, uuid.New(), nil); err != nil {
			t.Fatal(err)
		}
	}
	stale := &store.TextBlock{Block: 0, Numbers: []int64{1, 2, 3}}
	_, err := s.Do(t.Context(), store.Command{Name: "test", Decide: func(*store.State) (*store.Changes, error) {
		return &store.Changes{Texts: stale}, nil
	}})
	if err != nil || !stale.Stale || count(t, s, "SELECT count(*) FROM agent_text") != 0 {
		t.Errorf("a stale block is written, or gives %v", err)
	}
	fill()
	if count(t, s, "SELECT count(*) FROM agent_text") == 0 {
		t.Error("nothing is indexed afterwards")
	}
}

// TestMetadataIsIndexed checks that executions are found by the members of their metadata. Of
// several members with the same key, only the last one counts. Deleting an execution must delete
// the index of its members.
func TestMetadataIsIndexed(t *testing.T) {
	s := open(t, Options{})
	id := uuid.New()
	err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
		return &store.Changes{Execution: &perdure.Execution{
			ID: id, Org: "acme", Kind: "k", Status: perdure.StatusPending, WakeReason: perdure.WakeStart, PersistenceMode: perdure.Remote, Queue: "q", CreatedAt: st.Now, ReadyAt: st.Now,
			Metadata: json.RawMessage(`{"a":"1","b":1e2,"c":null,"d":{"e": 1},"f":true,"a":"2"}`), Version: 1,
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"a": "2", "b": "1e2", "c": "null", "d": `{"e": 1}`, "f": "true"} {
		page, err := s.Executions(t.Context(), "acme", store.ExecutionFilter{Metadata: map[string]string{key: value}})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("%s=%s gives %d, %v", key, value, len(page.Items), err)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM agent_metadata"); n != 5 {
		t.Errorf("%d members are stored, want 5", n)
	}
	storetest.Prune(t, s, id)
	if n := count(t, s, "SELECT count(*) FROM agent_metadata"); n != 0 {
		t.Errorf("%d members are left", n)
	}
}

// TestTextsOfABlockLeaveTogether checks the deletion of 200 executions with neighboring numbers,
// whose texts are indexed together. The deletion must rewrite at most 128 rows of the text index.
// Queries must then find exactly the remaining executions.
func TestTextsOfABlockLeaveTogether(t *testing.T) {
	longtest.Skip(t, "seconds")
	s, fill := filledByHand(t)
	all := storetest.Texts(t, s, fill)
	db, err := sql.Open("sqlite", "file:"+s.soundness.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		"CREATE TABLE rewritten (part)",
		"CREATE TRIGGER rewriting AFTER UPDATE ON agent_text BEGIN INSERT INTO rewritten VALUES (new.part); END",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	const gone = 200 // of the 255 executions with numbers up to 255
	storetest.Prune(t, s, all[:gone]...)
	if rows := count(t, s, "SELECT count(*) FROM rewritten"); rows == 0 || rows > 128 {
		t.Errorf("%d rows were written for %d executions, want at most 128", rows, gone)
	}
	s.ListRows = 0 // 0 means the default
	for i, id := range all[:300] {
		page, err := s.Executions(t.Context(), "acme", store.ExecutionFilter{Query: id.String()})
		// Number 30 belongs to another org.
		if err != nil || i != 30 && (len(page.Items) == 1) != (i >= gone) {
			t.Errorf("execution %d is listed as %v, %v", i, page.Items, err)
		}
	}
}
