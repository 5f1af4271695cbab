package perdure

import (
	"github.com/google/uuid"
)

// AuditAction is a change that the audit log records.
type AuditAction string

const (
	AuditKeyCreated        AuditAction = "key.created"
	AuditKeyChanged        AuditAction = "key.changed"
	AuditKeyRevoked        AuditAction = "key.revoked"
	AuditDefinitionCreated AuditAction = "definition.created"
	AuditDefinitionChanged AuditAction = "definition.changed"
	AuditDefinitionDeleted AuditAction = "definition.deleted"
	AuditRetentionChanged  AuditAction = "retention.changed"
	AuditOrgCreated        AuditAction = "org.created"
	AuditOrgDisabled       AuditAction = "org.disabled"
	AuditOrgEnabled        AuditAction = "org.enabled"
	AuditSessionCreated    AuditAction = "session.created"
	AuditSessionEnded      AuditAction = "session.ended"
)

// Actor is who makes a change.
type Actor struct {
	// KeyID is nil for the token of the data directory, and for the process
	// itself.
	KeyID *uuid.UUID `json:"keyId"`
	// Name is the key's name, "token" or "process".
	Name string `json:"name"`
	// RequestID is the one that the answer carried in X-Request-Id.
	RequestID string `json:"requestId,omitempty"`
	// RemoteAddress is the peer of the connection: a proxy's, if there is one; "local"
	// for the data directory's socket.
	RemoteAddress string `json:"remoteAddress,omitempty"`
}

// AuditRecord is a line of the audit log. It is written in the transaction that
// makes the change, is never changed, and holds no secret.
type AuditRecord struct {
	At     Time        `json:"at"`
	Actor  Actor       `json:"actor"`
	Action AuditAction `json:"action"`
	// SubjectID and SubjectName are the key's, definition's or session's; nil and ""
	// for the org's policy. A session has the name of its key. For an org
	// SubjectName is its id.
	SubjectID   *uuid.UUID `json:"subjectId"`
	SubjectName string     `json:"subjectName,omitempty"`
	// Before and After are the SHA-256 of what was changed, as its JSON; empty
	// where there was, or is, nothing. Before is always empty for the org's policy.
	Before string `json:"beforeSha256,omitempty"`
	After  string `json:"afterSha256,omitempty"`

	Org string `json:"-"`
}
