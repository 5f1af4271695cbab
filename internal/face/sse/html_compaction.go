package sse

import (
	"html"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/record"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/log/fold"
	"github.com/perdure/perdure/internal/markdown"
)

// compaction adds a rendered divider before the event of a compaction entry. If the event contains
// the entry's content, the divider can be opened to read the summary.
func (v *htmlView) compaction(i eventlog.Item) error {
	if i.Event != perdure.EventEntry || i.Entry == nil || i.Entry.Type != perdure.EntryCompaction {
		return nil
	}
	c, err := fold.CompactionOf(i.Entry)
	if err != nil {
		return err
	}
	divider := `<details data-kind="compaction"><summary>` + html.EscapeString(c.Line()) + "</summary>\n" + markdown.Render(c.Summary) + "</details>\n"
	raw, err := record.JSON(htmlPart{markdown.Part{Seq: i.Seq, HTML: divider, Final: true}, v.execution, sourceOf(i.Record)})
	if err != nil {
		return err
	}
	v.buffer.Event(eventlog.NewItem(eventHTML, perdure.EventEntry, i.Seq, raw))
	return nil
}
