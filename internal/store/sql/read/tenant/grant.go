package tenant

import (
	"context"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	grantList          = "SELECT number, " + tenant.GrantRows.List("") + " FROM approval_grant WHERE "
	grantsOfOrg        = statement.Read(grantList + "org_id = ? AND number < ? ORDER BY number DESC LIMIT ?")
	grantsOfRun        = statement.Read(grantList + "org_id = ? AND agent_execution_id = ? AND number < ? ORDER BY number DESC LIMIT ?")
	grantsOfDefinition = statement.Read(grantList + "org_id = ? AND agent_definition_id = ? AND number < ? ORDER BY number DESC LIMIT ?")
)

// Grants implements [store.QuestionReader].
func (r *Tenants) Grants(ctx context.Context, f store.GrantFilter) (store.Page[*perdure.ApprovalGrant], error) {
	var page store.Page[*perdure.ApprovalGrant]
	before, err := base.ParseListCursor(f.Cursor, math.MaxInt64)
	if err != nil {
		return page, err
	}
	limit, rows := base.PageLimit(f.Limit), r.ListRows
	if rows == 0 {
		rows = store.ListRows
	}
	query, args := grantsFrom(f)
	now := column.Millis(f.Now)
	err = r.Read(ctx, func(v statement.View) error {
		examined := 0
		return v.Each(query, append(args, before, rows+1), func(row func(...any) error) error {
			var (
				g      perdure.ApprovalGrant
				number int64
			)
			if err := row(tenant.GrantRows.Scan([]any{&number}, &g)...); err != nil {
				return err
			}
			if examined++; examined > rows || len(page.Items) == limit {
				page.Next = base.ListCursor(before)
				return statement.ErrStop
			}
			if before = number; column.Millis(g.ExpiresAt) > now {
				page.Items = append(page.Items, &g)
			}
			return nil
		})
	})
	return page, err
}

// grantsFrom returns the statement that examines the fewest rows for a filter, and its first
// arguments.
func grantsFrom(f store.GrantFilter) (*statement.Statement, []any) {
	switch {
	case f.ExecutionID != nil:
		return grantsOfRun, []any{f.Org, f.ExecutionID[:]}
	case f.DefinitionID != nil:
		return grantsOfDefinition, []any{f.Org, f.DefinitionID[:]}
	}
	return grantsOfOrg, []any{f.Org}
}
