package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// counted counts writes, and fails if the test wants it.
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

// Buffered output is written in few writes with the same bytes. Output after the release is written
// at once.
func TestAScreenThatHolds(t *testing.T) {
	var at, held counted
	for _, out := range []*counted{&at, &held} {
		s := newScreen(out)
		if out == &held {
			s.hold()
		}
		p := newPage(s)
		for i := range 10_000 {
			p.section([]string{"user", "text"}[i%2])
			p.indented(styleUser, "› ", fmt.Sprintf("line %d\u202e\n", i))
		}
		if err := errors.Join(p.err, s.release()); err != nil {
			t.Fatal(err)
		}
		before := out.writes
		if err := s.say("after"); err != nil || out.writes == before {
			t.Errorf("%v, %d writes", err, out.writes)
		}
	}
	if at.text.String() != held.text.String() || held.writes > 1+held.text.Len()/(32<<10) {
		t.Errorf("%d bytes in %d writes, %d of them the same as of %d", held.text.Len(), held.writes, at.text.Len(), at.writes)
	}
}

// release returns the error of a failing writer.
func TestAHoldTellsOfFailures(t *testing.T) {
	want := errors.New("full")
	s := newScreen(&counted{fail: want})
	s.hold()
	if err := s.say("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.release(); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

// The fast path for plain texts has the same output as the general path, and the same effect on
// later output.
func TestPlainTextsAreShownAlike(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", " b\t", "\n", "\r", "\x1b", "[", "]0;", "m", "\x07", "\x7f", "\u200d", "é", "\u202e", "क", "\U0001f600"})
	rapid.Check(t, func(t *rapid.T) {
		var short, long plain
		for _, text := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(pieces, 0, 4).Draw(t, "text"), "")
		}), 1, 6).Draw(t, "texts") {
			if got, want := short.clean(text), long.cleanSlowly(text); got != want {
				t.Fatalf("%q is shown as %q, want %q", text, got, want)
			}
		}
	})
}
