package openaiapi

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
)

// maxRepeated is how many of a conversation's newest messages are looked at for what an
// input repeats.
const maxRepeated = 1_000

// fresh leaves out of an input that answers the open calls what it repeats: some clients
// send, in each round of a loop of tools, the user's message and the results of the
// rounds before again.
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

// clientSaid is what the client said last: its messages, and behind them the results of
// the calls that it ran, by call.
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
	for e, err := range b.Engine.Store.Path(ctx, x.ID, *x.Leaf, nil, maxRepeated, false) {
		if err != nil {
			return said, err
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

// answersAll reports whether each of the calls has its result among the items.
func answersAll(items []resolvedItem, calls []string) bool {
	return !slices.ContainsFunc(calls, func(id string) bool {
		return !slices.ContainsFunc(items, func(i resolvedItem) bool { return resultOf(i) == id })
	})
}

// resultOf returns the call of which a client's item is the result, or "".
func resultOf(i resolvedItem) string {
	if len(i.messages) != 1 || i.messages[0].Role != perdure.RoleToolResult {
		return ""
	}
	return i.messages[0].Parts[0].ToolCallID
}

// says reports whether the item is that message, but for ids and names that the client
// does not give.
func (i resolvedItem) says(m perdure.InputMessage) bool {
	return len(i.messages) == 1 && len(m.Parts) > 0 && string(asSaid(i.messages[0])) == string(asSaid(m))
}
