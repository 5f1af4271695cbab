package openai

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// itemList reads the items of a conversation.
type itemList struct {
	*API
	c          *store.Conversation
	executions []uuid.UUID
	loaded     *perdure.Execution // the execution that was read most recently
}

func (a *API) itemsOf(ctx context.Context, org, id string) (*itemList, error) {
	c, err := a.conversation(ctx, org, id)
	if err != nil {
		return nil, err
	}
	executions, err := a.stored().ConversationExecutions(ctx, c.ID)
	return &itemList{API: a, c: c, executions: executions}, err
}

// itemAt says where an item is in a conversation. The field `row` is the response that has the
// item, or nil if no response has taken the item as input yet (see pendingItem). The field `items`
// has the items of that response, or all pending items, and `index` is the item's index in `items`.
// The field `execution` is the index of the response's execution in itemList.executions.
type itemAt struct {
	execution int
	row       *store.Response
	items     []Item
	index     int
}

// find returns the position of the item with the id. Errors: an *Error with status 404.
func (l *itemList) find(ctx context.Context, id string) (itemAt, error) {
	none := notFound("Item with id '%s' not found in conversation '%s'.", id, l.c.ID)
	place, ok := placeOf(id)
	if !ok {
		return itemAt{}, none
	}
	at, err := l.locate(ctx, place)
	if isNotFound(err) || perdure.IsCode(err, perdure.NotFound) {
		return itemAt{}, none
	}
	if err != nil {
		return itemAt{}, err
	}
	if at.index = slices.IndexFunc(at.items, func(i Item) bool { return i.ID == id }); at.index < 0 {
		return itemAt{}, none
	}
	return at, nil
}

func (l *itemList) locate(ctx context.Context, place itemPlace) (at itemAt, err error) {
	if place.side == sidePending && place.response == l.c.Response {
		at.items, err = l.pendingPage(ctx, 0, l.c.Items)
		return at, err
	}
	if at.row, err = l.row(ctx, l.c.Org, place.response, true); err != nil {
		return at, err
	}
	if at.execution = slices.Index(l.executions, at.row.Execution); at.execution < 0 || at.row.Joined != "" {
		return at, noResponse(place.response)
	}
	at.items, err = l.ofResponse(ctx, at.row)
	return at, err
}

// page returns one page of items. It reads only the responses that the page needs.
func (l *itemList) page(ctx context.Context, q pageQuery) (itemPage, error) {
	at := itemAt{execution: -1}
	if q.after != "" {
		var err error
		if at, err = l.find(ctx, q.after); err != nil {
			if isNotFound(err) {
				err = invalid("after", "invalid_value", "Invalid 'after': there is no item '%s'.", q.after)
			}
			return itemPage{}, err
		}
	}
	var items []Item
	for some, err := range l.from(ctx, at, q.newest) {
		if err != nil {
			return itemPage{}, err
		}
		if items = append(items, some...); len(items) > q.limit {
			return newItemPage(items[:q.limit], true), nil
		}
	}
	return newItemPage(items, false), nil
}

// from yields the items of the conversation after the item `at`, or all items if the parameter `at`
// is empty. Each step yields the items of one response. If the parameter `newest` is set, the order
// is from the newest to the oldest item.
func (l *itemList) from(ctx context.Context, at itemAt, newest bool) iter.Seq2[[]Item, error] {
	if newest {
		return l.backward(ctx, at)
	}
	return l.forward(ctx, at)
}

func (l *itemList) forward(ctx context.Context, at itemAt) iter.Seq2[[]Item, error] {
	return func(yield func([]Item, error) bool) {
		if at.items != nil && !yield(at.items[at.index+1:], nil) || at.items != nil && at.row == nil {
			return
		}
		first, pos := max(0, at.execution), int64(0)
		if at.row != nil {
			pos = at.row.FirstPos
		}
		for _, x := range l.executions[first:] {
			if !l.responses(ctx, x, store.ResponseQuery{After: pos}, yield) {
				return
			}
			pos = 0
		}
		for from := 0; from < l.c.Items; from += pendingStep {
			if items, err := l.pendingPage(ctx, from, pendingStep); !yield(items, err) || err != nil {
				return
			}
		}
	}
}

func (l *itemList) backward(ctx context.Context, at itemAt) iter.Seq2[[]Item, error] {
	turned := func(yield func([]Item, error) bool) func([]Item, error) bool {
		return func(items []Item, err error) bool {
			items = slices.Clone(items)
			slices.Reverse(items)
			return yield(items, err)
		}
	}
	return func(yield func([]Item, error) bool) {
		yield = turned(yield)
		if at.items != nil && !yield(at.items[:at.index], nil) {
			return
		}
		for end := l.c.Items; at.items == nil && end > 0; end -= pendingStep {
			from := max(0, end-pendingStep)
			if items, err := l.pendingPage(ctx, from, end-from); !yield(items, err) || err != nil {
				return
			}
		}
		last, pos := len(l.executions)-1, int64(0)
		if at.row != nil {
			last, pos = at.execution, at.row.FirstPos
		}
		for i := last; i >= 0; i-- {
			if !l.responses(ctx, l.executions[i], store.ResponseQuery{After: pos, Newest: true}, yield) {
				return
			}
			pos = 0
		}
	}
}

const (
	// pendingStep is the number of pending items (see pendingItem) that one query reads, and
	// responsesStep the number of responses.
	pendingStep   = 100
	responsesStep = 10
)

// responses yields the items of an execution's responses. Like the function `yield`, it returns
// false if the iteration must stop.
func (l *itemList) responses(ctx context.Context, execution uuid.UUID, q store.ResponseQuery, yield func([]Item, error) bool) bool {
	for q.Limit = responsesStep; ; {
		rows, err := l.stored().ResponsesOf(ctx, execution, q)
		if err != nil {
			yield(nil, err)
			return false
		}
		for i := range rows {
			items, err := l.ofResponse(ctx, &rows[i])
			if isNotFound(err) {
				continue // the log of the response was pruned
			}
			if !yield(items, err) || err != nil {
				return false
			}
			q.After = rows[i].FirstPos
		}
		if len(rows) < responsesStep {
			return true
		}
		q.After = rows[len(rows)-1].FirstPos
	}
}

// ofResponse returns the items of a response: its input and, once the response has ended, those
// items of the output that show a part of a stored message.
func (l *itemList) ofResponse(ctx context.Context, row *store.Response) ([]Item, error) {
	f, err := l.foldOf(ctx, row)
	if err != nil {
		return nil, err
	}
	if f.ended() && !f.begun() {
		return []Item{}, nil // the execution ended before the agent took the input
	}
	parts, err := l.inputParts(ctx, f)
	if err != nil {
		return nil, err
	}
	items := []Item{}
	for _, i := range f.inputItems(parts) {
		items = append(items, i.Item)
	}
	if err := l.sealSummaries(ctx, l.c.Org, items); err != nil {
		return nil, err
	}
	if !f.ended() {
		return items, nil
	}
	for _, g := range f.items {
		if g.part.Type != "" {
			items = append(items, g.Item)
		}
	}
	return items, nil
}

func (l *itemList) foldOf(ctx context.Context, row *store.Response) (*found, error) {
	if l.loaded == nil || l.loaded.ID != row.Execution {
		x, err := l.stored().Execution(ctx, l.c.Org, row.Execution)
		if perdure.IsCode(err, perdure.NotFound) {
			return nil, noResponse(row.ID)
		}
		if err != nil {
			return nil, err
		}
		l.loaded = x
	}
	f, err := l.foundIn(ctx, l.c.Org, row, l.loaded, true)
	if err == nil {
		err = l.current(ctx, f.fold)
	}
	return f, err
}

func (l *itemList) pendingPage(ctx context.Context, from, limit int) ([]Item, error) {
	pending, err := l.pending(ctx, l.c, from, limit)
	if err != nil {
		return nil, err
	}
	items := []Item{}
	for i, p := range pending {
		items = append(items, shownPending(l.c, p, from+i))
	}
	return items, l.sealSummaries(ctx, l.c.Org, items)
}
