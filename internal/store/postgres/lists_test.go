package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestListsAreBounded(t *testing.T) {
	s := open(t, Options{})
	s.ListRows = 10
	storetest.BoundedLists(t, s)
}

// filledByHand opens a store that indexes texts only when the test calls `fill`.
func filledByHand(t *testing.T, o Options) (s *Store, fill func() (blocks int, young bool)) {
	t.Helper()
	s = open(t, o)
	s.stopFiller()
	s.ListRows = 40
	return s, func() (blocks int, young bool) {
		for {
			filled, young, err := s.filler.Fill(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !filled {
				return blocks, young
			}
			blocks++
		}
	}
}

func TestTextsAreIndexed(t *testing.T) {
	s, fill := filledByHand(t, Options{})
	all := storetest.Texts(t, s, func() {
		if blocks, _ := fill(); blocks < 2 {
			t.Errorf("%d blocks are indexed, want 2 at least", blocks)
		}
	})
	for _, id := range all {
		storetest.Prune(t, s, id)
	}
	if bytes := sum(t, s, "SELECT coalesce(sum(length(grams)), 0) FROM agent_text"); bytes != 0 {
		t.Errorf("%d bytes of the texts of what is deleted are left", bytes)
	}
}

func sum(t *testing.T, s *Store, query string) (n int64) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTextsOfRunningTransactionsAreNotIndexed checks that executions are not indexed while a running
// transaction could still commit an execution with a lower number than theirs.
func TestTextsOfRunningTransactionsAreNotIndexed(t *testing.T) {
	now := time.Now()
	s, fill := filledByHand(t, Options{Clock: func() time.Time { return now }})
	for range 300 {
		begin(t, s)
	}
	if blocks, young := fill(); blocks != 0 || !young {
		t.Errorf("%d blocks are indexed at once, young: %v", blocks, young)
	}
	now = now.Add(store.TextAge + time.Second)
	if blocks, _ := fill(); blocks == 0 {
		t.Error("nothing is indexed later")
	}
}

// TestMetadataOfOlderServersIsIndexed checks executions that a server of the previous version has
// started. Their metadata must be indexed later.
func TestMetadataOfOlderServersIsIndexed(t *testing.T) {
	now := time.Now()
	s, fill := filledByHand(t, Options{Clock: func() time.Time { return now }})
	id := begin(t, s)
	for range 300 {
		begin(t, s)
	}
	if _, err := s.pool.Exec(t.Context(), `UPDATE agent_execution SET metadata = '{"team":"core"}' WHERE id = $1`, id[:]); err != nil {
		t.Fatal(err)
	}
	now = now.Add(store.TextAge + time.Second)
	fill()
	page, err := s.Executions(t.Context(), org, store.ExecutionFilter{Metadata: map[string]string{"team": "core"}})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != id {
		t.Errorf("the list by metadata is %v, %v", page.Items, err)
	}
}
