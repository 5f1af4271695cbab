package server

import (
	"testing"

	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
)

// Commits are handed to the readers in the same process directly where there are
// no others; over a store that servers share, readers follow what is stored.
func TestOnlyAStoreOfItsOwnHandsCommitsToReaders(t *testing.T) {
	t.Cleanup(func() {
		if err := postgrestest.Stop(); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]Config{"its own": {}, "shared": {Store: opentest.URL(t)}} {
		c.Data = t.TempDir()
		s, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if handed := s.engine.Grown != nil; handed != (name == "its own") {
			t.Errorf("%s: commits are handed to readers: %t", name, handed)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
