package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestPathsCostWhatTheyReturn(t *testing.T) {
	s := open(t, Options{URL: emptyDatabase(t)})
	counttest.Paths(t, s, s.Reader)
}

// TestContextsCostTheWindow checks that reading a context costs the same after any number of
// entries.
func TestContextsCostTheWindow(t *testing.T) {
	s := open(t, Options{URL: emptyDatabase(t)})
	counttest.Contexts(t, s, s.Reader)
}

// TestDamagedBarriersAreFound checks that an audit finds a damaged barrier of a compaction.
func TestDamagedBarriersAreFound(t *testing.T) {
	url := emptyDatabase(t)
	s := open(t, Options{URL: url})
	storetest.DamagedBarriers(t, s, func(query string) { execute(t, url, query) })
}
