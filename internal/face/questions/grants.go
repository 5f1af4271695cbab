package questions

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

type grantsInput struct {
	operation.OrgInput
	operation.PageInput
	Execution  string `query:"agentExecutionId" doc:"Only grants of this run."`
	Definition string `query:"agentDefinitionId" doc:"Only grants of this definition."`
}

func (s *server) listGrants(ctx context.Context, in *grantsInput) (*operation.Body[operation.List[*perdure.ApprovalGrant]], error) {
	if err := checkQuery(front.QueryOf(ctx), "agentExecutionId", "agentDefinitionId", "limit", "cursor"); err != nil {
		return nil, err
	}
	if in.Execution != "" && in.Definition != "" {
		return nil, perdure.FieldErrorf("agentDefinitionId", "stands in place of agentExecutionId; give one of them")
	}
	f := store.GrantFilter{Org: in.Org, Now: s.Engine.Store.Now(), Cursor: in.Cursor, Limit: in.Limit}
	var err error
	if f.ExecutionID, err = optionalID("execution", in.Execution); err != nil {
		return nil, err
	}
	if f.DefinitionID, err = optionalID("definition", in.Definition); err != nil {
		return nil, err
	}
	page, err := s.Engine.Read().Grants(ctx, f)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(page.Items, page.Next), nil
}

// optionalID parses the id in a query parameter. It returns nil for an empty parameter.
func optionalID(what, text string) (*uuid.UUID, error) {
	if text == "" {
		return nil, nil
	}
	id, err := front.ParseID(what, text)
	return &id, err
}

func (s *server) revokeGrant(ctx context.Context, in *operation.IDInput) (*operation.Nothing, error) {
	id, err := in.Of("grant")
	if err != nil {
		return nil, err
	}
	return nil, s.Engine.Questions.RevokeGrant(ctx, in.Org, id, front.CallerOf(ctx).Role)
}
