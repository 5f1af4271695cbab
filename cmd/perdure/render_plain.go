package main

import "strings"

// plain removes escape sequences and control characters from a text, so that output of a model or a
// tool cannot control the terminal. A sequence may be split between two pieces. Other characters
// become visible.
type plain struct {
	state   plainState
	show    shower
	carried bool // the last character was a carriage return
}

type plainState int

const (
	plainText   plainState = iota
	plainEscape            // after ESC
	plainCSI               // in a control sequence: parameters, then one letter
	plainString            // in a string, such as a window title, up to BEL or ESC \
)

const (
	bel = 0x07
	esc = 0x1b
)

// clean returns the visible text of the next piece. Carriage returns, as in progress bars, become
// line ends.
func (p *plain) clean(text string) string {
	if p.state == plainText && !p.carried && printable(text) {
		return p.show.show(text)
	}
	return p.cleanSlowly(text)
}

func (p *plain) cleanSlowly(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if p.state != plainText {
			p.skip(r)
			continue
		}
		if p.carried {
			p.carried = false
			b.WriteByte('\n')
			if r == '\n' {
				continue
			}
		}
		switch {
		case r == '\r':
			p.carried = true
		case r == esc:
			p.state = plainEscape
		case r == 0x9b:
			p.state = plainCSI
		case r == '\n' || r == '\t' || (r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f)):
			b.WriteRune(r)
		}
	}
	return p.show.show(b.String())
}

// skip processes a character of an escape sequence.
func (p *plain) skip(r rune) {
	switch p.state {
	case plainEscape:
		switch r {
		case '[':
			p.state = plainCSI
		case ']', 'P', 'X', '^', '_':
			p.state = plainString
		case ' ', '#', '%', '(', ')', '*', '+': // one more character follows
		default:
			p.state = plainText
		}
	case plainCSI:
		if r >= 0x40 && r <= 0x7e {
			p.state = plainText
		}
	case plainString:
		switch r {
		case bel:
			p.state = plainText
		case esc:
			p.state = plainEscape
		}
	}
}

// cleanAll is clean for a whole text.
func cleanAll(text string) string {
	var p plain
	return p.clean(text)
}
