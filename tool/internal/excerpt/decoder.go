package excerpt

import (
	"strings"
	"unicode/utf8"
)

// decoder converts a byte stream to valid UTF-8. Each invalid byte becomes U+FFFD. The bytes of an
// unfinished character are kept until its remaining bytes arrive. The result does not depend on how
// the stream is split.
type decoder struct {
	rest []byte // the start of an unfinished character, at most three bytes
}

// push adds the bytes p. It returns the characters that are now complete, without those that
// earlier calls have returned.
func (s *decoder) push(p []byte) []byte {
	in := append(s.rest, p...)
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		if !utf8.FullRune(in) {
			break
		}
		r, n := utf8.DecodeRune(in)
		out = utf8.AppendRune(out, r)
		in = in[n:]
	}
	s.rest = append([]byte(nil), in...)
	return out
}

// flush returns a replacement character for each byte of an unfinished character.
func (s *decoder) flush() []byte {
	out := []byte(strings.Repeat(string(utf8.RuneError), len(s.rest)))
	s.rest = nil
	return out
}
