package rest

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

type listExecutionsInput struct {
	operation.OrgInput
	operation.PageInput
	ExecutionFilter
}

const metadataPrefix = "metadata."

// documentMetadata adds the filters by metadata to the OpenAPI document. No struct can describe
// these parameters, because their names contain keys that the client chooses.
func documentMetadata(op *operation.Operation) {
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: metadataPrefix + "KEY", In: "query", Schema: &huma.Schema{Type: "string"},
		Description: "Executions whose metadata has the top-level member KEY with this value, compared as text.",
	})
}

func (s *server) listExecutions(ctx context.Context, in *listExecutionsInput) (*operation.Body[operation.List[*perdure.Execution]], error) {
	narrow, err := in.parsed("")
	if err != nil {
		return nil, err
	}
	f := store.ExecutionFilter{
		Status: narrow.Status, Kind: in.Kind, DefinitionID: narrow.DefinitionID, CreatedAfter: narrow.CreatedAfter, CreatedBefore: narrow.CreatedBefore,
		Metadata: metadataFilter(front.QueryOf(ctx)), FailedTurn: narrow.FailedTurn, Query: in.Query, Cursor: in.Cursor, Limit: in.Limit,
	}
	if f.Kinds, err = s.kindsWithTag(ctx, in.Org, in.Tag); err != nil {
		return nil, err
	}
	p, err := s.readWhole().Executions(ctx, in.Org, f)
	if err != nil {
		return nil, err
	}
	if err := s.outline(ctx, in.Org, p.Items); err != nil {
		return nil, err
	}
	return operation.ListOf(p.Items, p.Next), nil
}

// maxTagKinds is the maximum number of agent kinds that may have the tag by which executions are
// filtered.
const maxTagKinds = 1000

// kindsWithTag returns the agent kinds that have the tag; nil if tag is "".
func (s *server) kindsWithTag(ctx context.Context, org, tag string) ([]string, error) {
	if tag == "" {
		return nil, nil
	}
	known, err := s.readWhole().Kinds(ctx, org)
	if err != nil {
		return nil, err
	}
	kinds := []string{}
	for _, k := range known {
		if k.Agent && slices.Contains(k.Spec.Tags, tag) {
			kinds = append(kinds, k.Spec.Kind)
		}
	}
	if len(kinds) > maxTagKinds {
		return nil, perdure.FieldErrorf("tag", "is the tag of %d kinds; lists filter by a tag of %d at most", len(kinds), maxTagKinds)
	}
	return kinds, nil
}

func metadataFilter(query url.Values) map[string]string {
	var members map[string]string
	for name, values := range query {
		key, ok := strings.CutPrefix(name, metadataPrefix)
		if !ok || key == "" {
			continue
		}
		if members == nil {
			members = map[string]string{}
		}
		members[key] = values[0]
	}
	return members
}
