package openaiapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	// maxPrefixes is how many beginnings of an input are looked for, the longest first.
	maxPrefixes = 64
	// maxAlike is how many runs with the same conversation are tried.
	maxAlike = 4
)

// prefix is a beginning of the input that may be the conversation of a run: the items
// before the index.
type prefix struct {
	items   int
	history store.History
	calls   bool // it has calls of tools that ran here
}

// prefixes hashes the input, on from a history, and returns the beginnings after which
// the client speaks, the longest first, and the history of all of it.
func prefixes(h history, items []resolvedItem) ([]prefix, store.History) {
	var all []prefix
	calls, theirs := false, false // whose turn it was
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

// recognise looks for a run whose conversation is the longest beginning of the input,
// and continues with it in place. It returns "" where there is none, or where the run is
// not idle at that end.
//
// A create under an idempotency key is not looked at: which run it would continue with
// may change until it is repeated.
func (b *beginning) recognise(ctx context.Context) (string, error) {
	if b.idem.key != "" {
		return "", nil
	}
	for _, p := range b.prefixes {
		rows, err := b.Engine.Store.ResponsesBySaid(ctx, b.org, p.history.Said, maxAlike)
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

// deleted reports whether the client deleted the response, rather than never wanted
// it stored.
func deleted(r store.Response) bool {
	var asked request
	return r.Hidden && json.Unmarshal(r.Request, &asked) == nil && asked.stored()
}

// goOnWithOne continues with the first of the runs that is idle at that response.
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

// noteEnd keeps the history up to a response's end, before its client is given it. One
// that cannot be kept is not recognised, and nothing else.
func (a *API) noteEnd(ctx context.Context, org string, row *store.Response, f *fold) {
	end := f.end()
	if end == (store.History{}) || row.History != (store.History{}) {
		return
	}
	err := a.Engine.EndResponse(ctx, org, row.Execution, store.ResponseEnd{ID: row.ID, History: end})
	if err != nil {
		a.Logger.WarnContext(ctx, "the end of a response was not noted: a client that sends the whole conversation begins a new run",
			slog.String("response", row.ID), slog.Any("error", err))
		return
	}
	row.History = end
}
