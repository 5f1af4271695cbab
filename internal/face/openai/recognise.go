package openai

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	// maxPrefixes is the maximum number of prefixes of an input that the method `recognise` looks
	// for, the longest first.
	maxPrefixes = 64
	// maxAlike is the maximum number of executions with the same conversation that the method
	// `recognise` tries to continue.
	maxAlike = 4
)

// prefix is the first part of an input that may equal the conversation of an existing execution. It
// ends between two items.
type prefix struct {
	items   int
	history store.History
	calls   bool // the prefix contains calls of tools that workers ran
}

// prefixes returns the prefixes of an input that end with an item of the agent and are followed by
// an item of the client, the longest first. It also returns the history of the whole input. The
// parameter `h` is the history before the input.
func prefixes(h history, items []resolvedItem) ([]prefix, store.History) {
	var all []prefix
	calls, theirs := false, false // theirs: the previous item was written by the agent
	for i, item := range items {
		if item.clients() {
			h.endTurn()
			if theirs {
				all = append(all, prefix{i, h.History, calls})
			}
		}
		h.add(item)
		calls = calls || item.here
		theirs = !item.clients()
	}
	h.endTurn()
	slices.Reverse(all)
	return all[:min(len(all), maxPrefixes)], h.History
}

// recognise looks for an execution whose conversation equals a prefix of the input, the longest
// prefix first, and continues that execution. It returns "" if there is no such execution that
// waits for input.
//
// It does nothing for a create request with an idempotency key. The repeat of such a request must
// get the same response, but recognise could find another execution.
func (b *beginning) recognise(ctx context.Context) (string, error) {
	if b.idem.key != "" {
		return "", nil
	}
	for _, p := range b.prefixes {
		rows, err := b.stored().ResponsesBySaid(ctx, b.org, p.history.Said, maxAlike)
		if err != nil {
			return "", err
		}
		rows = slices.DeleteFunc(rows, func(r store.Response) bool {
			return p.calls && r.History.SaidAndRun != p.history.SaidAndRun || deleted(r)
		})
		if len(rows) > 0 {
			return b.goOnWithOne(ctx, rows, p)
		}
	}
	return "", nil
}

// deleted reports whether the client has deleted the response. A response with "store": false is
// hidden, too, but it is not deleted.
func deleted(r store.Response) bool {
	var asked request
	return r.Hidden && json.Unmarshal(r.Request, &asked) == nil && asked.stored()
}

// goOnWithOne tries the responses in the parameter `rows` in order. It continues the first one
// after which the execution has not yet continued.
func (b *beginning) goOnWithOne(ctx context.Context, rows []store.Response, p prefix) (string, error) {
	input := join(b.req.resolved[p.items:])
	for _, row := range rows {
		f, err := b.find(ctx, b.org, row.ID, true)
		if err == nil {
			err = b.current(ctx, f.fold)
		}
		if isNotFound(err) || err == nil && (!f.ended() || !f.begun()) {
			continue
		}
		if err != nil {
			return "", err
		}
		id, err := b.goOn(ctx, f, input)
		if !perdure.IsCode(err, perdure.Conflict) && !perdure.IsCode(err, perdure.ExecutionEnded) {
			return id, err
		}
	}
	return "", nil
}

// noteEnd stores the history at a response's end, before the client receives the response. A
// failure of the store is ignored: the server then does not recognise the conversation in a later
// input.
func (a *API) noteEnd(ctx context.Context, org string, row *store.Response, f *fold) {
	end := f.end()
	if end == (store.History{}) || row.History != (store.History{}) {
		return
	}
	err := a.Engine.Conversations.EndResponse(ctx, org, row.Execution, store.ResponseEnd{ID: row.ID, History: end})
	if err != nil {
		a.Logger.WarnContext(ctx, "the end of a response was not noted: a client that sends the whole conversation begins a new run",
			slog.String("response", row.ID), slog.Any("error", err))
		return
	}
	row.History = end
}
