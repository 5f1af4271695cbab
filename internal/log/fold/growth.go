package fold

import (
	"cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// chunk appends a chunk of streamed text to its target: a part of a message, the arguments of a tool
// call, or the output of a tool call.
func (t *Tree) chunk(e Event) {
	piece := t.blocks.Take(e)
	p := t.parts[e.Record.Seq]
	if p == nil {
		if p = t.open(e.Record); p == nil {
			return
		}
		t.parts[e.Record.Seq] = p
		t.changed(Change{Kind: PartOpened, Message: p.Message, Part: p})
	}
	kind := PartGrew
	if piece.Replaces && !piece.Opens {
		kind = PartReplaced
		p.text.Reset()
	}
	p.text.WriteString(piece.Text)
	t.changed(Change{Kind: kind, Message: p.Message, Part: p, Text: piece.Text})
}

// open creates the part for a new block. It returns nil if the block belongs to a tool call that
// the tree does not contain.
func (t *Tree) open(r *perdure.Record) *Part {
	p := t.newPart(r)
	switch r.Type {
	case perdure.EventToken, perdure.EventThinking:
		p.Type = perdure.PartText
		if r.Type == perdure.EventThinking {
			p.Type = perdure.PartThinking
		}
		m := t.message(r.Place, homeOf(r))
		p.Message = m
		m.Parts = append(m.Parts, p)
		return p
	case perdure.EventData:
		c := t.calls[r.Chunk.ToolCallID]
		if c == nil {
			return nil
		}
		p.Call, p.Message = c, c.Part.Message
		c.arguments = append(c.arguments, p)
		return p
	case perdure.EventTerminal:
		c := t.calls[r.Place.ToolCallID]
		if c == nil {
			return nil
		}
		p.Call, p.Message = c, c.Part.Message
		c.Outputs = append(c.Outputs, &Output{Stream: r.Chunk.Stream, Block: p})
		return p
	}
	return nil
}

// newPart adds a part for a streamed block to the tree.
func (t *Tree) newPart(r *perdure.Record) *Part {
	p := &Part{Seq: r.Seq, Task: taskOf(r), Attempt: r.Attempt}
	t.all = append(t.all, p)
	return p
}

// closed applies an event block.closed: it closes the part that was streamed in the event's block.
// If the block was superseded, closed withdraws the part, even if the part is already closed.
func (t *Tree) closed(r *perdure.Record) error {
	_, c, err := t.blocks.Close(r)
	p := t.parts[c.BlockSeq]
	switch {
	case err != nil || p == nil || p.State == Withdrawn:
		return err
	case c.Reason == perdure.BlockSuperseded:
		t.withdraw(p)
		return nil
	case p.State != Open:
		return nil
	}
	p.State = Done
	if c.Reason == perdure.BlockTruncated {
		p.State = Truncated
	}
	t.changed(Change{Kind: PartClosed, Message: p.Message, Part: p})
	return nil
}

// data applies a data event.
func (t *Tree) data(r *perdure.Record) {
	d := PayloadOf(r)
	switch d.Type {
	case CallStart:
		if t.calls[d.ToolCall.ID] == nil {
			m := t.message(r.Place, homeOf(r))
			p := t.newPart(r)
			p.Seq = 0 // the part itself has no text
			t.call(m, p, d.ToolCall.ID, d.ToolCall.Name)
		}
	case CallEnd:
		if c := t.calls[d.ToolCall.ID]; c != nil && c.Result == nil && d.Result != nil {
			c.Result = &perdure.Part{
				Type: perdure.PartToolResult, ToolCallID: c.ID, IsError: d.Result.IsError, Parts: []perdure.Part{perdure.Text(d.Result.Text)},
			}
		}
	case ResponseEnd:
		t.response(r.Place.ResponseID).merger.Add(response.Update{ResponseID: r.Place.ResponseID, FinishReason: d.StopReason})
	}
}

// call makes p a part with a tool call, and adds it to a message.
func (t *Tree) call(m *Message, p *Part, id, name string) *Call {
	p.Type, p.Message = perdure.PartToolCall, m
	c := &Call{ID: id, Name: name, Part: p}
	p.Call = c
	m.Parts = append(m.Parts, p)
	t.calls[id] = c
	return c
}

// homeOf returns the id of the message that a record belongs to. A record without a message id
// belongs to the message of its task, its turn or its response.
func homeOf(r *perdure.Record) string {
	task := ""
	if r.TaskID != nil {
		task = r.TaskID.String()
	}
	return cmp.Or(r.Place.MessageID, task, r.Place.TurnID, r.Place.ResponseID)
}

// message returns the message with the id, and creates it if necessary. A new message belongs to
// the response and the turn that `place` contains.
func (t *Tree) message(place perdure.Place, id string) *Message {
	if m := t.messages[id]; m != nil {
		return m
	}
	r := t.response(place.ResponseID)
	m := &Message{ID: id, Role: perdure.RoleAssistant, Response: r, Turn: r.turn(place.TurnID)}
	m.Turn.Messages = append(m.Turn.Messages, m)
	t.messages[id] = m
	return m
}
