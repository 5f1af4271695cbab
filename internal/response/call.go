package response

import (
	"strings"

	"github.com/perdure/perdure"
)

// call is a tool call of a response. More fragments of its arguments may still arrive.
type call struct {
	talk     *talk
	message  *message
	piece    *piece // the call in its message; nil if contents are not kept
	raw      string // the message id in the updates
	id, name string
	index    *int
	nesting  nesting
	answered bool
}

// continues returns the tool call to which a fragment belongs; nil if the fragment begins a new
// call. A fragment with an id belongs to the call with this id, and a fragment without an id to the
// call with the same index, or else to the last call. But if the call's arguments are complete, or
// it has a result, the fragment begins a new call.
func (t *talk) continues(u Update, c Content) *call {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if k := t.calls[i]; k.raw == u.MessageID && k.takes(t, c.Part, c.Index) {
			return k
		}
	}
	return nil
}

func (k *call) takes(t *talk, p perdure.Part, index *int) bool {
	switch {
	case k.answered || k.nesting.over && strings.TrimSpace(p.RawArguments) != "":
		return false
	case p.Name != "" && k.name != "" && p.Name != k.name:
		return false
	case p.ID != "" && k.id != "":
		return p.ID == k.id
	case !t.isOpen(k.message):
		return false
	case index != nil && k.index != nil:
		return *index == *k.index
	}
	return p.ID == "" && index == nil && t.calls[len(t.calls)-1] == k
}

// grow appends a fragment to the arguments of the call.
func (k *call) grow(p perdure.Part) {
	k.nesting.feed(p.RawArguments)
	k.name = first(k.name, p.Name)
	if k.piece == nil {
		return
	}
	k.piece.grown.WriteString(p.RawArguments)
	part := &k.piece.Part
	if p.Arguments != nil {
		part.Arguments = p.Arguments
	}
	part.ID, part.Name, part.ProviderID = first(part.ID, p.ID), first(part.Name, p.Name), first(part.ProviderID, p.ProviderID)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// nesting tracks the brackets of a JSON object that arrives in fragments, to detect its end.
type nesting struct {
	depth                 int
	quoted, escaped, over bool
}

func (n *nesting) feed(s string) {
	for i := 0; i < len(s) && !n.over; i++ {
		switch c := s[i]; {
		case n.escaped:
			n.escaped = false
		case n.quoted && c == '\\':
			n.escaped = true
		case c == '"':
			n.quoted = !n.quoted
		case n.quoted:
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			n.depth--
			n.over = n.depth <= 0
		}
	}
}
