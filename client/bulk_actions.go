package client

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// BulkRequest requests a bulk action: the same command for each execution that matches a filter.
type BulkRequest struct {
	// Action is the command for each execution: cancel or retry.
	Action perdure.BulkActionName
	Filter ExecutionFilter
	// Reason is a text that people see with the bulk action.
	Reason string
	// IdempotencyKey identifies the request for 24 hours. A repeat of the same request with the same
	// key returns the bulk action of the first request.
	IdempotencyKey string
}

type bulkBody struct {
	Action perdure.BulkActionName `json:"action"`
	Filter perdure.BulkFilter     `json:"filter"`
	Reason string                 `json:"reason,omitempty"`
}

func (r BulkRequest) body() bulkBody {
	return bulkBody{r.Action, r.Filter.json(), r.Reason}
}

// json converts the filter to its form in the body of a request.
func (f ExecutionFilter) json() perdure.BulkFilter {
	timeOf := func(t time.Time) *perdure.Time {
		if t.IsZero() {
			return nil
		}
		at := perdure.At(t)
		return &at
	}
	return perdure.BulkFilter{
		Status: f.Status, Kind: f.Kind, Tag: f.Tag, DefinitionID: f.DefinitionID, CreatedAfter: timeOf(f.CreatedAfter), CreatedBefore: timeOf(f.CreatedBefore),
		Query: f.Query, Metadata: f.Metadata, FailedTurn: f.FailedTurn,
	}
}

// CountBulkAction returns the number of executions to which a bulk action would apply now. It
// changes nothing. Errors: invalid_argument.
func (c *Client) CountBulkAction(ctx context.Context, r BulkRequest) (perdure.BulkCount, error) {
	var n perdure.BulkCount
	b := r.body()
	b.Reason = ""
	err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, "actions", "count"}, body: b}, &n)
	return n, err
}

// StartBulkAction starts a bulk action for all executions that match the filter now, at most
// [perdure.MaxBulkExecutions]. The server carries it out in the background; BulkAction returns the
// progress. Errors: invalid_argument (also if too many executions match), conflict,
// idempotency_key_reused.
func (c *Client) StartBulkAction(ctx context.Context, r BulkRequest) (*perdure.BulkAction, error) {
	header := http.Header{}
	if r.IdempotencyKey != "" {
		header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	var a perdure.BulkAction
	err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, "actions"}, header: header, body: r.body()}, &a)
	return orNil(&a, err)
}

// BulkAction returns a bulk action with its progress. Errors: not_found.
func (c *Client) BulkAction(ctx context.Context, id uuid.UUID) (*perdure.BulkAction, error) {
	return get[perdure.BulkAction](ctx, c, nil, executions, "actions", id.String())
}
