package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var insertAudit = statement.Insert("audit_log", "org_id, at, actor_key_id, actor_name, request_id, remote, action, subject_id, subject_name, before_sha256, after_sha256")

func putAudit(v statement.View, r *perdure.AuditRecord) error {
	return v.Write(insertAudit, r.Org, column.Millis(r.At), column.OptID(r.Actor.KeyID), r.Actor.Name, column.OptText(r.Actor.RequestID), column.OptText(r.Actor.RemoteAddress),
		string(r.Action), column.OptID(r.SubjectID), column.OptText(r.SubjectName), column.OptText(r.Before), column.OptText(r.After))
}
