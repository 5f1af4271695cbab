package llm

import (
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// allocated returns the number of bytes that the function `do` allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestPiecesAreAppendedWithoutCopies checks that text, thinking and arguments in 20,000 pieces
// allocate at most 40 times their size, in the Builder and in Fold. A copy for each piece would
// allocate much more.
func TestPiecesAreAppendedWithoutCopies(t *testing.T) {
	const pieces = 20_000
	piece := strings.Repeat("x", 100)
	var deltas []Delta
	for name, add := range map[string]func(b *Builder, c *Calls, call *Call, piece string) error{
		"text":      func(b *Builder, _ *Calls, _ *Call, piece string) error { return b.Text(piece) },
		"thinking":  func(b *Builder, _ *Calls, _ *Call, piece string) error { return b.Thinking(piece) },
		"arguments": func(_ *Builder, c *Calls, call *Call, piece string) error { return c.Append(call, piece) },
	} {
		deltas = nil
		b := NewBuilder(func(d Delta) error { deltas = append(deltas, d); return nil })
		c := NewCalls(b, "")
		var call *Call
		if name == "arguments" {
			var err error
			if call, err = c.Start("tool", "id"); err != nil {
				t.Fatal(err)
			}
		}
		grown := allocated(func() {
			for range pieces {
				if err := add(b, c, call, piece); err != nil {
					t.Fatal(err)
				}
			}
		})
		folded := allocated(func() {
			if part := Fold(deltas)[0]; len(part.Text+part.Thinking+part.RawArguments) != pieces*len(piece) {
				t.Errorf("%s: a part is lost", name)
			}
		})
		// A growing buffer allocates several times its size. Copies for each piece would allocate
		// 10,000 times its size.
		if most := uint64(40 * pieces * len(piece)); grown > most || folded > most {
			t.Errorf("%s: %d bytes in %d pieces allocate %d, and folding them %d", name, pieces*len(piece), pieces, grown, folded)
		}
	}
}

// TestWhatWasReadStays checks that a text that Builder.Parts has returned does not change when the
// part grows.
func TestWhatWasReadStays(t *testing.T) {
	b := NewBuilder(nil)
	var seen []string
	for range 100 {
		if err := b.Text("ab"); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, b.Parts()[0].Text)
	}
	for i, text := range seen {
		if text != strings.Repeat("ab", i+1) || b.Parts()[0].Type != perdure.PartText {
			t.Fatalf("after %d pieces it is %q", i+1, text)
		}
	}
}
