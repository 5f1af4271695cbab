package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/bulk"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

const bulkPath = "/agent-executions/actions"

func (s *server) bulkRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Bulk actions"}
	operation.On(g, http.MethodPost, bulkPath, "startBulkAction", "Cancel or retry every execution that matches a filter now, at most 10,000: 202", s.startBulk, operation.Status(202))
	operation.On(g, http.MethodPost, bulkPath+"/count", "countBulkAction", "Count the executions that a bulk action would have now, without changing anything", s.countBulk)
	operation.Get(g, bulkPath+"/{id}", "getBulkAction", "Get a bulk action and its progress", s.getBulk)
}

// listFilter is an [ExecutionFilter] in a JSON body.
type listFilter struct {
	ExecutionFilter
	Metadata map[string]string `json:"metadata,omitempty" doc:"Executions whose metadata has these top-level members with these values, compared as text."`
}

type countBulkInput struct {
	operation.OrgInput
	Body struct {
		Action string     `json:"action" doc:"As for startBulkAction."`
		Filter listFilter `json:"filter"`
	}
}

type bulkBody struct {
	Action string     `json:"action" doc:"cancel, or retry: send the signal retry to those that wait for it after a failed turn."`
	Filter listFilter `json:"filter" doc:"The filters of a list of executions; {} for all."`
	Reason string     `json:"reason,omitempty" doc:"Up to 4 KiB of text, which the bulk action shows."`
}

type startBulkInput struct {
	operation.OrgInput
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"A repeat with the same key and body within 24 hours gives the same bulk action."`
	Body           bulkBody
}

type bulkOutput struct {
	Location string `header:"Location"`
	Body     *perdure.BulkAction
}

// maxFilter is the maximum size in bytes of the JSON of a filter. It equals the limit of a URL, in
// which the list of executions gets the same filter.
const maxFilter = 16 << 10

// bulkRequest returns the bulk action that a client has requested. It checks the filter like the
// list of executions does.
func (s *server) bulkRequest(ctx context.Context, org, action string, f listFilter) (r bulk.Request, err error) {
	if raw, err := json.Marshal(f); err != nil || len(raw) > maxFilter {
		return r, perdure.FieldErrorf("filter", "has over %d bytes", maxFilter)
	}
	r.Action = perdure.BulkActionName(action)
	if r.Filter, err = f.parsed("filter."); err != nil {
		return r, err
	}
	r.Filter.Metadata = f.Metadata
	r.Kinds, err = s.kindsWithTag(ctx, org, f.Tag)
	return r, err
}

func (s *server) startBulk(ctx context.Context, in *startBulkInput) (*bulkOutput, error) {
	r, err := s.bulkRequest(ctx, in.Org, in.Body.Action, in.Body.Filter)
	if err != nil {
		return nil, err
	}
	r.Reason, r.IdempotencyKey = in.Body.Reason, in.IdempotencyKey
	a, err := s.Engine.Bulk.Start(ctx, in.Org, r)
	if err != nil {
		return nil, err
	}
	return &bulkOutput{Body: a, Location: fmt.Sprintf("/api/orgs/%s%s/%s", in.Org, bulkPath, a.ID)}, nil
}

func (s *server) countBulk(ctx context.Context, in *countBulkInput) (*operation.Body[perdure.BulkCount], error) {
	r, err := s.bulkRequest(ctx, in.Org, in.Body.Action, in.Body.Filter)
	if err != nil {
		return nil, err
	}
	c, err := s.Engine.Bulk.Count(ctx, in.Org, r)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(c), nil
}

func (s *server) getBulk(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.BulkAction], error) {
	id, err := in.Of("bulk action")
	if err != nil {
		return nil, err
	}
	a, err := s.Engine.Read().BulkAction(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(a), nil
}
