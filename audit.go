package perdure

import (
	"github.com/google/uuid"
)

// AuditAction is the kind of a change that the audit log records.
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
	AuditQuestionAnswered  AuditAction = "question.answered"
	AuditGrantRevoked      AuditAction = "grant.revoked"
	AuditLinkCreated       AuditAction = "link.created"
	AuditLinksRevoked      AuditAction = "links.revoked"
	AuditWebhookCreated    AuditAction = "webhook.created"
	AuditWebhookChanged    AuditAction = "webhook.changed"
	AuditWebhookRotated    AuditAction = "webhook.rotated"
	AuditWebhookDisabled   AuditAction = "webhook.disabled"
	AuditWebhookDeleted    AuditAction = "webhook.deleted"
	AuditQueuePaused       AuditAction = "queue.paused"
	AuditQueueResumed      AuditAction = "queue.resumed"
	AuditBulkCreated       AuditAction = "bulk_action.created"
)

// Actor identifies who made a change.
type Actor struct {
	// KeyID is the API key that made the change. It is nil for the token of the data directory, and for
	// the server process itself.
	KeyID *uuid.UUID `json:"keyId"`
	// Name is the name of the API key, or "token", or "process".
	Name string `json:"name"`
	// RequestID is the id that the response carried in X-Request-Id.
	RequestID string `json:"requestId,omitempty"`
	// RemoteAddress is the peer of the connection. Behind a proxy it is the proxy's address. It is
	// "local" for the data directory's socket.
	RemoteAddress string `json:"remoteAddress,omitempty"`
}

// AuditRecord is a line of the audit log. It is written in the transaction that makes the change,
// never changes, and holds no secret.
type AuditRecord struct {
	At     Time        `json:"at"`
	Actor  Actor       `json:"actor"`
	Action AuditAction `json:"action"`
	// SubjectID and SubjectName identify the changed object. For a key or a definition they are its id
	// and name. A session has the name of its key, and a webhook its URL without the query. For a
	// queue, SubjectName is its name, for a bulk action "cancel" or "retry", and for an org the org's
	// id. For the org's policy they are nil and "".
	SubjectID   *uuid.UUID `json:"subjectId"`
	SubjectName string     `json:"subjectName,omitempty"`
	// Before and After are the SHA-256 of the changed object's JSON before and after the change. Before
	// is empty for a created object, and After for a deleted one. For the org's policy, Before is
	// always empty.
	Before string `json:"beforeSha256,omitempty"`
	After  string `json:"afterSha256,omitempty"`

	Org string `json:"-"`
}
