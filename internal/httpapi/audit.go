package httpapi

import (
	"context"

	"github.com/perdure/perdure"
)

func (s *server) auditRoutes() {
	get(s, "/audit", "listAudit", "What was changed of keys, definitions and retention, by whom; newest first", s.listAudit, adminOnly(s))
}

type listAuditInput struct {
	OrgInput
	PageInput
}

func (s *server) listAudit(ctx context.Context, in *listAuditInput) (*body[list[perdure.AuditRecord]], error) {
	page, err := s.Engine.Read().AuditLog(ctx, in.Org, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return listOf(page.Items, page.Next), nil
}
