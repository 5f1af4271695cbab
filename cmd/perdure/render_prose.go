package main

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	looks "charm.land/glamour/v2/styles"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/perdure/perdure/internal/markdown"
)

// widest is how many columns a line of prose takes at most: longer ones are hard
// to read.
const widest = 100

// prose writes what a model says to a terminal: markdown, laid out block by
// block, each as soon as it has ended. Of the one that is open the last words
// stand in a line that goes away again, as a sign of life.
type prose struct {
	p      *page
	buffer *markdown.Buffer
	begun  bool // this section has a block already

	layouts map[int]*glamour.TermRenderer // by width
}

const proseSection = "prose"

func newProse(p *page) *prose {
	w := &prose{p: p, layouts: map[int]*glamour.TermRenderer{}}
	w.buffer = markdown.NewBuffer(func(part markdown.Part) {
		if part.Final {
			w.block(part.Source, part.Plain)
		}
	})
	p.leave = w.flush
	return w
}

// write adds a piece of the block of the log with that number.
func (w *prose) write(seq int64, text string) {
	if w.p.current != proseSection {
		w.begun = false
	}
	w.p.section(proseSection)
	w.buffer.Write(seq, text)
	w.p.tail(w.buffer.Pending())
}

// flush ends what is open where it stands: something else is to be shown.
func (w *prose) flush() { w.buffer.Flush() }

// block writes one that has ended. One that exceeds the bounds of rendering is
// written plain, as it stands.
func (w *prose) block(source string, plain bool) {
	text := strings.Trim(source, "\n")
	if !plain {
		text = w.laidOut(source, min(w.p.width(), widest), "\n\n")
	}
	if text == "" {
		return
	}
	if w.begun {
		w.p.raw("\n")
	}
	w.begun = true
	w.p.raw(text + "\n")
}

// laidOut is a piece of markdown in so many columns, with that between its blocks.
func (w *prose) laidOut(source string, width int, between string) string {
	if text, ok := w.lists(source, width, between); ok {
		return text
	}
	return w.render(source, width)
}

// render is laidOut of what has no lists. What cannot be laid out is shown as it is.
func (w *prose) render(source string, width int) string {
	layout, ok := w.layouts[width]
	if !ok {
		made, err := glamour.NewTermRenderer(glamour.WithStyles(proseStyle()), glamour.WithWordWrap(width))
		if err != nil {
			return strings.Trim(source, "\n")
		}
		layout, w.layouts[width] = made, made
	}
	text, err := layout.Render(withoutEscapes(source))
	if err != nil {
		return strings.Trim(source, "\n")
	}
	text = hyperlink.ReplaceAllString(text, "")
	if !w.p.colour {
		text = xansi.Strip(text)
	}
	return trimmed(narrowed(source, text))
}

// hyperlink is a sequence OSC 8, which links a text to a target that is not shown.
var hyperlink = regexp.MustCompile("\x1b]8;[^\x07\x1b]*(\x07|\x1b\\\\)")

// escapeEntity is a character reference of markdown that stands for ESC.
var escapeEntity = regexp.MustCompile(`&#(0*27|[xX]0*1[bB]);`)

// withoutEscapes writes out what the layout would turn into the begin of an escape
// sequence. The page makes every other control character visible.
func withoutEscapes(source string) string { return escapeEntity.ReplaceAllString(source, `\u001b`) }

// trimmed leaves out blank lines around a block, and what fills lines up.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		shown := strings.TrimRight(xansi.Strip(line), " ")
		lines[i] = xansi.Truncate(line, xansi.StringWidth(shown), "")
		if shown == "" {
			lines[i] = ""
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// proseStyle uses the terminal's own colours only, so that it suits a dark
// background and a light one.
func proseStyle() ansi.StyleConfig {
	yes, blue, cyan := true, "4", "6"
	look := looks.NoTTYStyleConfig
	look.Document = ansi.StyleBlock{}
	look.Heading.StylePrimitive.Bold, look.Heading.StylePrimitive.Color = &yes, &blue
	look.H1.StylePrimitive.Underline = &yes
	for _, h := range []*ansi.StyleBlock{&look.H1, &look.H2, &look.H3, &look.H4, &look.H5, &look.H6} {
		h.StylePrimitive.Prefix = ""
	}
	look.Strong = ansi.StylePrimitive{Bold: &yes}
	look.Emph = ansi.StylePrimitive{Italic: &yes}
	look.Strikethrough = ansi.StylePrimitive{CrossedOut: &yes}
	look.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &cyan}}
	look.Link = ansi.StylePrimitive{Color: &blue, Underline: &yes}
	look.LinkText = ansi.StylePrimitive{Bold: &yes}
	column, row, cross := "│", "─", "┼"
	look.Table.ColumnSeparator, look.Table.RowSeparator, look.Table.CenterSeparator = &column, &row, &cross
	return look
}
