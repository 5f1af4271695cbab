package excerpt

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// cuts passes the bytes p to `write` in pieces of arbitrary sizes.
func cuts(t *rapid.T, p []byte, write func([]byte)) {
	for len(p) > 0 {
		n := rapid.IntRange(1, len(p)).Draw(t, "cut")
		write(p[:n])
		p = p[n:]
	}
}

func TestKeepIsRightForAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 200, -1).Draw(t, "text")
		limit := rapid.IntRange(8, 60).Draw(t, "limit")
		k := ends{limit: limit}
		cuts(t, []byte(text), func(p []byte) { k.Write(p) })

		got := k.String()
		if len(text) <= limit {
			if got != text {
				t.Fatalf("got %q, want all of %q", got, text)
			}
			return
		}
		head, rest, ok := strings.Cut(got, "\n[... ")
		if !ok {
			t.Fatalf("no mark in %q", got)
		}
		var left int
		if _, err := fmt.Sscanf(rest, "%d bytes left out", &left); err != nil {
			t.Fatalf("the mark does not say how much: %q", got)
		}
		_, tail, _ := strings.Cut(rest, " bytes left out ...]\n")
		switch {
		case !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail):
			t.Fatalf("head %q or tail %q are not those of %q", head, tail, text)
		case len(head)+left+len(tail) != len(text):
			t.Fatalf("%d + %d + %d bytes are not %d", len(head), left, len(tail), len(text))
		case !utf8.ValidString(got):
			t.Fatalf("cut inside a character: %q", got)
		case len(head) < limit/2-3 || len(tail) < limit/2-3 || len(head)+len(tail) > limit:
			t.Fatalf("kept %d and %d bytes of a limit of %d", len(head), len(tail), limit)
		}
	})
}

func TestKeepUsesBoundedMemory(t *testing.T) {
	k := ends{limit: 1000}
	for range 10_000 {
		k.Write([]byte(strings.Repeat("x", 99)))
	}
	if n := cap(k.head) + cap(k.tail); n > 8*1000 {
		t.Errorf("%d bytes held for a limit of 1000", n)
	}
}

func TestTextStreamDoesNotDependOnCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40),
			rapid.Map(rapid.StringN(0, 20, -1), func(s string) []byte { return []byte(s) }),
		).Draw(t, "raw")
		var s decoder
		var got strings.Builder
		cuts(t, raw, func(p []byte) {
			out := s.push(p)
			if !utf8.Valid(out) {
				t.Fatalf("a chunk is not valid UTF-8: %q", out)
			}
			got.Write(out)
		})
		got.Write(s.flush())

		// Go's conversion to runes replaces each invalid byte, as Transcript must do.
		if want := string([]rune(string(raw))); got.String() != want {
			t.Fatalf("got %q, want %q", got.String(), want)
		}
	})
}

func TestCutAtRune(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(0, 50).Draw(t, "n")
		got := string(Cut([]byte(text), n))
		if len(got) > n || !strings.HasPrefix(text, got) || !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q", text, n, got)
		}
		if len(got) < min(len(text), n)-3 {
			t.Fatalf("Cut(%q, %d) = %q, too short", text, n, got)
		}
	})
}
