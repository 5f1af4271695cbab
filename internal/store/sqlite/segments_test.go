package sqlite

import (
	"testing"

	"github.com/perdure/perdure/internal/store/counttest"
)

func TestPathsCostWhatTheyReturn(t *testing.T) {
	s := open(t, Options{})
	counttest.Paths(t, s, s.Reader)
}

// TestContextsCostTheWindow checks that a context costs the same after any number of entries.
func TestContextsCostTheWindow(t *testing.T) {
	s := open(t, Options{})
	counttest.Contexts(t, s, s.Reader)
}
