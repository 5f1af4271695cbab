package main

import (
	"os"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// style is the style of a text in a terminal.
type style int

const (
	styleNone style = iota
	styleDim
	styleTool
	styleUser
	styleGood
	styleWarn
	styleError
	styleAdded
	styleRemoved
)

var styles = map[style]lipgloss.Style{
	styleDim:     lipgloss.NewStyle().Faint(true),
	styleTool:    lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
	styleUser:    lipgloss.NewStyle().Foreground(lipgloss.Blue).Bold(true),
	styleGood:    lipgloss.NewStyle().Foreground(lipgloss.Green),
	styleWarn:    lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	styleError:   lipgloss.NewStyle().Foreground(lipgloss.Red),
	styleAdded:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	styleRemoved: lipgloss.NewStyle().Foreground(lipgloss.Red),
}

// page writes text in sections, separated by blank lines. It stores the writer's first error and
// drops later output.
type page struct {
	w      *screen
	colour bool
	err    error
	show   shower

	// width returns the columns of the terminal, or 0 if there is none.
	width func() int
	// leave is called before the section changes.
	leave func()

	ticking bool   // the current line is temporary
	middle  bool   // the current line is not complete
	current string // section
	seq     int64  // block
}

func newPage(w *screen) *page {
	return &page{w: w, colour: wantsColour(w), width: func() int { return columns(w) }, leave: func() {}}
}

// columns returns the width of the terminal, or 0 if w is not one or cannot erase lines.
func columns(w *screen) int {
	f := w.file()
	if f == nil || os.Getenv("TERM") == "dumb" {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(n, 20)
}

// wantsColour reports whether w is a terminal and https://no-color.org does not forbid colors.
func wantsColour(w *screen) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	if s, ok := stream.(*screen); ok {
		stream = s.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// section begins a section of the kind, unless it is the current one.
func (p *page) section(kind string) {
	if p.current == kind {
		return
	}
	p.leave()
	p.newline()
	if p.current != "" {
		p.raw("\n")
	}
	p.current = kind
}

// block begins a new line, if the last text belongs to another block.
func (p *page) block(seq int64) {
	if p.seq != seq {
		p.seq = seq
		p.newline()
	}
}

// newline ends an incomplete line.
func (p *page) newline() {
	if p.middle {
		p.raw("\n")
		p.middle = false
	}
}

// line writes text as one or more separate lines.
func (p *page) line(s style, text string) {
	p.newline()
	p.write(s, strings.TrimRight(text, "\n"))
	p.newline()
}

// write appends to the current line. Each line has its own style sequences, so that an interrupted
// output does not leave the terminal in a color.
func (p *page) write(s style, text string) {
	for piece := range strings.Lines(p.show.show(text)) {
		body, ended := strings.CutSuffix(piece, "\n")
		p.raw(p.styled(s, body))
		p.middle = !ended
		if ended {
			p.raw("\n")
		}
	}
}

// indented is write with an indent at the start of each line.
func (p *page) indented(s style, indent, text string) {
	for piece := range strings.Lines(text) {
		if !p.middle {
			p.write(s, indent)
		}
		p.write(s, piece)
	}
}

func (p *page) styled(s style, text string) string {
	look, ok := styles[s]
	if !p.colour || !ok || text == "" {
		return text
	}
	return look.Inline(true).Render(text)
}

// raw writes text that is already visible and may contain style sequences.
func (p *page) raw(text string) {
	if text == "" {
		return
	}
	if p.ticking {
		p.ticking = false
		p.out(takeBack)
	}
	p.out(text)
}

func (p *page) out(text string) {
	if p.err == nil {
		p.err = p.w.paint(text)
	}
}

// takeBack moves to the start of the line and erases it.
const takeBack = "\r\x1b[2K"

// lastOf returns the end of a text with at most the given number of bytes, in whole characters. cut
// reports whether there is more before it. Its cost does not depend on the length of the text.
func lastOf(text string, most int) (end string, cut bool) {
	at := len(text) - most
	if at <= 0 {
		return text, false
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:], true
}

// tail shows the end of a text in a temporary line, which the next output replaces. "" only erases
// the line.
func (p *page) tail(text string) {
	room := p.width() - 3
	text, cut := lastOf(text, 8*p.width())
	text = strings.Join(strings.Fields(visible(text)), " ")
	if over := xansi.StringWidth(text) - room; over > 0 || cut && text != "" {
		text = "…" + xansi.TruncateLeft(text, max(over+1, 0), "")
	}
	if p.ticking {
		p.out(takeBack)
	}
	p.ticking = text != ""
	if p.ticking {
		p.out(p.styled(styleDim, text))
	}
}
