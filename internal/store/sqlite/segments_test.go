package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestPathsCostWhatTheyReturn(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := open(t, Options{})
	counttest.Paths(t, s, s.Reader)
}

// TestContextsCostTheWindow checks that reading a context costs the same after any number of
// entries.
func TestContextsCostTheWindow(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := open(t, Options{})
	counttest.Contexts(t, s, s.Reader)
}

// TestDamagedBarriersAreFound checks that an audit finds a damaged barrier of a compaction.
func TestDamagedBarriersAreFound(t *testing.T) {
	s := open(t, Options{Path: filepath.Join(t.TempDir(), "perdure.db")})
	storetest.DamagedBarriers(t, s, func(query string) {
		if _, err := s.committer.conn.With(t.Context()).Run(query); err != nil {
			t.Fatal(err)
		}
	})
}
