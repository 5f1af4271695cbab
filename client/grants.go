package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const grants = "approval-grants"

// GrantFilter selects grants. A field with its zero value does not filter. At most one field may be
// set.
type GrantFilter struct {
	ExecutionID  *uuid.UUID
	DefinitionID *uuid.UUID
}

// GrantsPage returns one page of the grants, newest first. A grant is a remembered approval, which
// answers later questions. Errors: invalid_argument, permission_denied.
func (c *Client) GrantsPage(ctx context.Context, f GrantFilter, o PageOptions) (Page[*perdure.ApprovalGrant], error) {
	q := o.query()
	if f.ExecutionID != nil {
		q.Set("agentExecutionId", f.ExecutionID.String())
	}
	if f.DefinitionID != nil {
		q.Set("agentDefinitionId", f.DefinitionID.String())
	}
	return page[*perdure.ApprovalGrant](ctx, c, q, grants)
}

// Grants returns all grants that match the filter, newest first. Errors: as for GrantsPage.
func (c *Client) Grants(ctx context.Context, f GrantFilter) iter.Seq2[*perdure.ApprovalGrant, error] {
	return pages(func(o PageOptions) (Page[*perdure.ApprovalGrant], error) { return c.GrantsPage(ctx, f, o) })
}

// RevokeGrant revokes a grant. After this call, the grant answers no further question. Revoking a
// grant for a definition requires the role admin. Errors: not_found, permission_denied.
func (c *Client) RevokeGrant(ctx context.Context, id uuid.UUID) error {
	return c.call(ctx, request{method: http.MethodDelete, path: []string{grants, id.String()}}, nil)
}
