package terminal

import (
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/terminal/layout"
	"github.com/perdure/perdure/internal/markdown"
)

// maxProseWidth is the maximum width of a line of prose in columns; longer lines are hard to read.
const maxProseWidth = 100

// prose writes a model's markdown to a terminal. It formats each block of markdown as soon as the block is
// complete. Of an incomplete block, a temporary line shows the newest text, so that the user sees that more
// arrives.
type prose struct {
	p      *page
	buffer *markdown.Buffer
	begun  bool // this section already has a block
}

const proseSection = "prose"

func newProse(p *page) *prose {
	w := &prose{p: p}
	w.buffer = markdown.NewBuffer(func(part markdown.Part) {
		if part.Final {
			w.block(part.Source, part.Plain)
		}
	})
	p.beforeSection = w.flush
	return w
}

// write appends streamed text to the markdown. `seq` is the seq of the block of the log to which
// the text belongs.
func (w *prose) write(seq int64, text string) {
	if w.p.current != proseSection {
		w.begun = false
	}
	w.p.section(proseSection)
	w.buffer.Write(seq, text)
	w.p.showTemporary(w.buffer.Pending())
}

// flush formats the incomplete block of markdown, because other output follows it on the screen.
func (w *prose) flush() { w.buffer.Flush() }

// block writes a complete block of markdown: formatted, or as plain text if `plain` is set, because
// the block exceeds the limits of formatting.
func (w *prose) block(source string, plain bool) {
	text := strings.Trim(source, "\n")
	if !plain {
		text = layout.Markdown(source, min(w.p.width(), maxProseWidth), w.p.colour)
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
