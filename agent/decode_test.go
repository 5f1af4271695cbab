package agent

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzDecodeText checks that decodeText decodes a string as json.Unmarshal does, or returns false.
func FuzzDecodeText(f *testing.F) {
	for _, s := range []string{
		`""`, `"a"`, `"a\nb\t\"\\\/\b\f\r"`, `"\u00e9"`, `"é"`, "\"a\nb\"", `"`, `"a`, `a"`, `null`, ` "a"`, `"a" `, `"\"`, `"\x"`, `"a"b"`, "\"\xff\"", `"\\"`, `{"a":"b"}`, "\"\x7f\"", "\"\u2028\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got, want string
		if !decodeText(raw, &got) {
			return
		}
		if err := json.Unmarshal(raw, &want); err != nil || got != want {
			t.Errorf("%q decodes to %q, not to %q (%v)", raw, got, want, err)
		}
	})
}

// TestTypicalTextsAreDecodedWithoutUnmarshal checks that decodeText decodes typical texts, such as
// documentation, without json.Unmarshal.
func TestTypicalTextsAreDecodedWithoutUnmarshal(t *testing.T) {
	for _, text := range []string{"", "plain", "two\nlines\tand a \"quote\" and C:\\dir", "Grüße, 你好 🙂", strings.Repeat("x\n", 10_000)} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if !decodeText(raw, &got) || got != text {
			t.Errorf("%.40q: %.40q", text, got)
		}
	}
}
