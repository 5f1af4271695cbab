package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

// cancel cancels a running response, and sends the reply when the response has ended. A response
// that has already ended stays unchanged.
func (a *API) cancel(w http.ResponseWriter, r *http.Request) {
	ctx, org := r.Context(), orgOf(r)
	f, err := a.find(ctx, org, r.PathValue("id"), false)
	if err == nil {
		err = a.current(ctx, f.fold)
	}
	if err != nil || f.ended() {
		a.answerFound(w, r, f, err)
		return
	}
	accepted, err := a.Engine.Conversations.CancelResponse(ctx, org, f.row.Execution, f.id())
	if err == nil {
		f, err = a.find(ctx, org, f.id(), false) // reads the response again, now to its end
	}
	if err == nil && accepted {
		err = a.wait(ctx, f.fold)
	} else if err == nil {
		err = a.current(ctx, f.fold)
	}
	if err == nil && !f.ended() {
		err = invalid("", "response_not_running", "Response with id '%s' waits behind another one and cannot be cancelled by itself.", f.id())
	}
	a.answerFound(w, r, f, err)
}

func (a *API) answerFound(w http.ResponseWriter, r *http.Request, f *found, err error) {
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, r, f.fold, nil)
}

// delete hides a response that has ended. Later requests do not find the response.
func (a *API) delete(w http.ResponseWriter, r *http.Request) {
	ctx, org := r.Context(), orgOf(r)
	f, err := a.find(ctx, org, r.PathValue("id"), false)
	if err == nil {
		err = a.current(ctx, f.fold)
	}
	if err == nil && !f.ended() {
		err = invalid("", "response_in_progress", "Response with id '%s' is in progress; cancel it first.", f.id())
	}
	if err == nil {
		err = a.Engine.Conversations.HideResponse(ctx, org, f.row.Execution, f.id())
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": r.PathValue("id"), "object": "response", "deleted": true})
}

// inputItems responds with a page of the input items of a response, newest first by default.
func (a *API) inputItems(w http.ResponseWriter, r *http.Request) {
	f, err := a.find(r.Context(), orgOf(r), r.PathValue("id"), false)
	var items []Item
	if err == nil {
		items, err = a.inputOf(r, f)
	}
	var page itemPage
	if err == nil {
		page, err = pageOf(items, r.URL.Query())
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, page)
}

// inputOf returns the items of the response's input.
func (a *API) inputOf(r *http.Request, f *found) ([]Item, error) {
	given, err := a.inputParts(r.Context(), f)
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, i := range f.inputItems(given) {
		items = append(items, i.Item)
	}
	return items, a.sealSummaries(r.Context(), orgOf(r), items)
}

// inputParts returns the messages of the response's input, split so that each becomes one item.
// They come from the execution's input for the first response of an execution, and from the signal
// that began the response for later ones.
func (a *API) inputParts(ctx context.Context, f *found) ([]perdure.InputMessage, error) {
	messages := inputMessages(f.execution.Input)
	if f.row.SignalID != "" {
		s, err := a.stored().Signal(ctx, f.row.Execution, f.row.SignalID)
		if err != nil {
			return nil, err
		}
		messages = signalMessages(s.Value)
	}
	var all []perdure.InputMessage
	for _, m := range messages {
		all = append(all, split(m)...)
	}
	return all, nil
}

func inputMessages(input json.RawMessage) []perdure.InputMessage {
	var in perdure.ReactInput
	if json.Unmarshal(input, &in) != nil {
		return nil // the input of an agent of another kind is not a message
	}
	return orParts(in.Messages, in.Parts, in.UserPrompt)
}

func signalMessages(value json.RawMessage) []perdure.InputMessage {
	var v engine.UserMessageValue
	if json.Unmarshal(value, &v) != nil {
		return nil
	}
	text := ""
	if v.Text != nil {
		text = *v.Text
	}
	return orParts(v.Messages, v.Parts, text)
}

func orParts(messages []perdure.InputMessage, parts []perdure.Part, text string) []perdure.InputMessage {
	switch {
	case len(messages) > 0:
		return messages
	case len(parts) == 0 && text == "":
		return nil
	case len(parts) == 0:
		parts = []perdure.Part{perdure.Text(text)}
	}
	return []perdure.InputMessage{{Role: perdure.RoleUser, Parts: parts}}
}

type itemPage struct {
	Object  string  `json:"object"`
	Data    []Item  `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// pageQuery contains the query parameters of a list.
type pageQuery struct {
	after  string
	limit  int
	newest bool
}

func pageQueryOf(q url.Values) (pageQuery, error) {
	asked := pageQuery{after: q.Get("after"), limit: 20, newest: true}
	if text := q.Get("limit"); text != "" {
		var err error
		if asked.limit, err = strconv.Atoi(text); err != nil || asked.limit < 1 || asked.limit > 100 {
			return asked, invalid("limit", "invalid_value", "Invalid 'limit': must be from 1 to 100.")
		}
	}
	switch order := q.Get("order"); order {
	case "asc":
		asked.newest = false
	case "", "desc":
	default:
		return asked, invalid("order", "invalid_value", "Invalid 'order': '%s' is none of asc, desc.", order)
	}
	return asked, nil
}

// pageOf returns the page of items that the query parameters select.
func pageOf(items []Item, q url.Values) (itemPage, error) {
	asked, err := pageQueryOf(q)
	if err != nil {
		return itemPage{}, err
	}
	if asked.newest {
		slices.Reverse(items)
	}
	if asked.after != "" {
		i := slices.IndexFunc(items, func(i Item) bool { return i.ID == asked.after })
		if i < 0 {
			return itemPage{}, invalid("after", "invalid_value", "Invalid 'after': there is no item '%s'.", asked.after)
		}
		items = items[i+1:]
	}
	more := len(items) > asked.limit
	return newItemPage(items[:min(len(items), asked.limit)], more), nil
}

func newItemPage(items []Item, more bool) itemPage {
	page := itemPage{Object: "list", Data: append([]Item{}, items...), HasMore: more}
	if n := len(items); n > 0 {
		page.FirstID, page.LastID = &items[0].ID, &items[n-1].ID
	}
	return page
}
