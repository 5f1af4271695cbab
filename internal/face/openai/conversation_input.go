package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// pendingItem is the stored form of an item that a client has added to a conversation. It is
// pending until the next response takes it as input. Its references to other items are already
// resolved.
type pendingItem struct {
	Messages []perdure.InputMessage `json:"messages"`
	Entry    uuid.UUID              `json:"entry,omitzero"`
	// Here and Lost are copied from the fields here and lost of the item's [resolvedItem].
	Here bool `json:"here,omitempty"`
	Lost bool `json:"lost,omitempty"`
}

func (p pendingItem) resolved() resolvedItem {
	return resolvedItem{entry: p.Entry, messages: p.Messages, here: p.Here, lost: p.Lost}
}

// pendingItems resolves the references of added items, and checks that a create request could have
// them as input. It returns the stored form of the added items. The parameter `pending` contains
// the items that are already pending, and `open` the ids of the calls without a result.
func (a *API) pendingItems(ctx context.Context, org string, items []readItem, pending []pendingItem, open []string) ([]pendingItem, error) {
	resolved, err := a.resolveItems(ctx, org, items)
	if err != nil {
		return nil, err
	}
	added := []pendingItem{}
	for i, r := range resolved {
		if len(r.messages) == 0 {
			return nil, noItem(items[i]) // the item was withdrawn
		}
		if len(r.messages[0].Parts) == 0 {
			return nil, invalid(items[i].at, "invalid_value", "Invalid '%s': it has no content.", items[i].at)
		}
		added = append(added, pendingItem{r.messages, r.entry, r.here, r.lost})
	}
	return added, checkAdded(messagesOf(added), messagesOf(pending), open)
}

func messagesOf(items []pendingItem) []perdure.InputMessage {
	var all []resolvedItem
	for _, i := range items {
		all = append(all, i.resolved())
	}
	return join(all)
}

// checkAdded checks that the added messages fit the next create request in the conversation. Each
// added call needs an added result. Every other added result must belong to an open call that has
// no pending result yet.
func checkAdded(added, pending []perdure.InputMessage, open []string) error {
	results := func(messages []perdure.InputMessage) (ids []string) {
		for _, m := range messages {
			if m.Role == perdure.RoleToolResult {
				ids = append(ids, m.Parts[0].ToolCallID)
			}
		}
		return ids
	}
	had, brought := results(pending), results(added)
	open = slices.DeleteFunc(slices.Clone(open), func(id string) bool { return slices.Contains(had, id) || !slices.Contains(brought, id) })
	messages, err := answering(open, added)
	if err == nil {
		err = perdure.CheckMessages("items", open, messages)
	}
	var mine *Error
	var coded *perdure.Error
	switch {
	case errors.As(err, &mine):
		return invalid("items", "invalid_value", "%s", mine.Message)
	case errors.As(err, &coded) && len(coded.Fields) > 0:
		return invalid("items", "invalid_value", "Invalid '%s': it %s.", coded.Fields[0].Location, coded.Fields[0].Message)
	}
	return err
}

func encodeItems(items []pendingItem) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, i := range items {
		raw, err := json.Marshal(i)
		if err != nil {
			return nil, &perdure.Error{Code: perdure.Internal, Message: "an item does not encode", Err: err}
		}
		all = append(all, raw)
	}
	return all, nil
}

// pending reads at most `limit` pending items of a conversation, beginning with the index `from`.
func (a *API) pending(ctx context.Context, c *store.Conversation, from, limit int) ([]pendingItem, error) {
	stored, err := a.stored().ConversationItems(ctx, c.ID, from, limit)
	if err != nil {
		return nil, err
	}
	items := make([]pendingItem, len(stored))
	for i, raw := range stored {
		if err := json.Unmarshal(raw, &items[i]); err != nil {
			return nil, &perdure.Error{Code: perdure.Internal, Message: "a pending item does not decode", Err: err}
		}
	}
	return items, nil
}

// pendingID returns the id of a pending item. It contains the id of the next response, which will
// take the item as input. That id is reserved before the response exists, so the item's id never
// changes.
func pendingID(response string, p pendingItem, index int) string {
	return itemID(prefixOf(itemOfMessages(p.Messages).Type), response, sidePending, index)
}

// shownPending converts a pending item to the form that clients see.
func shownPending(c *store.Conversation, p pendingItem, index int) Item {
	i := itemOfMessages(p.Messages)
	i.ID = pendingID(c.Response, p, index)
	return i
}

// itemOfMessages converts messages back to the item from which they were made. A single message
// becomes the item that itemOf returns. A call and its result become the item of a tool call that a
// worker has run.
func itemOfMessages(messages []perdure.InputMessage) Item {
	if len(messages) < 2 {
		return itemOf(messages[0])
	}
	call, result := messages[0].Parts[0], messages[1].Parts[0]
	text := resultText(result.Parts)
	i := Item{Type: itemToolCall, Status: statusCompleted, Name: call.Name, Arguments: call.RawArguments, Result: &text}
	if i.Arguments == "" {
		i.Arguments = "{}"
	}
	if result.IsError {
		i.Status, i.Result, i.Failure = statusFailed, nil, &text
	}
	return i
}

// inputItem is an item of a response's input, together with the messages that were made from it.
type inputItem struct {
	Item
	messages []perdure.InputMessage
}

// inputItems converts the parts of a response's input to items. A client may have added an item to
// the conversation before the response began (see pendingItem). The parts of such an item become
// one item again.
func (f *found) inputItems(parts []perdure.InputMessage) []inputItem {
	var all []inputItem
	at := map[string]int{} // index in all by the id of the conversation item
	for i, m := range parts {
		id := ""
		if i < len(f.request.InputIDs) {
			id = f.request.InputIDs[i]
		}
		if n, there := at[id]; there {
			all[n].add(m)
			continue
		}
		if id != "" {
			at[id] = len(all)
		}
		all = append(all, inputItem{Item: Item{ID: id}, messages: []perdure.InputMessage{m}})
		if id == "" {
			all[len(all)-1].ID = itemID(prefixOf(itemOf(m).Type), f.id(), sideInput, i)
		}
	}
	for i := range all {
		id := all[i].ID
		all[i].Item = itemOfMessages(all[i].messages)
		all[i].ID = id
	}
	return all
}

func (i *inputItem) add(m perdure.InputMessage) {
	if m.Role == perdure.RoleToolResult {
		i.messages = append(i.messages, m)
		return
	}
	first := &i.messages[0]
	first.Parts = slices.Concat(first.Parts, m.Parts)
}

// inputIDs returns an id for each part of a response's input, which consists of pending items and
// of the create request's own input. A part of a pendingItem gets the id of that item; a part of
// the request's own input gets "".
func inputIDs(response string, pending []pendingItem, messages []perdure.InputMessage) []string {
	var said []string // ids of the parts in order, except parts that are results
	results := map[string][]string{}
	for n, p := range pending {
		id := pendingID(response, p, n)
		for _, m := range p.Messages {
			for _, part := range split(m) {
				if m.Role == perdure.RoleToolResult {
					call := part.Parts[0].ToolCallID
					results[call] = append(results[call], id)
				} else {
					said = append(said, id)
				}
			}
		}
	}
	next := func(from []string) (string, []string) {
		if len(from) == 0 {
			return "", nil
		}
		return from[0], from[1:]
	}
	var ids []string
	for _, m := range messages {
		for _, part := range split(m) {
			var id string
			if m.Role == perdure.RoleToolResult {
				call := part.Parts[0].ToolCallID
				id, results[call] = next(results[call])
			} else {
				id, said = next(said)
			}
			ids = append(ids, id)
		}
	}
	for len(ids) > 0 && ids[len(ids)-1] == "" {
		ids = ids[:len(ids)-1]
	}
	return ids
}
