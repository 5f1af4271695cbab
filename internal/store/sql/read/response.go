package read

import (
	"context"
	"math"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var selectResponse = "SELECT " + load.ResponseRows.List("r") + " FROM agent_response r JOIN agent_execution x ON x.id = r.agent_execution_id"

var (
	responseByID    = statement.Read(selectResponse + " WHERE r.id = ?1 AND (?2 = '' OR x.org_id = ?2) AND " + load.Hidden)
	responsesBySaid = statement.Read(selectResponse + " WHERE r.said = ?1 AND x.org_id = ?2 AND " + load.Hidden + " ORDER BY r.created_at DESC LIMIT ?3")
	// responsesAfter and responsesBefore leave out responses that have joined another one.
	responsesAfter  = statement.Read(selectResponse + " WHERE r.agent_execution_id = ?1 AND r.first_pos > ?2 AND r.first_pos >= 0 AND r.joined IS NULL AND " + load.Hidden + " ORDER BY r.first_pos LIMIT ?3")
	responsesBefore = statement.Read(selectResponse + " WHERE r.agent_execution_id = ?1 AND r.first_pos < ?2 AND r.first_pos >= 0 AND r.joined IS NULL AND " + load.Hidden + " ORDER BY r.first_pos DESC LIMIT ?3")
)

// Response implements [store.Reader].
func (r *Reader) Response(ctx context.Context, org, id string) (*store.Response, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*store.Response, error) {
		return load.ResponseRows.One(v, responseByID, id, org)
	}, "there is no response %q", id)
}

// ResponsesOf implements [store.Reader].
func (r *Reader) ResponsesOf(ctx context.Context, execution uuid.UUID, q store.ResponseQuery) ([]store.Response, error) {
	query, from := responsesAfter, q.After
	if q.Newest {
		if query = responsesBefore; from == 0 {
			from = math.MaxInt64
		}
	}
	return r.responses(ctx, query, execution[:], from, q.Limit)
}

// ResponsesBySaid implements [store.Reader].
func (r *Reader) ResponsesBySaid(ctx context.Context, org string, said perdure.Hash, limit int) ([]store.Response, error) {
	return r.responses(ctx, responsesBySaid, said[:], org, limit)
}

func (r *Reader) responses(ctx context.Context, query *statement.Statement, args ...any) (all []store.Response, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		all = nil // the function may run again
		return v.Each(query, args, func(row func(...any) error) error {
			var one store.Response
			err := row(load.ResponseRows.Scan(nil, &one)...)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// Signal implements [store.Reader].
func (r *Reader) Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Signal, error) {
		found, err := load.Signals(v, load.SignalByID, []any{execution[:], id}, 1, nil)
		if err == nil {
			found, err = loadValues(v, r.join, execution, found, 1<<62)
		}
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return &found[0], nil
	}, "there is no signal %q", id)
}
