package tenant

import (
	"context"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var auditOfOrg = statement.Read("SELECT number, " + tenant.AuditRows.List("") + " FROM audit_log WHERE org_id = ? AND number < ? ORDER BY number DESC LIMIT ?")

// AuditLog implements [store.Reader].
func (r *Tenants) AuditLog(ctx context.Context, org, cursor string, limit int) (store.Page[perdure.AuditRecord], error) {
	return base.List(ctx, r.Source, cursor, limit, math.MaxInt64, func(v statement.View, before int64, limit int, add func(int64, perdure.AuditRecord) bool) error {
		return v.Each(auditOfOrg, []any{org, before, limit}, func(row func(...any) error) error {
			var (
				a      perdure.AuditRecord
				number int64
			)
			err := row(tenant.AuditRows.Scan([]any{&number}, &a)...)
			if err == nil && !add(number, a) {
				err = statement.ErrStop
			}
			return err
		})
	}, base.Nothing[perdure.AuditRecord])
}
