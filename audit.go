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
	// RequestID is the id of the client's request. The response carries it in the header
	// X-Request-Id.
	RequestID string `json:"requestId,omitempty"`
	// RemoteAddress is the network address of the client. Behind a proxy it is the proxy's address.
	// It is "local" for the data directory's socket.
	RemoteAddress string `json:"remoteAddress,omitempty"`
}

// AuditRecord is a line of the audit log. It is written in the transaction that makes the change,
// never changes, and holds no secret.
type AuditRecord struct {
	At     Time        `json:"at"`
	Actor  Actor       `json:"actor"`
	Action AuditAction `json:"action"`
	// SubjectID is the id of the changed object, or of the question of a link. It is nil for an
	// org, a queue and the org's retention. SubjectName is:
	//   - the name of a key or a queue, and the id of an org
	//   - the slug of a definition
	//   - the URL of a webhook, without the query
	//   - the name of the key of a session or a new link
	//   - the id of the key of revoked links, or "all links"
	//   - the verdict of an answer, and the tool of a grant
	//   - the command of a bulk action
	//   - "" for the org's retention
	SubjectID   *uuid.UUID `json:"subjectId"`
	SubjectName string     `json:"subjectName,omitempty"`
	// Before and After are the SHA-256 of the changed object's JSON before and after the change. Before
	// is empty for a created object, and After for a deleted one. For the org's retention, Before is
	// always empty.
	Before string `json:"beforeSha256,omitempty"`
	After  string `json:"afterSha256,omitempty"`

	Org string `json:"-"`
}
