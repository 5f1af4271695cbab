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
	Status        []string `query:"status,explode" doc:"Any of these, repeated or separated by commas, in any case."`
	Kind          string   `query:"kind"`
	Tag           string   `query:"tag" doc:"Executions of the kinds that have this tag now."`
	DefinitionID  string   `query:"agentDefinitionId"`
	CreatedAfter  string   `query:"createdAfter" doc:"RFC 3339; exclusive."`
	CreatedBefore string   `query:"createdBefore" doc:"RFC 3339; exclusive."`
	Query         string   `query:"q" doc:"In the id, the kind or the first 4 KiB of the input."`
}

const metadataPrefix = "metadata."

// documentMetadata documents the filters by metadata, whose names the client chooses.
func documentMetadata(op *operation.Operation) {
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: metadataPrefix + "KEY", In: "query", Schema: &huma.Schema{Type: "string"},
		Description: "Executions whose metadata has the top-level member KEY with this value, compared as text.",
	})
}

func (s *server) listExecutions(ctx context.Context, in *listExecutionsInput) (*operation.Body[operation.List[*perdure.Execution]], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	f.Metadata = metadataFilter(front.QueryOf(ctx))
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

// maxTagKinds is the maximum number of kinds with a tag for which executions can be listed.
const maxTagKinds = 1000

// kindsWithTag returns the agent kinds with the tag; nil if there is no tag to filter by.
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

func (in *listExecutionsInput) filter() (store.ExecutionFilter, error) {
	f := store.ExecutionFilter{Kind: in.Kind, Query: in.Query, Cursor: in.Cursor, Limit: in.Limit}
	for _, given := range in.Status {
		for name := range strings.SplitSeq(given, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			status, err := perdure.ParseStatus(name)
			if err != nil {
				return f, err
			}
			f.Status = append(f.Status, status)
		}
	}
	if in.DefinitionID != "" {
		id, err := front.ParseID("agent definition", in.DefinitionID)
		if err != nil {
			return f, err
		}
		f.DefinitionID = &id
	}
	var err error
	if f.CreatedAfter, err = timeOf("createdAfter", in.CreatedAfter); err != nil {
		return f, err
	}
	f.CreatedBefore, err = timeOf("createdBefore", in.CreatedBefore)
	return f, err
}

func timeOf(field, text string) (*perdure.Time, error) {
	if text == "" {
		return nil, nil
	}
	var t perdure.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return nil, perdure.FieldErrorf(field, "%v", err)
	}
	return &t, nil
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
