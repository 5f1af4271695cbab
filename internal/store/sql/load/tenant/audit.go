package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
)

// AuditRows declares the rows of the audit log, without their numbers, which the database assigns.
var AuditRows = row.New("audit_log", 0, []row.Field[perdure.AuditRecord]{
	row.Text("org_id", func(x *perdure.AuditRecord) *string { return &x.Org }),
	row.Time("at", func(x *perdure.AuditRecord) *perdure.Time { return &x.At }),
	row.OptID("actor_key_id", func(x *perdure.AuditRecord) **uuid.UUID { return &x.Actor.KeyID }),
	row.Text("actor_name", func(x *perdure.AuditRecord) *string { return &x.Actor.Name }),
	row.OptText("request_id", func(x *perdure.AuditRecord) *string { return &x.Actor.RequestID }),
	row.OptText("remote", func(x *perdure.AuditRecord) *string { return &x.Actor.RemoteAddress }),
	row.Text("action", func(x *perdure.AuditRecord) *perdure.AuditAction { return &x.Action }),
	row.OptID("subject_id", func(x *perdure.AuditRecord) **uuid.UUID { return &x.SubjectID }),
	row.OptText("subject_name", func(x *perdure.AuditRecord) *string { return &x.SubjectName }),
	row.OptText("before_sha256", func(x *perdure.AuditRecord) *string { return &x.Before }),
	row.OptText("after_sha256", func(x *perdure.AuditRecord) *string { return &x.After }),
})
