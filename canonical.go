package perdure

import (
	"bytes"
	"slices"
)

// deepest is the maximum nesting depth that plainCanonical accepts.
const deepest = 32

// plainCanonical returns the canonical form (RFC 8785) of simple JSON. It is faster than code that
// applies all rules. Simple JSON is ASCII, with whole numbers of at most 15 digits and only escapes
// that the canonical form keeps. Names in its objects are unique and have no escapes. For other
// JSON, and for invalid JSON, ok is false and the caller applies all rules. This fast path is
// useful because the key of each task needs the canonical form of the task's input, and most inputs
// are simple.
func plainCanonical(input []byte) (out []byte, ok bool) {
	p := plainParser{in: input, out: make([]byte, 0, len(input))}
	if !p.value(0) {
		return nil, false
	}
	p.space()
	return p.out, p.at == len(p.in)
}

// plainParser is a parser of simple JSON, as plainCanonical defines it.
type plainParser struct {
	in  []byte
	at  int
	out []byte
}

func (p *plainParser) space() {
	for p.at < len(p.in) && bytes.IndexByte([]byte(" \t\r\n"), p.in[p.at]) >= 0 {
		p.at++
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (p *plainParser) peek() byte {
	p.space()
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

// take consumes c and copies it to p.out, if c is the next byte after white space. It reports
// whether it did so.
func (p *plainParser) take(c byte) bool {
	if p.peek() != c || c == 0 {
		return false
	}
	p.at++
	p.out = append(p.out, c)
	return true
}

func (p *plainParser) value(depth int) bool {
	switch c := p.peek(); {
	case c == '{':
		return depth < deepest && p.object(depth)
	case c == '[':
		return depth < deepest && p.array(depth)
	case c == '"':
		_, ok := p.text()
		return ok
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.word("true") || p.word("false") || p.word("null")
}

func (p *plainParser) word(w string) bool {
	if !bytes.HasPrefix(p.in[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	p.out = append(p.out, w...)
	return true
}

func (p *plainParser) array(depth int) bool {
	p.take('[')
	if p.take(']') {
		return true
	}
	for p.value(depth + 1) {
		if p.take(']') {
			return true
		}
		if !p.take(',') {
			return false
		}
	}
	return false
}

// number copies an integer of at most 15 digits, which float64 represents exactly. It returns
// false for every other number, such as -0, 1.0 and 1e3, because their canonical form may differ.
func (p *plainParser) number() bool {
	from := p.at
	if p.in[p.at] == '-' {
		p.at++
	}
	digits := p.at
	for p.at < len(p.in) && p.in[p.at] >= '0' && p.in[p.at] <= '9' {
		p.at++
	}
	n := p.at - digits
	if n == 0 || n > 15 || p.in[digits] == '0' && (n > 1 || digits > from) {
		return false
	}
	if p.at < len(p.in) && bytes.IndexByte([]byte(".eE"), p.in[p.at]) >= 0 {
		return false
	}
	p.out = append(p.out, p.in[from:p.at]...)
	return true
}

// text copies a string and returns the bytes between its quotes. ok is false if the string is not
// simple, as plainCanonical defines it.
func (p *plainParser) text() (inside []byte, ok bool) {
	from := p.at
	for p.at++; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; {
		case c == '"':
			p.at++
			p.out = append(p.out, p.in[from:p.at]...)
			return p.in[from+1 : p.at-1], true
		case c == '\\':
			if p.at++; p.at == len(p.in) || bytes.IndexByte([]byte(`"\bfnrt`), p.in[p.at]) < 0 {
				return nil, false
			}
		case c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// member is the position of one member of a JSON object in plainParser.out.
type member struct {
	name     []byte
	from, to int
}

func (p *plainParser) object(depth int) bool {
	p.take('{')
	if p.take('}') {
		return true
	}
	var members []member
	for first := len(p.out); ; {
		m := member{from: len(p.out)}
		if p.peek() != '"' {
			return false
		}
		var ok bool
		if m.name, ok = p.text(); !ok || bytes.IndexByte(m.name, '\\') >= 0 || !p.take(':') || !p.value(depth+1) {
			return false
		}
		m.to = len(p.out)
		members = append(members, m)
		if p.peek() != ',' {
			return p.sort(first, members) && p.take('}')
		}
		p.take(',')
	}
}

// sort orders the members of an object in p.out by their names. The object's first member begins at
// p.out[first]. sort returns false if two members have the same name.
func (p *plainParser) sort(first int, members []member) bool {
	order := func(a, b member) int { return bytes.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(members, order) {
		slices.SortFunc(members, order)
		sorted := make([]byte, 0, len(p.out)-first)
		for i, m := range members {
			if i > 0 {
				sorted = append(sorted, ',')
			}
			sorted = append(sorted, p.out[m.from:m.to]...)
		}
		copy(p.out[first:], sorted)
	}
	for i := 1; i < len(members); i++ {
		if bytes.Equal(members[i-1].name, members[i].name) {
			return false
		}
	}
	return true
}
