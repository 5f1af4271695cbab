package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/store"
)

// addItems adds items to a conversation. They are pending until the next response takes them as
// input.
func (a *API) addItems(w http.ResponseWriter, r *http.Request) {
	body, err := readConversation(w, r, "items")
	if err == nil {
		err = checkInclude(r.URL.Query())
	}
	if err == nil && len(body.items) == 0 {
		err = missing("items")
	}
	var added []Item
	if err == nil {
		added, err = a.add(r.Context(), orgOf(r), r.PathValue("id"), body.items)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, newItemPage(added, false))
}

// add stores items that the next response takes as input (see pendingItem). It tries again if
// another request changes the conversation at the same time.
func (a *API) add(ctx context.Context, org, id string, items []readItem) ([]Item, error) {
	for range turnTries {
		added, err := a.tryAdd(ctx, org, id, items)
		if !perdure.IsCode(err, perdure.Conflict) {
			return added, conversationError(id, err)
		}
	}
	return nil, conversationLocked()
}

func (a *API) tryAdd(ctx context.Context, org, id string, items []readItem) ([]Item, error) {
	c, err := a.conversation(ctx, org, id)
	if err != nil {
		return nil, err
	}
	pending, open, err := a.answerable(ctx, c, items)
	if err != nil {
		return nil, err
	}
	added, err := a.pendingItems(ctx, org, items, pending, open)
	if err != nil {
		return nil, err
	}
	encoded, err := encodeItems(added)
	if err != nil {
		return nil, err
	}
	place := conversations.Place{ID: c.ID, Response: c.Response, Items: c.Items}
	if err := a.Engine.Conversations.Add(ctx, org, place, encoded); err != nil {
		return nil, err
	}
	var shown []Item
	for i, p := range added {
		shown = append(shown, shownPending(c, p, c.Items+i))
	}
	return shown, a.sealSummaries(ctx, org, shown)
}

// answerable returns the calls of a conversation for which a client may add results, and the
// pending items, which may already contain some of these results. If the parameter `items` has no
// results, answerable reads nothing.
func (a *API) answerable(ctx context.Context, c *store.Conversation, items []readItem) ([]pendingItem, []string, error) {
	result := func(m perdure.InputMessage) bool { return m.Role == perdure.RoleToolResult }
	if !slices.ContainsFunc(items, func(i readItem) bool { return i.refers || slices.ContainsFunc(i.messages, result) }) {
		return nil, nil, nil
	}
	pending, err := a.pending(ctx, c, 0, conversations.MaxPendingItems)
	if err != nil {
		return nil, nil, err
	}
	head, err := a.headOf(ctx, c)
	if perdure.IsCode(err, perdure.NotFound) {
		err = perdure.Errorf(perdure.Conflict, "conversation %s has changed meanwhile", c.ID)
	}
	return pending, head.open, err
}

// keepItem refuses the deletion of an item, which this API does not support.
func (a *API) keepItem(w http.ResponseWriter, _ *http.Request) {
	e := invalid("", "method_not_allowed", "An item of a conversation cannot be deleted: the model has read it. Delete the conversation, or create another one with the items to keep.")
	e.Status, e.Param = http.StatusMethodNotAllowed, nil
	w.Header().Set("Allow", http.MethodGet)
	e.WriteTo(w)
}

// getItem responds with one item.
func (a *API) getItem(w http.ResponseWriter, r *http.Request) {
	ctx, org, id := r.Context(), orgOf(r), r.PathValue("item")
	err := checkInclude(r.URL.Query())
	var l *itemList
	if err == nil {
		l, err = a.itemsOf(ctx, org, r.PathValue("id"))
	}
	var at itemAt
	if err == nil {
		at, err = l.find(ctx, id)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, at.items[at.index])
}

// listItems responds with a page of items, newest first by default.
func (a *API) listItems(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	err := checkInclude(query)
	var asked pageQuery
	if err == nil {
		asked, err = pageQueryOf(query)
	}
	var l *itemList
	if err == nil {
		l, err = a.itemsOf(r.Context(), orgOf(r), r.PathValue("id"))
	}
	var page itemPage
	if err == nil {
		page, err = l.page(r.Context(), asked)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, page)
}

// shownAnyway is a value of the parameter include for content that items always contain.
const shownAnyway = "message.input_image.image_url"

// checkInclude refuses values of the parameter include that items of a conversation do not support.
func checkInclude(query url.Values) error {
	for name, values := range query {
		if name != "include" && name != "include[]" {
			continue
		}
		for _, v := range values {
			if v != shownAnyway && v != "" {
				return unsupportedValue("include", "'%s'; items of a conversation are shown whole, as they are.", v)
			}
		}
	}
	return nil
}

// pendingItem finds an item that no response has taken as input yet (see the type pendingItem). It
// finds the item by its id, in any conversation of the org.
func (r *references) pendingItem(ctx context.Context, place itemPlace, id string) (resolvedItem, bool, error) {
	c, err := r.stored().ConversationByResponse(ctx, r.org, place.response)
	if err != nil {
		if perdure.IsCode(err, perdure.NotFound) {
			err = nil
		}
		return resolvedItem{}, false, err
	}
	pending, err := r.pending(ctx, c, place.index, 1)
	if err != nil || len(pending) == 0 || pendingID(c.Response, pending[0], place.index) != id {
		return resolvedItem{}, false, err
	}
	return pending[0].resolved(), true, nil
}

// belongs reports whether the response was created in a conversation that still exists. Requests
// can then refer to items of the response, even if it was created with "store": false.
func (r *references) belongs(ctx context.Context, f *found) (bool, error) {
	if f.request.Conversation == "" {
		return false, nil
	}
	_, err := r.conversation(ctx, r.org, f.request.Conversation)
	var e *Error
	if errors.As(err, &e) {
		return false, nil
	}
	return err == nil, err
}
