package sealed_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/sealed"
)

var secret = bytes.Repeat([]byte("secret! "), 4)

func box(t *testing.T, secret []byte, org, purpose string) *sealed.Box {
	t.Helper()
	b, err := sealed.New(secret, org, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSealedComesBack checks that a sealed text can be opened, and that sealing the same text again
// has the same result. A text over MaxPlain is not sealed.
func TestSealedComesBack(t *testing.T) {
	b := box(t, secret, "o", "p")
	large := bytes.Repeat([]byte("a line of a thought\n"), sealed.MaxPlain/20)
	noise := make([]byte, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for _, plain := range [][]byte{nil, []byte("hello"), large, noise} {
		text := b.Seal(plain)
		if got, err := b.Open(text); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%d bytes came back as %d: %v", len(plain), len(got), err)
		}
		if text != box(t, secret, "o", "p").Seal(plain) || len(text) > sealed.MaxText {
			t.Errorf("%d bytes: sealed again it is another text, or of %d bytes", len(plain), len(text))
		}
		if len(plain) > 0 && len(plain) < 10 && strings.Contains(text, string(plain)) {
			t.Errorf("%s can be read", text)
		}
	}
	if text := b.Seal(make([]byte, sealed.MaxPlain+1)); text != "" {
		t.Errorf("over the bound it is sealed as %d bytes", len(text))
	}
}

// TestNothingElseIsOpened checks that Open refuses texts of another org, purpose or installation,
// and texts that were changed, cut or extended.
func TestNothingElseIsOpened(t *testing.T) {
	b := box(t, secret, "o", "p")
	text := b.Seal([]byte("hello"))
	for name, other := range map[string]*sealed.Box{
		"org": box(t, secret, "o2", "p"), "purpose": box(t, secret, "o", "p2"), "installation": box(t, bytes.Repeat([]byte("another."), 4), "o", "p"),
	} {
		if got, err := other.Open(text); !errors.Is(err, sealed.ErrForeign) {
			t.Errorf("another %s opened %q: %v", name, got, err)
		}
	}
	for i := range len(text) {
		for _, c := range []byte("Az0-\n=") {
			if changed := text[:i] + string(c) + text[i+1:]; changed != text {
				if got, err := b.Open(changed); !errors.Is(err, sealed.ErrForeign) {
					t.Fatalf("with %q at %d it opened as %q: %v", c, i, got, err)
				}
			}
		}
		if got, err := b.Open(text[:i]); !errors.Is(err, sealed.ErrForeign) {
			t.Fatalf("cut at %d it opened as %q: %v", i, got, err)
		}
	}
	for _, bad := range []string{text + "\n", text + "A", "prd1.", "gAAAAABo", strings.Repeat("A", sealed.MaxText+1)} {
		if got, err := b.Open(bad); !errors.Is(err, sealed.ErrForeign) {
			t.Errorf("%d bytes opened as %q: %v", len(bad), got, err)
		}
	}
	if _, err := sealed.New(secret[:31], "o", "p"); err == nil {
		t.Error("a short secret is taken")
	}
}
