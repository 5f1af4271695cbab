package fold

import (
	"encoding/json"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

func (t *Tree) response(id string) *Response {
	if r := t.Response(id); r != nil {
		return r
	}
	of := response.Identity{Execution: t.execution, Response: id}
	r := &Response{ID: id, merger: response.NewMerger(of)}
	t.Responses = append(t.Responses, r)
	return r
}

func (r *Response) turn(id string) *Turn {
	if i := slices.IndexFunc(r.Turns, func(t *Turn) bool { return t.ID == id }); i >= 0 {
		return r.Turns[i]
	}
	t := &Turn{ID: id}
	r.Turns = append(r.Turns, t)
	return t
}

// entry applies an entry that contains a message or the results of tool calls.
func (t *Tree) entry(r *perdure.Record, e *perdure.Entry) error {
	switch e.Type {
	case perdure.EntryLLMCall:
		return nil
	case perdure.EntryCompaction:
		return t.compacted(e)
	}
	content, err := contentOf(e)
	if err != nil {
		return err
	}
	t.response(r.Place.ResponseID).merge(r, e, content)
	if e.Role == perdure.RoleToolResult {
		t.answer(content)
		return nil
	}
	id := r.Place.MessageID
	if id == "" {
		id = e.ID.String()
	}
	m := t.message(r.Place, id)
	if m.Entry != nil {
		return nil
	}
	m.Entry, m.Role, m.Content = e, e.Role, content
	t.last = m
	t.changed(Change{Kind: MessageStored, Message: m})
	t.settle(m)
	return nil
}

// contentOf decodes the content of an entry. If the entry has no content, it returns an empty
// Content.
func contentOf(e *perdure.Entry) (perdure.Content, error) {
	var c perdure.Content
	if len(e.Content) == 0 || e.Content[0] != '{' {
		return c, nil // the content is too large for the event, or only the worker stores it
	}
	if err := json.Unmarshal(e.Content, &c); err != nil {
		return c, &perdure.Error{Code: perdure.Internal, Message: "entry " + e.ID.String() + " does not decode", Err: err}
	}
	return c, nil
}

// merge adds the content of an entry to the messages that [Response.Merged] returns.
func (r *Response) merge(of *perdure.Record, e *perdure.Entry, c perdure.Content) {
	u := response.Update{
		ResponseID: of.Place.ResponseID, MessageID: of.Place.MessageID, Role: e.Role, CreatedAt: e.CreatedAt, FinishReason: c.StopReason, Usage: c.Usage,
	}
	for _, p := range c.Parts {
		u.Contents = append(u.Contents, response.Content{Part: p})
	}
	r.merger.Add(u)
}

// settle replaces the streamed parts of a message by the parts of the stored message. A stored tool
// call replaces the streamed call with its id. Any other stored part replaces the first streamed
// part of its type that is not replaced yet. The other streamed parts are withdrawn.
func (t *Tree) settle(m *Message) {
	grown := slices.DeleteFunc(slices.Clone(m.Parts), func(p *Part) bool { return p.State == Withdrawn })
	take := func(is func(*Part) bool) *Part {
		i := slices.IndexFunc(grown, is)
		if i < 0 {
			return nil
		}
		p := grown[i]
		grown = slices.Delete(grown, i, i+1)
		return p
	}
	for i, stored := range m.Content.Parts {
		if isEmpty(stored) {
			continue
		}
		p := take(func(p *Part) bool {
			return p.Type == stored.Type && (p.Type != perdure.PartToolCall || p.Call.ID == stored.ID)
		})
		if p == nil {
			p = t.add(m, stored)
		}
		p.State, p.Stored = Settled, stored
		t.changed(Change{Kind: PartSettled, Message: m, Part: p, Index: i})
	}
	if len(m.Content.Parts) == 0 && m.Entry.ContentBytes > 0 {
		return // the stored content is not known, so the streamed text remains
	}
	for _, p := range grown {
		t.withdraw(p)
	}
}

// isEmpty reports whether a stored part is a text or a thinking part without text.
func isEmpty(p perdure.Part) bool {
	return p.Type == perdure.PartText && p.Text == "" || p.Type == perdure.PartThinking && p.Thinking == ""
}

// add appends to the message a stored part that was not streamed before.
func (t *Tree) add(m *Message, stored perdure.Part) *Part {
	p := &Part{Type: stored.Type, Message: m}
	if stored.Type == perdure.PartToolCall {
		t.call(m, p, stored.ID, stored.Name)
		return p
	}
	m.Parts = append(m.Parts, p)
	return p
}

// answer sets the results of the tool calls in the tree from the content of a stored message. If a
// call has several results, the first one is used.
func (t *Tree) answer(content perdure.Content) {
	for _, p := range content.Parts {
		c := t.calls[p.ToolCallID]
		if p.Type != perdure.PartToolResult || c == nil || c.answered {
			continue
		}
		c.Result, c.answered = &p, true
		t.changed(Change{Kind: CallAnswered, Message: c.Part.Message, Part: c.Part})
	}
}
