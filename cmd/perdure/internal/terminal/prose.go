package terminal

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	looks "charm.land/glamour/v2/styles"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/perdure/perdure/internal/markdown"
)

// maxProseWidth is the maximum width of a line of prose in columns; longer lines are hard to read.
const maxProseWidth = 100

// prose writes a model's markdown to a terminal. It formats each block as soon as the block has
// ended. The end of the open block is shown in a temporary line, as a sign of life.
type prose struct {
	p      *page
	buffer *markdown.Buffer
	begun  bool // this section already has a block

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
	p.beforeSection = w.flush
	return w
}

// write appends a piece of the block with the seq.
func (w *prose) write(seq int64, text string) {
	if w.p.current != proseSection {
		w.begun = false
	}
	w.p.section(proseSection)
	w.buffer.Write(seq, text)
	w.p.showTemporary(w.buffer.Pending())
}

// flush ends the open block, because other output follows.
func (w *prose) flush() { w.buffer.Flush() }

// block writes an ended block. A block over the limits of formatting is written unformatted.
func (w *prose) block(source string, plain bool) {
	text := strings.Trim(source, "\n")
	if !plain {
		text = w.layOut(source, min(w.p.width(), maxProseWidth), "\n\n")
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

// layOut formats markdown for a width, with the separator between its blocks.
func (w *prose) layOut(source string, width int, between string) string {
	if text, ok := w.lists(source, width, between); ok {
		return text
	}
	return w.render(source, width)
}

// render formats text without lists. Text that cannot be formatted is returned unchanged.
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
	return trimBlock(narrowTable(source, text))
}

// hyperlink matches the sequence OSC 8, which links a text to an invisible target.
var hyperlink = regexp.MustCompile("\x1b]8;[^\x07\x1b]*(\x07|\x1b\\\\)")

// escapeEntity matches a character reference of markdown for ESC.
var escapeEntity = regexp.MustCompile(`&#(0*27|[xX]0*1[bB]);`)

// withoutEscapes escapes references that the layout would convert to the beginning of an escape
// sequence. The page makes all other control characters visible.
func withoutEscapes(source string) string { return escapeEntity.ReplaceAllString(source, `\u001b`) }

// trimBlock removes blank lines around a block and the padding of lines.
func trimBlock(text string) string {
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

// proseStyle uses only the terminal's own colors, so that it fits dark and light backgrounds.
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
