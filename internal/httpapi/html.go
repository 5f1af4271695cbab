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

// eventHTML is the name on the wire of a part of rendered text.
const eventHTML perdure.EventType = "html"

// htmlView shows the text of a log as HTML: the pieces of a text block become
// parts, and other events stay out of the middle of lists, tables and code
// blocks. What it shows follows from the log alone, so a stream that is resumed
// shows what one that was not interrupted does.
type htmlView struct {
	execution uuid.UUID
	texts     map[int64]*textBlock
	waiting   []eventlog.Item
	shownTo   int64 // positions up to this were shown before
	// again returns what came while a text block was open, up to shownTo.
	again func(block int64) ([]eventlog.Item, error)
	out   []eventlog.Item // of the item at hand
	behind
}

// textBlock is a text block that is open.
type textBlock struct {
	buffer *markdown.Buffer
	from   source
	held   int64
	dirty  bool // it has grown since it was shown
}

// piece is the data of a chunk, a snapshot or a block.closed.
type piece struct {
	Seq    int64 `json:"seq"`
	Offset int64 `json:"offset"`
	Data   any   `json:"data"`
	source
	BlockSeq int64               `json:"blockSeq"`
	Reason   perdure.BlockReason `json:"reason"`
}

// source is what the data of a block's pieces says of where they come from. The
// parts of a block say it as of its first piece.
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

// resume goes back to where the text began that is open at the cursor, and returns
// where to read from.
func (v *htmlView) resume(ctx context.Context, log *eventlog.Log, from eventlog.From) (eventlog.From, error) {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil || c == (perdure.Cursor{}) {
		return from, err
	}
	if pos, err := log.Position(ctx, v.execution, from); err != nil || pos == 0 {
		return from, err // it does not fit: the log's reader will say so
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

// pass returns what is shown for an item of the log, at least one item. All but
// the last resume before it, so that a client that is cut off in between is
// given the rest.
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

// recover returns a client that has come back what may have waited in a text that
// was superseded since: what that text was, and so what it held up, is no longer
// known. What the client has of it comes again.
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

// touchesFile tells of the events that are shown wherever the text stands: they
// are about the workspace, not the conversation.
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

// follows reports whether the piece can be rendered: all before it was known.
func (v *htmlView) follows(p piece) bool {
	b := v.texts[p.Seq]
	if b == nil {
		return p.Offset == 0
	}
	return p.Offset <= b.held
}

// passOn gives a piece as it is that is on its worker, or comes after one that
// is: what it continues is not known here.
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

// part puts a rendered part out. What waits for the end of a block comes out
// right after it.
func (v *htmlView) part(b *textBlock, part markdown.Part) {
	raw, err := plainJSON(htmlPart{part, v.execution, b.from})
	if err != nil {
		return // texts and numbers encode
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

// end ends a text block. What a superseded one has shown is dropped by the
// client, as the block.closed says.
func (v *htmlView) end(p piece) {
	b := v.texts[p.BlockSeq]
	if p.Reason != perdure.BlockSuperseded {
		b.buffer.Flush()
	}
	delete(v.texts, p.BlockSeq)
}

// other is any event but text: inside a block it waits, elsewhere it ends the
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

// show puts out what is open, as provisional parts.
func (v *htmlView) show() {
	for _, seq := range v.open() {
		if b := v.texts[seq]; b.dirty {
			b.dirty = false
			b.buffer.Show()
		}
	}
}
