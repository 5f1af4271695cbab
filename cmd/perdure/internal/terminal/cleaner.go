package terminal

import (
	"strings"

	"github.com/perdure/perdure/internal/visible"
)

// cleaner removes escape sequences and control characters from a text, so that output of a model or
// a tool cannot control the terminal. A sequence may be split between two pieces. Characters that
// could deceive a reader are escaped.
type cleaner struct {
	state       cleanerState
	escaper     visible.Escaper
	afterReturn bool // the last character was a carriage return
}

type cleanerState int

const (
	inText   cleanerState = iota
	inEscape              // after ESC
	inCSI                 // in a control sequence: parameters, then one letter
	inString              // in a string, such as a window title, up to BEL or ESC \
)

const (
	bel = 0x07
	esc = 0x1b
)

// clean returns the visible text of the next piece. Carriage returns, as in progress bars, become
// line ends.
func (p *cleaner) clean(text string) string {
	if p.state == inText && !p.afterReturn && visible.Printable(text) {
		return p.escaper.Escape(text)
	}
	return p.cleanSlowly(text)
}

func (p *cleaner) cleanSlowly(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if p.state != inText {
			p.skip(r)
			continue
		}
		if p.afterReturn {
			p.afterReturn = false
			b.WriteByte('\n')
			if r == '\n' {
				continue
			}
		}
		switch {
		case r == '\r':
			p.afterReturn = true
		case r == esc:
			p.state = inEscape
		case r == 0x9b:
			p.state = inCSI
		case r == '\n' || r == '\t' || (r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f)):
			b.WriteRune(r)
		}
	}
	return p.escaper.Escape(b.String())
}

// skip processes a character of an escape sequence.
func (p *cleaner) skip(r rune) {
	switch p.state {
	case inEscape:
		switch r {
		case '[':
			p.state = inCSI
		case ']', 'P', 'X', '^', '_':
			p.state = inString
		case ' ', '#', '%', '(', ')', '*', '+': // one more character follows
		default:
			p.state = inText
		}
	case inCSI:
		if r >= 0x40 && r <= 0x7e {
			p.state = inText
		}
	case inString:
		switch r {
		case bel:
			p.state = inText
		case esc:
			p.state = inEscape
		}
	}
}

// Clean removes escape sequences and control characters from a whole text, like cleaner.
func Clean(text string) string {
	var p cleaner
	return p.clean(text)
}
