package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/markdown"
)

// eventHTML is the wire name of a part of rendered text.
const eventHTML perdure.EventType = "html"

// htmlView shows the text of a log as HTML. The chunks of a text block become rendered parts, and
// other events are kept out of the middle of lists, tables and code blocks. The output depends only
// on the log, so a resumed stream shows the same as an uninterrupted one.
type htmlView struct {
	execution uuid.UUID
	texts     map[int64]*textBlock
	waiting   []eventlog.Item
	shownTo   int64 // positions up to this were shown before
	// again returns the events since a text block began, up to shownTo.
	again func(block int64) ([]eventlog.Item, error)
	out   []eventlog.Item // output for the current item
	behind
}

// textBlock is an open text block.
type textBlock struct {
	buffer *markdown.Buffer
	from   source
	held   int64
	dirty  bool // has grown since it was last shown
}

// piece is the data of a chunk, a snapshot or a block.closed event.
type piece struct {
	Seq    int64 `json:"seq"`
	Offset int64 `json:"offset"`
	Data   any   `json:"data"`
	source
	BlockSeq int64               `json:"blockSeq"`
	Reason   perdure.BlockReason `json:"reason"`
}

// source is the origin of the chunks of a block. The parts of a block have the source of its
// first chunk.
type source struct {
	CreatedAt perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
}

// htmlPart is the data of an html event.
type htmlPart struct {
	markdown.Part
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	source
}

func newHTMLView(execution uuid.UUID) *htmlView {
	return &htmlView{execution: execution, texts: map[int64]*textBlock{}}
}

// resume returns the position to read from: the start of the text that is open at the cursor.
func (v *htmlView) resume(ctx context.Context, log *eventlog.Log, from eventlog.From) (eventlog.From, error) {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil || c == (perdure.Cursor{}) {
		return from, err
	}
	if pos, err := log.Position(ctx, v.execution, from); err != nil || pos == 0 {
		return from, err // it does not fit: the log's reader will send a reset
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

// pass returns the items shown for an item of the log, at least one. All but the last have a cursor
// before the item, so a client that is disconnected in between receives the rest.
func (v *htmlView) pass(i eventlog.Item) ([]eventlog.Item, error) {
	v.out = nil
	silent := i.Cursor.Pos <= v.shownTo && i.Event != eventlog.Reset && i.Event != eventlog.End
	if i.Event != "" {
		if err := v.take(i); err != nil {
			return nil, err
		}
	}
	if !i.More && !silent {
		v.show()
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
	var p piece
	if err := json.Unmarshal(i.Data, &p); err != nil {
		return err
	}
	text, isText := p.Data.(string)
	switch {
	case i.Event == perdure.EventToken && isText && v.follows(p):
		v.grow(p, text)
	case i.Event == perdure.EventToken:
		v.passOn(p, i)
	case i.Event == eventlog.Snapshot && i.Type == perdure.EventToken && isText:
		delete(v.texts, p.Seq)
		v.grow(p, text)
	case i.Event == perdure.EventBlockClosed:
		if err := v.recover(i, p); err != nil {
			return err
		}
		if v.texts[p.BlockSeq] != nil {
			v.end(p)
		}
		v.other(i)
	case i.Event == eventlog.Reset:
		v.texts, v.waiting, v.shownTo = map[int64]*textBlock{}, nil, 0
		v.out = append(v.out, i)
	case i.Event == eventlog.End, i.Event.Ends():
		v.flush()
		v.release()
		v.out = append(v.out, i)
	case touchesFile(p):
		v.out = append(v.out, i)
	default:
		v.other(i)
	}
	return nil
}

// recover sends the events that may have waited for a text block that was superseded while the
// client was away. The superseded text is no longer known, and so is what it delayed. The client
// may receive some events twice.
func (v *htmlView) recover(closed eventlog.Item, p piece) error {
	if v.shownTo == 0 || p.Reason != perdure.BlockSuperseded || closed.Cursor.Pos <= v.shownTo {
		return nil
	}
	items, err := v.again(p.BlockSeq)
	for _, i := range items {
		if i.Type != perdure.EventToken {
			v.out = append(v.out, i)
		}
	}
	return err
}

// touchesFile reports whether the event is shown at once, in the middle of text too: such events
// concern the workspace, not the conversation.
func touchesFile(p piece) bool {
	members, _ := p.Data.(map[string]any)
	return members["type"] == "file_read" || members["type"] == "file_write"
}

func (v *htmlView) block(p piece) *textBlock {
	b := v.texts[p.Seq]
	if b == nil {
		b = &textBlock{from: p.source}
		b.buffer = markdown.NewBuffer(func(part markdown.Part) { v.part(b, part) })
		v.texts[p.Seq] = b
	}
	return b
}

// follows reports whether the chunk can be rendered, because all text before it is known.
func (v *htmlView) follows(p piece) bool {
	b := v.texts[p.Seq]
	if b == nil {
		return p.Offset == 0
	}
	return p.Offset <= b.held
}

// passOn shows a chunk unrendered because its text, or text before it, is stored on its worker.
func (v *htmlView) passOn(p piece, i eventlog.Item) {
	b := v.block(p)
	b.dirty = false
	b.buffer.Flush()
	v.out = append(v.out, i)
}

func (v *htmlView) grow(p piece, text string) {
	b := v.block(p)
	if known := b.held - p.Offset; known > 0 {
		text = text[min(known, int64(len(text))):]
	}
	b.held += int64(len(text))
	b.dirty = true
	b.buffer.Write(p.Seq, text)
	if len(v.waiting) > 0 && !v.inBlock() {
		v.release()
	}
}

// part appends a rendered part to the output. Events that wait for the end of the block follow
// directly.
func (v *htmlView) part(b *textBlock, part markdown.Part) {
	raw, err := plainJSON(htmlPart{part, v.execution, b.from})
	if err != nil {
		return // texts and numbers always encode
	}
	v.out = append(v.out, eventlog.Item{Event: eventHTML, Type: perdure.EventToken, Seq: part.Seq, Data: raw})
	if part.Final && len(v.texts) == 1 {
		v.release()
	}
}

func plainJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// end ends a text block. The client drops the parts of a superseded block when it receives
// block.closed.
func (v *htmlView) end(p piece) {
	b := v.texts[p.BlockSeq]
	if p.Reason != perdure.BlockSuperseded {
		b.buffer.Flush()
	}
	delete(v.texts, p.BlockSeq)
}

// other handles any event that is not text. Inside a block the event waits, elsewhere it ends the
// paragraphs.
func (v *htmlView) other(i eventlog.Item) {
	if v.inBlock() {
		v.waiting = append(v.waiting, i)
		return
	}
	v.flush()
	v.release()
	v.out = append(v.out, i)
}

func (v *htmlView) inBlock() bool {
	for _, b := range v.texts {
		if b.buffer.InBlock() {
			return true
		}
	}
	return false
}

func (v *htmlView) open() []int64 {
	var seqs []int64
	for seq := range v.texts {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	return seqs
}

func (v *htmlView) flush() {
	for _, seq := range v.open() {
		v.texts[seq].buffer.Flush()
		v.texts[seq].dirty = false
	}
}

func (v *htmlView) release() {
	waiting := v.waiting
	v.waiting = nil
	v.out = append(v.out, waiting...)
}

// show appends the open text as provisional parts.
func (v *htmlView) show() {
	for _, seq := range v.open() {
		if b := v.texts[seq]; b.dirty {
			b.dirty = false
			b.buffer.Show()
		}
	}
}
