package rest

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/operation"
)

func (s *server) auditRoutes() {
	g := operation.Group{API: s.API, Tag: "Audit"}
	operation.Get(g, "/audit", "listAudit", "What was changed of keys, definitions, webhooks and retention, by whom; newest first", s.listAudit, operation.AdminOnly)
}

type listAuditInput struct {
	operation.OrgInput
	operation.PageInput
}

func (s *server) listAudit(ctx context.Context, in *listAuditInput) (*operation.Body[operation.List[perdure.AuditRecord]], error) {
	page, err := s.readWhole().AuditLog(ctx, in.Org, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(page.Items, page.Next), nil
}
