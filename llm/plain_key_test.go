package llm

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/internal/hide"
)

var plainKeys = []string{
	"", "none", "password", "Password", "PASSWORD", "not-needed", "lm-studio", "changeme.now", "No Key Needed", "12345678", "2024-01-01",
	"00000000", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "abababababababababab", "--------",
}

var secretKeys = []string{
	testKey, "password1", "aBcDeFgH", "p4ssw0rd", "correct-horse-battery-staple", "sk-abcdefgh1", "hunter2!", "0123456789012345678901",
}

// TestPlainKeysAreNotHidden checks that placeholder keys are not secrets, and that Guarded leaves
// a text with such a key unchanged.
func TestPlainKeysAreNotHidden(t *testing.T) {
	for _, key := range plainKeys {
		if !PlainKey(key) {
			t.Errorf("%q counts as a secret", key)
		}
		said := "Enter your " + key + " here."
		var heard string
		resp, err := Guarded(key, func(d Delta) error { heard += d.Text; return nil }, func(emit func(Delta) error) (*Response, error) {
			err := emit(Delta{Kind: DeltaText, Text: said})
			return &Response{Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartText, Text: said}}}}, err
		})
		if err != nil || heard != said || resp.Parts[0].Text != said {
			t.Errorf("with the key %q it says %q and %+v (%v)", key, heard, resp, err)
		}
	}
}

// TestSecretKeysAreHidden checks that keys of at least 8 characters that are not placeholders count as
// secrets, and that Guarded hides them in a text.
func TestSecretKeysAreHidden(t *testing.T) {
	for _, key := range secretKeys {
		if PlainKey(key) {
			t.Errorf("%q counts as no secret", key)
		}
		if got := hide.New(key).Hide("it is " + key + "."); strings.Contains(got, key) {
			t.Errorf("of %q stays %q", key, got)
		}
	}
}
