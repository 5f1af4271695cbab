package perdure

import (
	"errors"
	"io"
	"unicode/utf8"
)

// scanner reads a JSON text once, through a buffer that it refills.
type scanner struct {
	in     io.Reader // nil if the whole text is in buf
	buf    []byte
	pos    int
	failed error // error of the reader in

	root    string
	rules   DocumentRules
	open    []container
	values  int
	keys    int // number of keys in all open containers
	doubled bool
	word    []byte // the key or number being read
}

// peek returns the next byte without consuming it, or 0 at the end of the text. A zero byte inside the
// text is invalid JSON, so 0 is not ambiguous.
func (s *scanner) peek() byte {
	if s.pos == len(s.buf) && !s.fill() {
		return 0
	}
	return s.buf[s.pos]
}

func (s *scanner) fill() bool {
	if s.in == nil || s.failed != nil {
		return false
	}
	for {
		n, err := s.in.Read(s.buf[:cap(s.buf)])
		if n == 0 && err == nil {
			continue
		}
		s.buf, s.pos = s.buf[:n], 0
		if err != nil && !errors.Is(err, io.EOF) {
			s.failed = err
		}
		return n > 0
	}
}

func (s *scanner) atEnd() bool { return s.pos == len(s.buf) && !s.fill() }

func (s *scanner) space() byte {
	for {
		switch c := s.peek(); c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
}

func (s *scanner) refuse(format string, args ...any) error {
	return FieldErrorf(pathOfKeys(s.root, s.open), format, args...)
}

func (s *scanner) malformed() error {
	return FieldErrorf(s.root, "is not valid JSON in UTF-8")
}

// document reads the whole text, which must consist of a single value.
func (s *scanner) document() error {
	if err := s.value(); err != nil {
		return err
	}
	for len(s.open) > 0 {
		if err := s.next(); err != nil {
			return err
		}
	}
	if s.space(); !s.atEnd() {
		return s.malformed()
	}
	return nil
}

// next reads the next element or member of the innermost open container, or the end of the container.
func (s *scanner) next() error {
	c, in := s.space(), &s.open[len(s.open)-1]
	switch {
	case c == in.end:
		s.pos++
		s.close()
		return nil
	case in.items == 0:
	case c != ',':
		return s.malformed()
	default:
		s.pos++
		s.space()
	}
	if in.end == ']' {
		if err := s.element(in); err != nil {
			return err
		}
		return s.value()
	}
	if err := s.key(in); err != nil {
		return err
	}
	if s.space() != ':' {
		return s.malformed()
	}
	s.pos++
	return s.value()
}

// value reads a scalar, or the opening bracket of an object or array.
func (s *scanner) value() error {
	if s.values++; s.rules.Values > 0 && s.values > s.rules.Values {
		return FieldErrorf(s.root, "holds over %d values; send large content by reference", s.rules.Values)
	}
	switch c := s.space(); {
	case c == '{' || c == '[':
		s.pos++
		return s.enter(c + 2) // in ASCII, } and ] come two places after { and [
	case c == '"':
		return s.text(nil, 0)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.malformed()
}

func (s *scanner) literal(want string) error {
	for i := range len(want) {
		if s.peek() != want[i] {
			return s.malformed()
		}
		s.pos++
	}
	return nil
}

// digits reads digits and reports whether there was at least one.
func (s *scanner) digits() bool {
	read := false
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
		read = true
	}
	return read
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.malformed()
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.malformed()
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.malformed()
		}
	}
	return nil
}

// text reads a JSON string. If the pointer `keep` is not nil, the bytes between the quotes are
// appended to its target, until the target has more than `limit` bytes.
func (s *scanner) text(keep *[]byte, limit int) error {
	s.pos++ // the quote
	for {
		c := s.peek()
		if keep != nil && len(*keep) <= limit && c != '"' {
			*keep = append(*keep, c)
		}
		switch {
		case c == '"':
			s.pos++
			return nil
		case c < ' ':
			return s.malformed() // also at the end of the text
		case c == '\\':
			s.pos++
			if err := s.escape(keep, limit); err != nil {
				return err
			}
		case c < utf8.RuneSelf:
			s.pos++
			if keep == nil {
				s.pos += plainRun(s.buf[s.pos:])
			}
		default:
			if err := s.character(keep, limit); err != nil {
				return err
			}
		}
	}
}

func (s *scanner) escape(keep *[]byte, limit int) error {
	c, hex := s.peek(), 0
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		hex = 4
	default:
		return s.malformed()
	}
	for {
		if keep != nil && len(*keep) <= limit {
			*keep = append(*keep, c)
		}
		s.pos++
		if hex == 0 {
			return nil
		}
		hex--
		if c = s.peek(); !isHex(c) {
			return s.malformed()
		}
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// character reads a UTF-8 character of several bytes, whose first byte has already been stored.
func (s *scanner) character(keep *[]byte, limit int) error {
	var raw [utf8.UTFMax]byte
	n := 0
	for n < len(raw) && !utf8.FullRune(raw[:n]) {
		c := s.peek()
		if c < utf8.RuneSelf {
			break
		}
		raw[n] = c
		s.pos++
		n++
	}
	if r, size := utf8.DecodeRune(raw[:n]); r == utf8.RuneError && size <= 1 || size != n {
		return s.refuse("holds bytes that are not UTF-8")
	}
	if keep != nil && len(*keep) <= limit {
		*keep = append(*keep, raw[1:n]...)
	}
	return nil
}
