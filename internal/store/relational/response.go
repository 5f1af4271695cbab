package relational

import (
	"context"
	"math"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	selectResponse = "SELECT r.agent_execution_id, r.id, r.signal_id, r.first_pos, r.joined, r.hidden, r.created_at, r.request, r.said, r.said_and_run" +
		" FROM agent_response r JOIN agent_execution x ON x.id = r.agent_execution_id"
)

var (
	putResponse     = insert("agent_response", "agent_execution_id, id, signal_id, first_pos, joined, hidden, created_at, request, said, said_and_run")
	joinResponse    = update("agent_response", columns("joined"), columns("agent_execution_id, id"))
	hideResponse    = update("agent_response", Terms{}.fixed("hidden", "= 1"), columns("agent_execution_id, id"))
	endResponse     = update("agent_response", columns("said, said_and_run"), columns("agent_execution_id, id").fixed("said", "IS NULL"))
	responseByID    = read(selectResponse + " WHERE r.id = ?1 AND (?2 = '' OR x.org_id = ?2) AND " + hidden)
	responsesBySaid = read(selectResponse + " WHERE r.said = ?1 AND x.org_id = ?2 AND " + hidden + " ORDER BY r.created_at DESC LIMIT ?3")
	// Responses that have joined another one are left out.
	responsesAfter  = read(selectResponse + " WHERE r.agent_execution_id = ?1 AND r.first_pos > ?2 AND r.joined IS NULL AND " + hidden + " ORDER BY r.first_pos LIMIT ?3")
	responsesBefore = read(selectResponse + " WHERE r.agent_execution_id = ?1 AND r.first_pos < ?2 AND r.joined IS NULL AND " + hidden + " ORDER BY r.first_pos DESC LIMIT ?3")
)

func (t *Transaction) applyResponses(id uuid.UUID, ch *store.Changes) error {
	for i := range ch.Responses {
		r := &ch.Responses[i]
		err := t.write(putResponse, id[:], r.ID, optText(r.SignalID), r.FirstPos, optText(r.Joined), flag(r.Hidden),
			millis(r.CreatedAt), rawText(r.Request), optHash(r.History.Said), optHash(r.History.SaidAndRun))
		if err != nil {
			return err
		}
	}
	for _, j := range ch.Join {
		if err := t.write(joinResponse, j.Into, id[:], j.ID); err != nil {
			return err
		}
	}
	if ch.HideResponse != "" {
		if err := t.write(hideResponse, id[:], ch.HideResponse); err != nil {
			return err
		}
	}
	if end := ch.EndResponse; end != nil {
		return t.write(endResponse, optHash(end.History.Said), optHash(end.History.SaidAndRun), id[:], end.ID)
	}
	return nil
}

// responseColumns returns the destinations for the columns of selectResponse.
func responseColumns(row *store.Response) []any {
	return []any{
		&row.Execution, &row.ID,
		textInto(&row.SignalID),
		&row.FirstPos,
		textInto(&row.Joined),
		flagInto(&row.Hidden),
		timeInto(&row.CreatedAt),
		rawInto(&row.Request),
		hashInto(&row.History.Said), hashInto(&row.History.SaidAndRun),
	}
}

// Response implements [store.Reader].
func (r *Reader) Response(ctx context.Context, org, id string) (*store.Response, error) {
	var (
		found bool
		row   store.Response
	)
	err := r.read(ctx, func(v view) (err error) {
		found, err = v.one(responseByID, []any{id, org}, responseColumns(&row)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, perdure.Errorf(perdure.NotFound, "there is no response %q", id)
	}
	return &row, nil
}

// ResponsesOf implements [store.Reader].
func (r *Reader) ResponsesOf(ctx context.Context, execution uuid.UUID, q store.ResponseQuery) (all []store.Response, err error) {
	query, from := responsesAfter, q.After
	if q.Newest {
		if query = responsesBefore; from == 0 {
			from = math.MaxInt64
		}
	}
	err = r.read(ctx, func(v view) error {
		all = nil // the function may run again
		return v.each(query, []any{execution[:], from, q.Limit}, func(row func(...any) error) error {
			var one store.Response
			err := row(responseColumns(&one)...)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// ResponsesBySaid implements [store.Reader].
func (r *Reader) ResponsesBySaid(ctx context.Context, org string, said perdure.Hash, limit int) ([]store.Response, error) {
	var found []store.Response
	err := r.read(ctx, func(v view) error {
		found = nil // the function may run again
		return v.each(responsesBySaid, []any{said[:], org, limit}, func(scan func(...any) error) error {
			var row store.Response
			err := scan(responseColumns(&row)...)
			found = append(found, row)
			return err
		})
	})
	return found, err
}

// Signal implements [store.Reader].
func (r *Reader) Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error) {
	var found []perdure.Signal
	err := r.read(ctx, func(v view) (err error) {
		if found, err = loadSignals(v, signalByID, []any{execution[:], id}, 1, nil); err != nil || len(found) == 0 {
			return err
		}
		found, err = loadValues(v, r.join, execution, found, 1<<62)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, perdure.Errorf(perdure.NotFound, "there is no signal %q", id)
	}
	return &found[0], nil
}
