package sqlite

import (
	"testing"

	"github.com/perdure/perdure/internal/store/counttest"
)

func TestPathsCostWhatTheyReturn(t *testing.T) {
	s := open(t, Options{})
	counttest.Paths(t, s, s.Reader)
}
