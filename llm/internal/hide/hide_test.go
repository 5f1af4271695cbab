package hide

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/llm/internal/hide/hidetest"
	"pgregory.net/rapid"
)

const testKey = hidetest.Key

func TestAKeyIsHiddenHoweverItIsWritten(t *testing.T) {
	h := New(testKey)
	for name, text := range hidetest.Writings(testKey) {
		whole := "before " + text + " after"
		if !hidetest.Readable(whole, testKey) {
			t.Fatalf("%s: the test cannot read %q", name, whole)
		}
		got := h.Hide(whole)
		if hidetest.Readable(got, testKey) || !strings.Contains(got, hiddenKey) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", name, whole, got)
		}
	}
}

// TestTextWithoutTheKeyIsUnchanged checks that Hide does not change a text without the key, and
// that a key of only eight characters is hidden.
func TestTextWithoutTheKeyIsUnchanged(t *testing.T) {
	h := New(testKey)
	for _, text := range []string{
		"", "%", "100%", "%4", "%zz %", `\`, `a\`, `\u`, `\u00`, `\u004`, `\u12345 \n\"\\`, `\ud83d\ude00`, `C:\users`, "plain ü 漢字 \U0001f600", testKey[:hiddenPiece-1], testKey[1:hiddenPiece] + " " + testKey[5:5+hiddenPiece-1],
		"\xff\xfe invalid", hex.EncodeToString([]byte(testKey[:hiddenPiece-1])), strings.Repeat("sk-test-", 1000), `{"a":"` + testKey[:6] + `"}`,
	} {
		if got := h.Hide(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := New("sh0rtk3y").Hide("a sh0rtk3y b"); got != "a [key] b" {
		t.Errorf("a short key: %q", got)
	}
}

// TestHidingDoesNotDependOnSplits checks that a Hider returns the same text for random pieces as
// for the whole text, and that this text does not contain the key. Between pieces, the Hider
// withholds fewer than 48 characters.
func TestHidingDoesNotDependOnSplits(t *testing.T) {
	h := New(testKey)
	all := hidetest.Writings(testKey)
	names := rapid.SampledFrom(slices.Sorted(maps.Keys(all)))
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			text.WriteString(rapid.StringMatching(`[a-z %=ü-]{0,6}`).Draw(t, "between"))
			piece := all[names.Draw(t, "writing")]
			text.WriteString(piece[:rapid.IntRange(0, len(piece)).Draw(t, "length")])
		}
		whole := text.String()
		want := h.Hide(whole)
		if hidetest.Readable(want, testKey) {
			t.Fatalf("%q became %q", whole, want)
		}
		one := h.Fresh()
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got.WriteString(one.Piece(rest[:n]))
			rest = rest[n:]
			if len(one.plain.held)+len(one.percent.held)+len(one.json.held) >= 4*hiddenPiece {
				t.Fatalf("%d characters are held", len(one.plain.held)+len(one.percent.held)+len(one.json.held))
			}
		}
		got.WriteString(one.End())
		if got.String() != want {
			t.Fatalf("in pieces %q, whole %q", got.String(), want)
		}
	})
}

func FuzzHider(f *testing.F) {
	for _, text := range hidetest.Writings(testKey) {
		f.Add(text, uint8(3))
	}
	f.Add("%7%73k", uint8(1))
	h := New(testKey)
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		want, one, got := h.Hide(text), h.Fresh(), ""
		for rest := text; rest != ""; {
			n := min(int(size%7)+1, len(rest))
			got += one.Piece(rest[:n])
			rest = rest[n:]
		}
		if got += one.End(); got != want {
			t.Fatalf("in pieces %q, whole %q", got, want)
		}
		if len(text) < 2000 && hidetest.Readable(want, testKey) {
			t.Fatalf("%q became %q", text, want)
		}
		if want != text && !strings.Contains(want, hiddenKey) {
			t.Fatalf("%q became %q", text, want)
		}
	})
}
