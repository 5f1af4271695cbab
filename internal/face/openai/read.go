package openai

import (
	"context"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/internal/store"
)

// found is a response that exists, with its row in the store, its execution, and its fold (the
// events and output built from the log).
type found struct {
	row       *store.Response
	execution *perdure.Execution
	*fold
}

// find returns a response by its id. If another response has taken the input of this response, find
// returns that other response. Hidden responses (deleted, or created with "store": false) are found
// only if the parameter `hidden` is set. Errors: an *Error with status 404.
func (a *API) find(ctx context.Context, org, id string, hidden bool) (*found, error) {
	row, err := a.row(ctx, org, id, hidden)
	if err == nil && row.Joined != "" {
		row, err = a.row(ctx, org, row.Joined, hidden)
	}
	if err != nil {
		return nil, err
	}
	x, err := a.stored().Execution(ctx, org, row.Execution)
	if perdure.IsCode(err, perdure.NotFound) || err == nil && x.PersistenceMode == perdure.Local {
		return nil, noResponse(id) // only the worker of a LOCAL execution stores its contents
	}
	if err != nil {
		return nil, err
	}
	return a.foundIn(ctx, org, row, x, hidden)
}

// foundIn returns a response, given its row in the store and its execution.
func (a *API) foundIn(ctx context.Context, org string, row *store.Response, x *perdure.Execution, hidden bool) (*found, error) {
	r, err := requestOf(row.Request, x)
	if err != nil {
		return nil, err
	}
	from := a.sourceOf(org, row, x.Kind, hidden)
	if r.wants(includeReasoning) {
		box, err := a.box(ctx, org, sealedReasoning)
		if err != nil {
			return nil, err
		}
		from.seal = box.Seal
	}
	if r.CompactFrom != nil {
		box, err := a.box(ctx, org, sealedCompaction)
		if err != nil {
			return nil, err
		}
		from.sealSummary = box.Seal
	}
	of := response.Identity{Execution: row.Execution, Response: row.ID}
	return &found{row, x, newFold(of, row.FirstPos, r, from)}, nil
}

func (a *API) sourceOf(org string, row *store.Response, kind string, hidden bool) source {
	return source{
		entry: func(ctx context.Context, id uuid.UUID) (*perdure.Entry, error) {
			return a.stored().Entry(ctx, row.Execution, id)
		},
		joined: func(ctx context.Context) (string, error) {
			now, err := a.row(ctx, org, row.ID, true)
			if err != nil {
				return "", err
			}
			return now.Joined, nil
		},
		other: func(ctx context.Context, id string) (*fold, error) {
			f, err := a.find(ctx, org, id, hidden)
			if err != nil {
				return nil, err
			}
			return f.fold, nil
		},
		noteEnd:       func(ctx context.Context, f *fold) { a.noteEnd(ctx, org, row, f) },
		steers:        row.SignalID != "" && row.Request == nil,
		takesMessages: kind == perdure.ReactKind,
	}
}

func (a *API) row(ctx context.Context, org, id string, hidden bool) (*store.Response, error) {
	if perdure.CheckText("id", id) != nil {
		return nil, noResponse(id) // an id that cannot be stored does not exist
	}
	row, err := a.stored().Response(ctx, org, id)
	if perdure.IsCode(err, perdure.NotFound) || err == nil && row.Hidden && !hidden {
		return nil, noResponse(id)
	}
	return row, err
}

// start returns the log cursor directly before the response's first record.
func (a *API) start(ctx context.Context, f *fold) (string, error) {
	c, err := a.Log.CursorAt(ctx, f.of.Execution, f.first-1)
	if err != nil {
		return "", err
	}
	return c.String(), nil
}

// pageRecords is the maximum number of records in one read of the log.
const pageRecords = 500

// current applies to f all records of the response that the log contains now.
func (a *API) current(ctx context.Context, f *fold) error {
	at, err := a.start(ctx, f)
	if err != nil {
		return err
	}
	for {
		p, err := a.Log.Page(ctx, f.of.Execution, at, pageRecords)
		if err != nil {
			return err
		}
		if p.Reset != nil {
			return noResponse(f.id()) // the log of the response was pruned
		}
		for _, item := range p.Items {
			if err := f.take1(ctx, item); err != nil {
				return err
			}
		}
		f.take()
		if p.UpToDate && f.status == "" {
			return noResponse(f.id()) // the log has no event about the response's input
		}
		if f.ended() || p.UpToDate {
			return nil
		}
		at = p.Next.String()
	}
}

// take1 applies one item of the log to the fold. If the item ends the response, take1 calls
// noteEnd.
func (f *fold) take1(ctx context.Context, item eventlog.Item) error {
	before := f.ended()
	f.last = max(f.last, item.Cursor.Pos)
	if err := f.apply(ctx, item); err != nil {
		return err
	}
	if f.ended() && !before {
		f.noteEnd(ctx, f)
	}
	return nil
}

// step is what `follow` yields for one record of the log: the events, if any, that the record adds
// to the response.
type step struct {
	events []Event
	more   bool // another step follows at once
}

// follow yields the events of the response from the first to the last, as they occur. About once a
// second it yields a step without events. If another response takes the input, follow replaces f by
// the fold of that response, and yields only that response's events.
func (a *API) follow(ctx context.Context, f *fold) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for {
			for s, err := range a.followOne(ctx, f) {
				if !yield(s, err) || err != nil {
					return
				}
			}
			if f.into == "" {
				return
			}
			other, err := f.other(ctx, f.into)
			if err != nil {
				yield(step{}, err)
				return
			}
			*f = *other
		}
	}
}

// followOne does the work of follow for one response. It ends when the response f ends, or when f is
// withdrawn and its input is answered by another response (f.into).
func (a *API) followOne(ctx context.Context, f *fold) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		at, err := a.start(ctx, f)
		if err != nil {
			yield(step{}, err)
			return
		}
		for item, err := range a.Log.Tail(ctx, f.of.Execution, eventlog.From{Cursor: at}) {
			if err == nil && item.Event == eventlog.Reset {
				err = noResponse(f.id())
			}
			if err == nil {
				err = f.take1(ctx, item)
			}
			if err != nil {
				yield(step{}, err)
				return
			}
			if f.into != "" || !yield(step{f.take(), item.More}, nil) || f.ended() {
				return
			}
		}
	}
}

// wait follows the response until it ends. It also returns when the agent waits for the answer to a
// question, because the client can answer only after it has the reply to this request.
func (a *API) wait(ctx context.Context, f *fold) error {
	for _, err := range a.follow(ctx, f) {
		if err != nil || f.asks {
			return err
		}
	}
	return nil
}
