package llm

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The constants below define marks for halves of surrogate pairs. JSON may write a character beyond
// U+FFFF as two escapes (a surrogate pair), and a provider may send the two escapes in different
// deltas. Each delta is a JSON text of its own, and every decoder replaces half of a pair with
// U+FFFD (RFC 8259, section 8.2). So before an SDK decodes the delta, each half is replaced by a
// mark, which is a character of private use plane 16. A joiner later replaces two marks by their
// character. A real character of that plane is also replaced by two marks, so a mark is never
// mistaken for a character.
const (
	firstHalf = 0xD800 // the first half in Unicode
	lastHalf  = 0xDFFF
	firstLow  = 0xDC00

	firstMark = 0x10F800 // mark of firstHalf; the last mark is U+10FFFF
)

func markOf(half rune) rune { return firstMark + half - firstHalf }

// halfOf returns the half of a surrogate pair that the character r marks; 0 if r is not a mark.
func halfOf(r rune) rune {
	if r < firstMark {
		return 0
	}
	return r - firstMark + firstHalf
}

// joiner joins the marked halves of surrogate pairs in the texts of one part. Its methods must be
// called in the order of the texts.
type joiner struct{ held rune }

// join returns the next text of the part. It replaces each pair of marked halves by its character.
// A first half at the end of the text is withheld until the next call.
func (j *joiner) join(text string) string {
	if j.held == 0 && !strings.ContainsFunc(text, func(r rune) bool { return r >= firstMark }) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		half := halfOf(r)
		switch {
		case j.held != 0 && half >= firstLow:
			out.WriteRune(utf16.DecodeRune(j.held, half))
			j.held = 0
			continue
		case j.held != 0:
			out.WriteRune(utf8.RuneError)
			j.held = 0
		}
		switch {
		case half == 0:
			out.WriteRune(r)
		case half < firstLow:
			j.held = half
		default:
			out.WriteRune(utf8.RuneError)
		}
	}
	return out.String()
}

// end ends the part. It returns U+FFFD if join still withholds a half, and otherwise "".
func (j *joiner) end() string {
	if j.held == 0 {
		return ""
	}
	j.held = 0
	return string(utf8.RuneError)
}

// Joined returns a whole text in which each pair of marks of MarkHalves is replaced by its
// character. A mark of a single half becomes U+FFFD.
func Joined(text string) string {
	var j joiner
	text = j.join(text)
	return text + j.end()
}

// Escaped returns the JSON with \u escapes in place of marks, as the provider sent it.
func Escaped(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r >= firstMark }) {
		return raw
	}
	var out []byte
	for _, r := range string(raw) {
		if half := halfOf(r); half != 0 {
			out = appendEscape(out, half)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

func appendEscape(out []byte, half rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[half>>12&15], hex[half>>8&15], hex[half>>4&15], hex[half&15])
}

// MarkHalves returns a body in which marks replace the JSON escapes of single halves of surrogate
// pairs. A mark is a private use character. The body must consist of JSON texts, such as the data
// of events. A Builder from NewWireBuilder joins the marked halves that a server has sent in
// different events.
func MarkHalves(body io.ReadCloser) io.ReadCloser {
	return &marker{ReadCloser: body, in: make([]byte, 16<<10)}
}

// marker is a reader that marks the halves of surrogate pairs in the bytes that are read through
// it.
type marker struct {
	io.ReadCloser
	in   []byte
	rest []byte // the beginning of an escape or a character, not marked yet
	out  []byte // marked and not yet read by the caller
	err  error
}

func (m *marker) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		n, err := m.ReadCloser.Read(m.in)
		m.rest = append(m.rest, m.in[:n]...)
		m.err = err
		m.out, m.rest = mark(m.out[:0], m.rest, err != nil)
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// Marked does the same as MarkHalves, for one text in memory.
func Marked(text []byte) []byte {
	out, _ := mark(nil, text, true)
	return out
}

// mark appends the text, with marks, to `out`. If the text ends within an escape or a character,
// mark returns these last bytes as `rest`. If `whole` is set, the body has no more bytes, and
// `rest` is empty.
func mark(out, text []byte, whole bool) (marked, rest []byte) {
	for len(text) > 0 {
		i := bytes.IndexFunc(text, func(r rune) bool { return r == '\\' || r >= firstMark || r == utf8.RuneError })
		if i < 0 {
			return append(out, text...), nil
		}
		out, text = append(out, text[:i]...), text[i:]
		var n int
		if text[0] == '\\' {
			out, n = markEscape(out, text, whole)
		} else {
			out, n = markRune(out, text, whole)
		}
		if n == 0 {
			return out, bytes.Clone(text)
		}
		text = text[n:]
	}
	return out, nil
}

// markEscape appends the escape at the beginning of a text to `out`. It replaces a half of a
// surrogate pair by a mark (see firstMark), unless the other half follows. The second result is the
// number of bytes of the text that markEscape has handled. It is 0 if markEscape needs more text to
// decide; it is never 0 if `whole` is set.
func markEscape(out, text []byte, whole bool) ([]byte, int) {
	half, n := escapeAt(text)
	if n == 0 && !whole {
		return out, 0
	}
	if n == 0 {
		return append(out, text...), len(text)
	}
	if half == 0 {
		return append(out, text[:n]...), n
	}
	low, m := rune(0), 0
	if half < firstLow {
		if low, m = escapeAt(text[n:]); m == 0 && !whole && couldBeLow(text[n:]) {
			return out, 0
		}
	}
	if low >= firstLow {
		if utf16.DecodeRune(half, low) < firstMark {
			return append(out, text[:n+m]...), n + m
		}
		return utf8.AppendRune(utf8.AppendRune(out, markOf(half)), markOf(low)), n + m
	}
	return utf8.AppendRune(out, markOf(half)), n
}

// couldBeLow reports whether the second half of a surrogate pair may follow, given the rest of the
// text received so far.
func couldBeLow(text []byte) bool { return len(text) == 0 || text[0] == '\\' }

// escapeAt parses the escape at the beginning of text. The result `half` is the half of a surrogate
// pair that the escape encodes, or 0. The result n is the length of the escape; 0 if there is no
// complete escape.
func escapeAt(text []byte) (half rune, n int) {
	switch {
	case len(text) < 2 || text[0] != '\\':
		return 0, 0
	case text[1] != 'u':
		return 0, 2
	case len(text) < 6:
		return 0, 0
	}
	for _, b := range text[2:6] {
		d := strings.IndexByte("0123456789abcdef", b|0x20)
		if d < 0 || b < '0' {
			return 0, 2 // invalid JSON is left unchanged
		}
		half = half<<4 | rune(d)
	}
	if half < firstHalf || half > lastHalf {
		half = 0
	}
	return half, 6
}

// markRune appends the character at the beginning of a text to `out`, or two marks if the character
// is in the range of the marks. Invalid bytes are appended unchanged. markRune also returns the
// length of the character in bytes; 0 if the character is incomplete.
func markRune(out, text []byte, whole bool) ([]byte, int) {
	r, n := utf8.DecodeRune(text)
	switch {
	case r >= firstMark:
		high, low := utf16.EncodeRune(r)
		return utf8.AppendRune(utf8.AppendRune(out, markOf(high)), markOf(low)), n
	case n == 1 && !utf8.FullRune(text) && !whole:
		return out, 0
	}
	return append(out, text[:n]...), n
}
