package terminal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// counted is a writer that counts its writes, and fails if a test sets its error.
type counted struct {
	text   strings.Builder
	writes int
	fail   error
}

func (c *counted) Write(p []byte) (int, error) {
	c.writes++
	if c.fail != nil {
		return 0, c.fail
	}
	return c.text.Write(p)
}

// TestBufferedOutputHasTheSameBytes checks that buffered output is written in few writes with the same
// bytes. Output after the release is written at once.
func TestBufferedOutputHasTheSameBytes(t *testing.T) {
	var at, held counted
	for _, out := range []*counted{&at, &held} {
		s := NewScreen(out)
		if out == &held {
			s.Hold()
		}
		p := newPage(s)
		for i := range 10_000 {
			p.section([]string{"user", "text"}[i%2])
			p.indented(userGutter, StyleUser, fmt.Sprintf("line %d\u202e\n", i))
		}
		if err := errors.Join(p.err, s.Release()); err != nil {
			t.Fatal(err)
		}
		before := out.writes
		if err := s.Linef("after"); err != nil || out.writes == before {
			t.Errorf("%v, %d writes", err, out.writes)
		}
	}
	if at.text.String() != held.text.String() || held.writes > 1+held.text.Len()/(32<<10) {
		t.Errorf("%d bytes in %d writes, %d of them the same as of %d", held.text.Len(), held.writes, at.text.Len(), at.writes)
	}
}

// TestReleaseReturnsTheWritersError checks that Release returns the error of a failing writer.
func TestReleaseReturnsTheWritersError(t *testing.T) {
	want := errors.New("full")
	s := NewScreen(&counted{fail: want})
	s.Hold()
	if err := s.Linef("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}
