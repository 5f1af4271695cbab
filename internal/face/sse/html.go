package sse

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/record"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/log/fold"
	"github.com/perdure/perdure/internal/markdown"
)

// eventHTML is the name of an event with a part of a text, rendered as HTML.
const eventHTML perdure.EventType = "html"

// htmlView converts the text in a log's items to HTML. It replaces the chunks of a text block by
// rendered parts. If an event that is not text occurs inside a list, a table or a code block,
// htmlView delays the event until the end of that list, table or code block. The output depends
// only on the log, so a resumed stream equals an uninterrupted one.
type htmlView struct {
	execution uuid.UUID
	blocks    fold.Blocks // the open text blocks
	sources   map[int64]source
	buffer    *markdown.StreamBuffer[eventlog.Item]
	shownTo   int64 // items up to this position were sent before the client was disconnected
	// again returns the events from the start of a text block up to the position shownTo, which
	// were sent before the client was disconnected.
	again func(block int64) ([]eventlog.Item, error)
	out   []eventlog.Item // items to send for the current item of the log
	cursorTracker
}

// source contains the members of a chunk's record that say when and by which task the text was
// written, and to which message it belongs. All rendered parts of a block have the source of the
// block's first chunk.
type source struct {
	CreatedAt perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
}

func sourceOf(r *perdure.Record) source {
	return source{CreatedAt: r.CreatedAt, Place: r.Place, TaskID: r.TaskID, Attempt: r.Attempt}
}

// htmlPart is the data of an event with a rendered part.
type htmlPart struct {
	markdown.Part
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	source
}

func newHTMLView(execution uuid.UUID) *htmlView {
	v := &htmlView{execution: execution}
	v.begin()
	return v
}

// begin forgets all open text blocks.
func (v *htmlView) begin() {
	v.blocks.Reset()
	v.sources, v.buffer = map[int64]source{}, markdown.NewStreamBuffer(v.part, v.emit)
}

func (v *htmlView) emit(i eventlog.Item) { v.out = append(v.out, i) }

// resume returns the position from which the view must read the log to continue a stream from a
// cursor. If a text block is open at the cursor, the result is the start of that block.
func (v *htmlView) resume(ctx context.Context, log *eventlog.Log, from eventlog.From) (eventlog.From, error) {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil || c == (perdure.Cursor{}) {
		return from, err
	}
	if pos, err := log.Position(ctx, v.execution, from); err != nil || pos == 0 {
		return from, err // the cursor does not fit the log, so the reader of the log will send a reset
	}
	start, err := log.BlocksFrom(ctx, v.execution, c.Pos, func(t perdure.EventType) bool { return t == perdure.EventToken })
	if err != nil {
		return from, err
	}
	if v.last, err = log.CursorAt(ctx, v.execution, start); err != nil {
		return from, err
	}
	v.shownTo = c.Pos
	from.Cursor = v.last.String()
	return from, nil
}

// pass returns the items that the view sends for one item of the log; there is at least one. Only
// the last has the cursor of the log's item. The earlier ones have the cursor before that item, so
// a client that is disconnected after one of these receives all of them again.
func (v *htmlView) pass(i eventlog.Item) ([]eventlog.Item, error) {
	v.out = nil
	silent := i.Cursor.Pos <= v.shownTo && i.Event != eventlog.Reset && i.Event != eventlog.End
	if i.Event != "" {
		if err := v.take(i); err != nil {
			return nil, err
		}
	}
	if !i.More && !silent {
		v.buffer.Show()
	}
	if len(v.out) == 0 || silent {
		v.out = []eventlog.Item{{}}
	}
	before, err := v.before(i.Cursor, len(v.out) > 1)
	if err != nil {
		return nil, err
	}
	for n := range v.out {
		v.out[n].Cursor, v.out[n].More = before, true
	}
	last := &v.out[len(v.out)-1]
	last.Cursor, last.More = i.Cursor, i.More
	return v.out, nil
}

func (v *htmlView) take(i eventlog.Item) error {
	switch {
	case i.Event == eventlog.Reset:
		v.begin()
		v.shownTo = 0
		v.emit(i)
	case i.Event == eventlog.End, i.Event.Ends():
		v.buffer.Flush()
		v.emit(i)
	case i.Type == perdure.EventToken:
		v.text(i)
	case i.Event == perdure.EventBlockClosed:
		return v.closed(i)
	case touchesFile(i):
		v.emit(i)
	default:
		if err := v.compaction(i); err != nil {
			return err
		}
		v.buffer.Event(i)
	}
	return nil
}

// text adds a chunk or a snapshot of a text block. If a part of the block's text up to the end of
// the chunk is stored only on the worker, the chunk is sent unrendered.
func (v *htmlView) text(i eventlog.Item) {
	whole := i.Event == eventlog.Snapshot
	if whole && i.Record.Chunk.Length > 0 {
		v.buffer.Event(i)
		return
	}
	p := v.blocks.Take(fold.Event{Record: i.Record, Whole: whole})
	if p.Replaces {
		v.buffer.Drop(i.Seq)
	}
	if p.Opens || p.Replaces {
		v.sources[i.Seq] = sourceOf(i.Record)
	}
	if p.Lacks {
		v.buffer.Break(i.Seq)
		v.emit(i)
		return
	}
	v.buffer.Text(i.Seq, i.Seq, p.Text)
}

// closed ends a block. When the block was superseded, the client drops the block's rendered parts
// after it has received block.closed.
func (v *htmlView) closed(i eventlog.Item) error {
	_, c, err := v.blocks.Close(i.Record)
	if err == nil {
		err = v.recover(i, c)
	}
	if c.Reason == perdure.BlockSuperseded {
		v.buffer.Drop(c.BlockSeq)
	} else {
		v.buffer.End(c.BlockSeq)
	}
	delete(v.sources, c.BlockSeq)
	v.buffer.Event(i)
	return err
}

// recover handles a text block that was superseded while the client was disconnected. The view may
// have delayed events until the end of the text. Because the text no longer exists, recover cannot
// know which ones, and sends all events since the start of the block. The client may receive some
// of them twice.
func (v *htmlView) recover(closed eventlog.Item, c fold.Closed) error {
	if v.shownTo == 0 || c.Reason != perdure.BlockSuperseded || closed.Cursor.Pos <= v.shownTo {
		return nil
	}
	items, err := v.again(c.BlockSeq)
	for _, i := range items {
		if i.Type != perdure.EventToken {
			v.out = append(v.out, i)
		}
	}
	return err
}

// touchesFile reports whether an event concerns a file of the workspace. The view sends such an
// event at once, even in the middle of a text.
func touchesFile(i eventlog.Item) bool {
	if i.Event != perdure.EventData {
		return false
	}
	kind := fold.PayloadOf(i.Record).Type
	return kind == fold.FileRead || kind == fold.FileWrite
}

// part appends a rendered part of a text block to the items that will be sent.
func (v *htmlView) part(block int64, part markdown.Part) {
	raw, err := record.JSON(htmlPart{part, v.execution, v.sources[block]})
	if err != nil {
		return // cannot fail: texts and numbers always encode
	}
	v.emit(eventlog.NewItem(eventHTML, perdure.EventToken, part.Seq, raw))
}
