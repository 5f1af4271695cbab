package openai

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// maxReferred is the maximum number of responses to which one input may refer. The server must
// read the log of each such response.
const maxReferred = 1_000

// resolve converts the items of the input to messages. An item that refers to an item of a stored
// response is replaced by the stored content. The stored content also has signatures and complete
// tool results, which clients never see.
func (a *API) resolve(ctx context.Context, org string, r *request) (err error) {
	r.resolved, err = a.resolveItems(ctx, org, r.items)
	r.input = join(r.resolved)
	return err
}

func (a *API) resolveItems(ctx context.Context, org string, items []readItem) ([]resolvedItem, error) {
	refs := newReferences(a, org, items)
	var all []resolvedItem
	blocks := opener{API: a, org: org}
	for _, i := range items {
		if err := blocks.open(ctx, &i); err != nil {
			return nil, err
		}
		item := resolvedItem{entry: refs.origin(i), messages: i.messages, lost: i.lost}
		if i.refers {
			var err error
			if item, err = refs.item(ctx, i); err == nil {
				err = refs.total.add(item)
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, item)
	}
	return all, nil
}

// resolvedItem is an item of the input, converted to one message. A call of a tool that a worker
// has run has a second message with the result, and the field `here` is set. If the client has sent
// such a call without its id, the field `lost` is set instead, because the stored call cannot be
// found. The field `entry` is the stored entry that the item shows, if it is known.
type resolvedItem struct {
	entry      uuid.UUID
	messages   []perdure.InputMessage
	here, lost bool
}

// join returns the messages of a conversation that consists of the items. Adjacent items may become
// one message: see transcript.
func join(items []resolvedItem) []perdure.InputMessage {
	var t transcript
	for _, i := range items {
		t.add(i)
	}
	return restored(t.end())
}

// transcript builds the messages of a conversation from items. Adjacent items of the assistant,
// including calls, become one message. The item of a tool call that a worker has run contains the
// result, which becomes a separate message after the message with the calls.
type transcript struct {
	messages []perdure.InputMessage
	results  []perdure.InputMessage // results of the calls in the last message
	entry    uuid.UUID              // the entry that contains the calls
}

func (t *transcript) add(i resolvedItem) {
	if len(i.messages) == 0 {
		return // the item was withdrawn
	}
	m := i.messages[0]
	together := m.Role == perdure.RoleAssistant && i.entry == t.entry && t.entry != uuid.Nil
	if len(t.results) > 0 && !together {
		t.messages = t.end()
	}
	last := len(t.messages) - 1
	if m.Role == perdure.RoleAssistant && last >= 0 && t.messages[last].Role == m.Role {
		t.messages[last].Parts = append(t.messages[last].Parts, m.Parts...)
		if t.messages[last].Provider == "" {
			t.messages[last].Provider, t.messages[last].Model = m.Provider, m.Model
		}
	} else {
		t.messages = append(t.messages, m)
	}
	if len(i.messages) > 1 {
		t.results, t.entry = append(t.results, i.messages[1]), i.entry
	}
}

func (t *transcript) end() []perdure.InputMessage {
	all := append(t.messages, t.results...)
	t.results, t.entry = nil, uuid.Nil
	return all
}

// references finds items by their ids in the stored responses of one org.
type references struct {
	*API
	org       string
	responses map[string]*found

	// wanted are the ids of the items to which the input refers. Each response is read once. Of the
	// items of the response's input, only the wanted ones are kept in memory.
	wanted map[string]bool
	inputs map[string]map[string]resolvedItem

	restored, total budget
}

func newReferences(a *API, org string, items []readItem) *references {
	r := &references{
		API: a, org: org, responses: map[string]*found{}, wanted: map[string]bool{}, inputs: map[string]map[string]resolvedItem{},
		restored: budget{left: a.Engine.PayloadLimit}, total: budget{left: a.Engine.PayloadLimit},
	}
	for _, i := range items {
		r.wanted[i.id] = r.wanted[i.id] || i.refers
	}
	return r
}

// budget limits the bytes of the items that one input refers to, because a short id can refer to a
// large item. If the items are larger than the budget, the input is refused.
type budget struct{ left int64 }

func (b *budget) add(i resolvedItem) error {
	if len(i.messages) > 0 {
		b.left -= int64(len(encoded(i.messages)))
	}
	if b.left < 0 {
		return perdure.Errorf(perdure.PayloadTooLarge, "the items that the input refers to are together over the limit of a payload; refer to fewer of them")
	}
	return nil
}

func noItem(i readItem) *Error {
	return invalid(i.at+".id", "item_not_found", "Item with id '%s' not found.", i.id)
}

// item returns the stored item to which the item `i` refers by its id. The item `i` is an
// item_reference, or a call of a tool that a worker has run.
func (r *references) item(ctx context.Context, i readItem) (resolvedItem, error) {
	place, ok := placeOf(i.id)
	if !ok || i.whole && place.prefix != prefixToolCall {
		return resolvedItem{}, noItem(i)
	}
	if place.side == sidePending {
		if item, there, err := r.pendingItem(ctx, place, i.id); there || err != nil {
			return item, err
		}
	}
	f, err := r.response(ctx, place.response, i)
	if err != nil {
		return resolvedItem{}, err
	}
	var item resolvedItem
	var there bool
	if place.side == sideOutput {
		item, there = ofOutput(f, place)
	} else {
		item, there, err = r.ofInput(ctx, f, i.id)
	}
	if err == nil && !there {
		err = noItem(i)
	}
	return item, err
}

// origin returns the id of the entry that the item `i` shows, or uuid.Nil if it is unknown. With
// this id, the function `join` puts the items of one entry into one message. origin reads no
// response: the entry is known only if an earlier item of the input refers to the same response.
func (r *references) origin(i readItem) uuid.UUID {
	place, ok := placeOf(i.id)
	f := r.responses[place.response]
	if !ok || f == nil || place.side != sideOutput || place.index >= len(f.items) {
		return uuid.Nil
	}
	return f.items[place.index].entry
}

// response returns the response to which the item `i` refers, and reads each response only once. A
// response of a conversation that still exists is always found. In all other cases, a deleted
// response is not found, and a response with "store": false is found only for a call of a tool that
// a worker has run, because clients never get the complete result of such a call.
func (r *references) response(ctx context.Context, id string, i readItem) (*found, error) {
	if f := r.responses[id]; f != nil {
		return f, nil
	}
	if len(r.responses) == maxReferred {
		return nil, invalid("input", "array_above_max_length", "Invalid 'input': it refers to items of over %d responses.", maxReferred)
	}
	f, err := r.find(ctx, r.org, id, true)
	if err == nil && f.id() != id {
		err = noItem(i) // another response has taken the input, so the items belong to that response
	}
	if err == nil && f.row.Hidden && (f.request.stored() || !i.whole) {
		var belongs bool
		if belongs, err = r.belongs(ctx, f); err == nil && !belongs {
			err = noItem(i)
		}
	}
	if err == nil {
		err = r.current(ctx, f.fold)
	}
	if isNotFound(err) {
		return nil, noItem(i)
	}
	if err == nil {
		r.responses[id] = f
	}
	return f, err
}

func (r *references) ofInput(ctx context.Context, f *found, id string) (resolvedItem, bool, error) {
	items := r.inputs[f.id()]
	if items == nil {
		parts, err := r.inputParts(ctx, f)
		if err != nil {
			return resolvedItem{}, false, err
		}
		items = map[string]resolvedItem{}
		for _, i := range f.inputItems(parts) {
			if !r.wanted[i.ID] {
				continue
			}
			items[i.ID] = resolvedItem{messages: i.messages, here: len(i.messages) > 1}
			if err := r.restored.add(items[i.ID]); err != nil {
				return resolvedItem{}, false, err
			}
		}
		r.inputs[f.id()] = items
	}
	item, there := items[id]
	return item, there, nil
}

// ofOutput returns an item of a response's output as a resolvedItem. If the item was withdrawn, the
// resolvedItem has no messages.
func ofOutput(f *found, place itemPlace) (resolvedItem, bool) {
	if place.index >= len(f.items) {
		return resolvedItem{}, false
	}
	g := f.items[place.index]
	if !g.over || prefixOf(g.Type) != place.prefix {
		return resolvedItem{}, false
	}
	if g.part.Type == "" {
		return resolvedItem{}, true
	}
	if g.Type == itemCompaction {
		return resolvedItem{entry: g.entry, messages: []perdure.InputMessage{g.summary.message()}}, true
	}
	made := f.makers[g.entry]
	said := perdure.InputMessage{Role: perdure.RoleAssistant, Parts: []perdure.Part{g.part}, Provider: made.Provider, Model: made.Model}
	item := resolvedItem{entry: g.entry, messages: []perdure.InputMessage{said}}
	if g.Type == itemToolCall {
		item.here = true
		item.messages = append(item.messages, perdure.InputMessage{Role: perdure.RoleToolResult, Parts: []perdure.Part{g.answer()}})
	}
	return item, true
}

// answer returns the result of a tool call. If the response has ended and the call has no result,
// the returned result is an error.
func (g *growing) answer() perdure.Part {
	if g.result != nil {
		return *g.result
	}
	return perdure.Part{
		Type: perdure.PartToolResult, ToolCallID: g.part.ID, ToolName: g.part.Name, IsError: true, Parts: []perdure.Part{perdure.Text(*g.Failure)},
	}
}
