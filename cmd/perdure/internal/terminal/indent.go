package terminal

import (
	"strings"
	"unicode/utf8"

	xansi "github.com/charmbracelet/x/ansi"
)

// gutter is the text at the beginning of each row of an indented text.
type gutter struct {
	text  string
	style Style
	// words breaks rows between words, as prose; else a row is broken where it is full.
	words bool
	// dense breaks a row within a word if the words before that word fill less than half of the row.
	dense bool
}

var (
	thinkingGutter = gutter{text: "┊ ", style: StyleDim, words: true}
	userGutter     = gutter{text: "› ", style: StyleUser, words: true}
	summaryGutter  = gutter{text: "│ ", style: StyleDim, words: true}
	outputGutter   = gutter{text: "  │ ", style: StyleDim}
	noticeGutter   = gutter{words: true}
	hangingGutter  = gutter{text: "    ", words: true, dense: true}
)

// hanging writes one or more separate lines. In a terminal, a line that is too long continues in rows
// with an indent.
func (p *page) hanging(s Style, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		p.newline()
		p.midLine, p.column = true, 0 // the first row has no indent
		p.indented(hangingGutter, s, strings.TrimSuffix(line, "\n"))
		p.newline()
	}
}

// indented is like the method write, but begins each row with a gutter, also the rows into which it
// wraps a line that is too long for the terminal.
func (p *page) indented(g gutter, s Style, text string) {
	width := p.width()
	for piece := range strings.Lines(text) {
		line, ended := strings.CutSuffix(piece, "\n")
		if !p.midLine {
			p.begin(g)
		}
		if width > 0 {
			line = p.escaper.Escape(line)
		}
		for width > 0 {
			head, rest, fits := p.fitting(g, line, width)
			p.write(s, head)
			p.column += xansi.StringWidth(head)
			if line = rest; fits {
				break
			}
			p.newline()
			p.begin(g)
		}
		p.write(s, line)
		if ended {
			p.midLine = true
			p.newline()
		}
	}
}

// Indented writes lines that begin with an indentation. In a terminal, each row of a wrapped line
// begins with this indentation, so that no part of the text can pass for another line.
func (s *Screen) Indented(indentation, text string) error {
	p := newPage(s)
	p.indented(gutter{text: indentation}, StyleNone, Visible(text)+"\n")
	return p.err
}

// begin writes the gutter of a new row.
func (p *page) begin(g gutter) {
	p.write(g.style, g.text)
	p.midLine, p.column = true, xansi.StringWidth(g.text)
}

// tabStop is the distance of the tab stops of a terminal.
const tabStop = 8

// fitting splits a line into the part that fits into the current row and the remaining part. `fits`
// reports that all of the line fits.
func (p *page) fitting(g gutter, line string, width int) (head, rest string, fits bool) {
	line = withoutTabs(line, p.column)
	room := width - p.column
	if xansi.StringWidth(line) <= room {
		return line, "", true
	}
	head = xansi.Truncate(line, max(room, 0), "")
	if g.words {
		at := strings.LastIndexByte(head, ' ')
		late := !g.dense || p.column+xansi.StringWidth(head[:at+1]) > width/2
		if at >= 0 && late && !strings.HasPrefix(line[len(head):], " ") {
			head = head[:at+1]
		}
	}
	if head == "" && p.column <= xansi.StringWidth(g.text) { // not even a character fits into a row
		_, n := utf8.DecodeRuneInString(line)
		head = line[:n]
	}
	rest = line[len(head):]
	if g.words {
		rest = strings.TrimPrefix(rest, " ")
	}
	return head, rest, false
}

// withoutTabs replaces tabs by spaces up to the next tab stop. `column` is the column in which the
// text begins.
func withoutTabs(text string, column int) string {
	for {
		before, after, ok := strings.Cut(text, "\t")
		if !ok {
			return text
		}
		text = before + strings.Repeat(" ", tabStop-(column+xansi.StringWidth(before))%tabStop) + after
	}
}
