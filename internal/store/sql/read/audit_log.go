package read

import (
	"context"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var auditOfOrg = statement.Read("SELECT number, org_id, at, actor_key_id, actor_name, request_id, remote, action, subject_id, subject_name, before_sha256, after_sha256" +
	" FROM audit_log WHERE org_id = ? AND number < ? ORDER BY number DESC LIMIT ?")

// AuditLog implements [store.Reader].
func (r *Reader) AuditLog(ctx context.Context, org, cursor string, limit int) (store.Page[perdure.AuditRecord], error) {
	return list(ctx, r, cursor, limit, math.MaxInt64, func(v statement.View, before int64, limit int, add func(int64, perdure.AuditRecord) bool) error {
		return v.Each(auditOfOrg, []any{org, before, limit}, func(row func(...any) error) error {
			var (
				a      perdure.AuditRecord
				number int64
			)
			err := row(&number, &a.Org, column.TimeInto(&a.At), column.OptIDInto(&a.Actor.KeyID), &a.Actor.Name, column.TextInto(&a.Actor.RequestID), column.TextInto(&a.Actor.RemoteAddress),
				column.TextInto(&a.Action), column.OptIDInto(&a.SubjectID), column.TextInto(&a.SubjectName), column.TextInto(&a.Before), column.TextInto(&a.After))
			if err == nil && !add(number, a) {
				err = statement.ErrStop
			}
			return err
		})
	}, nothing[perdure.AuditRecord])
}
