package terminal

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/visible"

	xansi "github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// page writes text to a screen in sections, separated by blank lines. After an error of the writer it drops
// all output and keeps that error in the field err.
type page struct {
	w       *Screen
	colour  bool
	err     error
	escaper visible.Escaper

	// width returns the number of columns of the terminal, or 0 if the output is not a terminal.
	width func() int
	// beforeSection is called at the end of a section, before the next one begins.
	beforeSection func()

	captured *strings.Builder // receives the output instead of w; nil to write to w

	temporary bool   // the current line is temporary
	midLine   bool   // the current line is not complete
	column    int    // column in an indented line that is not complete
	current   string // kind of the current section
	seq       int64  // seq of the current block
}

func newPage(w *Screen) *page {
	return &page{w: w, colour: wantsColour(w), width: w.Columns, beforeSection: func() {}}
}

// maxOpenText is the maximum number of bytes of an incomplete line that a [Frame] shows.
const maxOpenText = 16 << 10

// Rows returns the height of the terminal, or 24 if it is unknown.
func (s *Screen) Rows() int {
	if f := s.file(); f != nil {
		if _, n, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 24
}

// Columns returns the width of the terminal that output can use, or 0 if the screen is not a
// terminal or cannot erase lines. While a [Frame] shows the output, the last column stays free.
func (s *Screen) Columns() int {
	f := s.file()
	if f == nil || os.Getenv("TERM") == "dumb" {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	if s.framed.Load() {
		n--
	}
	return max(n, 20)
}

// wantsColour reports whether w is a terminal and https://no-color.org does not forbid colors.
func wantsColour(w *Screen) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if s, ok := stream.(*Screen); ok {
		stream = s.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// section begins a section of the kind. If the current section is of that kind, it continues.
func (p *page) section(kind string) {
	if p.current == kind {
		return
	}
	p.beforeSection()
	p.newline()
	if p.current != "" {
		p.raw("\n")
	}
	p.current = kind
}

// block prepares the page for text of the block of the log whose seq is `seq`. If the previous text
// comes from another block, the new text begins a new line.
func (p *page) block(seq int64) {
	if p.seq != seq {
		p.seq = seq
		p.newline()
	}
}

// newline ends an incomplete line.
func (p *page) newline() {
	if p.midLine {
		p.raw("\n")
		p.midLine = false
	}
}

// line writes a text as one or more complete lines.
func (p *page) line(s Style, text string) {
	p.newline()
	p.write(s, strings.TrimRight(text, "\n"))
	p.newline()
}

// write appends to the current line. Each line has its own style sequences, so that an interrupted
// output does not leave the terminal in a color.
func (p *page) write(s Style, text string) {
	for piece := range strings.Lines(p.escaper.Escape(text)) {
		body, ended := strings.CutSuffix(piece, "\n")
		p.raw(p.styled(s, body))
		p.midLine = !ended
		if ended {
			p.raw("\n")
		}
	}
}

func (p *page) styled(s Style, text string) string {
	look, ok := styles[s]
	if !p.colour || !ok || text == "" {
		return text
	}
	return look.Inline(true).Render(text)
}

// raw writes text that may contain style sequences. All other control characters in it are already
// escaped.
func (p *page) raw(text string) {
	if text == "" {
		return
	}
	if p.temporary {
		p.temporary = false
		p.out(EraseLine)
	}
	p.out(text)
}

func (p *page) out(text string) {
	if p.captured != nil {
		p.captured.WriteString(text)
		return
	}
	if p.err == nil {
		p.err = p.w.writeStyled(text)
	}
}

// capture returns what f writes, instead of writing it.
func (p *page) capture(f func()) string {
	if p.temporary {
		p.temporary = false
		p.out(EraseLine)
	}
	var text strings.Builder
	p.captured = &text
	defer func() { p.captured = nil }()
	f()
	return text.String()
}

// EraseLine moves to the start of the line and erases it.
const EraseLine = "\r\x1b[2K"

// suffixOf returns the end of a text: as many whole characters as fit into the given number of
// bytes. The result `cut` reports whether text before them was left out. The cost does not grow
// with the length of the text.
func suffixOf(text string, most int) (end string, cut bool) {
	at := len(text) - most
	if at <= 0 {
		return text, false
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:], true
}

// showTemporary shows the end of a text in a temporary line, which the next output replaces. If the text is
// "", it only erases the temporary line.
func (p *page) showTemporary(text string) {
	if p.captured != nil {
		return
	}
	if f := p.w.Frame(); f != nil {
		end, _ := suffixOf(text, maxOpenText)
		f.SetOpen(Visible(end))
		p.temporary = text != ""
		return
	}
	room := p.width() - 3
	text, cut := suffixOf(text, 8*p.width())
	text = strings.Join(strings.Fields(Visible(text)), " ")
	if over := xansi.StringWidth(text) - room; over > 0 || cut && text != "" {
		text = "…" + xansi.TruncateLeft(text, max(over+1, 0), "")
	}
	if p.temporary {
		p.out(EraseLine)
	}
	p.temporary = text != ""
	if p.temporary {
		p.out(p.styled(StyleDim, text))
	}
}
