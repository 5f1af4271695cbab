package tool

import (
	"strings"
	"unicode/utf8"
)

const utf8Max = utf8.UTFMax

// textStream converts a byte stream to valid UTF-8. Each invalid byte becomes U+FFFD; an unfinished
// character waits for its remaining bytes. The result does not depend on how the stream is split.
type textStream struct {
	rest []byte // the start of an unfinished character, at most three bytes
}

// push returns the text that p completes. The result is valid until the next call.
func (s *textStream) push(p []byte) []byte {
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
func (s *textStream) flush() []byte {
	out := []byte(strings.Repeat(string(utf8.RuneError), len(s.rest)))
	s.rest = nil
	return out
}

// validText returns all of p as valid UTF-8.
func validText(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	var s textStream
	return string(s.push(p)) + string(s.flush())
}

// cutAtRune returns the longest prefix of p that has at most n bytes and does not end inside a
// character.
func cutAtRune(p []byte, n int) []byte {
	if len(p) <= n {
		return p
	}
	for back := 0; back < utf8.UTFMax && n-back >= 0; back++ {
		if utf8.RuneStart(p[n-back]) {
			return p[:n-back]
		}
	}
	return p[:n]
}
