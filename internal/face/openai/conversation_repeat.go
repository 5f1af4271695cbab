package openai

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
)

// maxRepeated is the maximum number of messages, at the end of a conversation, that the method
// `fresh` compares with an input.
const maxRepeated = 1_000

// fresh returns the items of an input without those that the conversation already contains. It is
// for clients that run tools, and send the user's message and all earlier results again with each
// new result. If the input does not answer all open calls, fresh returns all items.
func (b *beginning) fresh(ctx context.Context, head conversationHead, items []resolvedItem) ([]resolvedItem, error) {
	if len(head.open) == 0 || !answersAll(items, head.open) {
		return items, nil
	}
	said, err := b.lastSaid(ctx, head.execution)
	if err != nil {
		return nil, err
	}
	if n := len(said.messages); n <= len(items) && slices.EqualFunc(items[:n], said.messages, resolvedItem.says) {
		items = items[n:]
	}
	return slices.DeleteFunc(slices.Clone(items), func(i resolvedItem) bool {
		return len(i.messages) == 1 && i.says(said.results[resultOf(i)])
	}), nil
}

// clientSaid is what a client has sent to a conversation: the client's last messages and, by call
// id, the results of the calls that the model made after them.
type clientSaid struct {
	messages []perdure.InputMessage
	results  map[string]perdure.InputMessage
}

func (b *beginning) lastSaid(ctx context.Context, x *perdure.Execution) (clientSaid, error) {
	said := clientSaid{results: map[string]perdure.InputMessage{}}
	if x.Leaf == nil {
		return said, nil
	}
	answered := false
	for e, err := range b.stored().Path(ctx, x.ID, *x.Leaf, nil, maxRepeated, false) {
		if err != nil {
			return said, err
		}
		if e.Type == perdure.EntryCompaction {
			continue // no client sends this kind of message
		}
		m, err := e.Message()
		if err != nil {
			return said, err
		}
		switch m.Role {
		case perdure.RoleAssistant:
			answered = true
		case perdure.RoleToolResult:
			for _, one := range split(perdure.InputMessage{Role: m.Role, Parts: m.Parts}) {
				said.results[one.Parts[0].ToolCallID] = one
			}
		default:
			if answered {
				said, answered = clientSaid{results: map[string]perdure.InputMessage{}}, false
			}
			said.messages = append(said.messages, perdure.InputMessage{Role: m.Role, Parts: m.Parts})
		}
	}
	return said, nil
}

// answersAll reports whether the items include a result for each of the calls.
func answersAll(items []resolvedItem, calls []string) bool {
	return !slices.ContainsFunc(calls, func(id string) bool {
		return !slices.ContainsFunc(items, func(i resolvedItem) bool { return resultOf(i) == id })
	})
}

// resultOf returns the id of the call whose result the item contains; "" if the item is no result
// of a client's tool.
func resultOf(i resolvedItem) string {
	if len(i.messages) != 1 || i.messages[0].Role != perdure.RoleToolResult {
		return ""
	}
	return i.messages[0].Parts[0].ToolCallID
}

// says reports whether the item is equal to the message, apart from ids and names that clients do
// not send.
func (i resolvedItem) says(m perdure.InputMessage) bool {
	return len(i.messages) == 1 && len(m.Parts) > 0 && string(asSaid(i.messages[0])) == string(asSaid(m))
}
