package streams

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// FuzzTerminal cuts terminal output at random places and streams it to a server. It checks that the
// streamed text equals the output with each byte that is not UTF-8 replaced by U+FFFD, and that no
// chunk splits a character.
func FuzzTerminal(f *testing.F) {
	f.Add([]byte("hello"), []byte{2, 1})
	f.Add([]byte("é€😀"), []byte{1})
	f.Add([]byte("a\xe2\x82b\xff\xfe\xfdc\xf0\x9f\x98"), []byte{1, 2})
	f.Add([]byte("\xe2\x82\xac\xe2\x82"), []byte{4, 1, 0, 9})
	f.Fuzz(func(t *testing.T, output, cuts []byte) {
		server, st := newShown(t, t.Context())
		rest := output
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			st.Terminal("stdout", rest[:n])
			rest = rest[n:]
		}
		flush(t, st)
		var want strings.Builder
		for p := output; len(p) > 0; {
			r, size := utf8.DecodeRune(p)
			want.WriteRune(r) // for an invalid byte, r is U+FFFD and its size is 1
			p = p[size:]
		}
		got := strings.TrimPrefix(strings.Join(server.list(), ""), string(perdure.EventTerminal)+"stdout:")
		if got != want.String() {
			t.Errorf("%q was shown as %q, want %q", output, got, want.String())
		}
		if len(server.bad) > 0 {
			t.Errorf("pieces that split a character: %v", server.bad)
		}
	})
}
