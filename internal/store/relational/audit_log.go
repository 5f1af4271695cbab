package relational

import (
	"context"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var (
	insertAudit = insert("audit_log", "org_id, at, actor_key_id, actor_name, request_id, remote, action, subject_id, subject_name, before_sha256, after_sha256")
	auditOfOrg  = read("SELECT number, org_id, at, actor_key_id, actor_name, request_id, remote, action, subject_id, subject_name, before_sha256, after_sha256" +
		" FROM audit_log WHERE org_id = ? AND number < ? ORDER BY number DESC LIMIT ?")
)

func putAudit(v view, r *perdure.AuditRecord) error {
	return v.write(insertAudit, r.Org, millis(r.At), optID(r.Actor.KeyID), r.Actor.Name, optText(r.Actor.RequestID), optText(r.Actor.RemoteAddress),
		string(r.Action), optID(r.SubjectID), optText(r.SubjectName), optText(r.Before), optText(r.After))
}

// AuditLog implements [store.Reader].
func (r *Reader) AuditLog(ctx context.Context, org, cursor string, limit int) (store.Page[perdure.AuditRecord], error) {
	return list(ctx, r, cursor, limit, math.MaxInt64, func(v view, before int64, limit int, add func(int64, perdure.AuditRecord) bool) error {
		return v.each(auditOfOrg, []any{org, before, limit}, func(row func(...any) error) error {
			var (
				a      perdure.AuditRecord
				number int64
			)
			err := row(&number, &a.Org, timeInto(&a.At), optIDInto(&a.Actor.KeyID), &a.Actor.Name, textInto(&a.Actor.RequestID), textInto(&a.Actor.RemoteAddress),
				textInto(&a.Action), optIDInto(&a.SubjectID), textInto(&a.SubjectName), textInto(&a.Before), textInto(&a.After))
			if err == nil && !add(number, a) {
				err = ErrStop
			}
			return err
		})
	}, nothing[perdure.AuditRecord])
}
