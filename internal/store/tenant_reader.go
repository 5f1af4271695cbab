package store

import (
	"context"

	"github.com/perdure/perdure"
)

// TenantReader reads orgs and the keys, sessions and settings that belong to them.
type TenantReader interface {
	// OrgByID returns an org by its id. Errors: not_found if there is none.
	OrgByID(ctx context.Context, id string) (*perdure.Org, error)
	// OrgList returns at most `limit` orgs whose ids are greater than `after`, ordered by id.
	OrgList(ctx context.Context, after string, limit int) ([]*perdure.Org, error)

	// KeyByHash returns the API key whose secret has this hash. Errors: not_found if there is no
	// such key, or if it is revoked.
	KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error)
	// Keys lists the API keys of an org, oldest first, including revoked ones. In each key, the
	// field Use is set.
	Keys(ctx context.Context, org string) ([]*perdure.APIKey, error)
	AnyKey(ctx context.Context) (bool, error)

	// SessionByCookie returns the session whose cookie has this hash, even if the session has
	// expired. The cookie contains half of the session's secret. Errors: not_found if there is none.
	SessionByCookie(ctx context.Context, cookie perdure.Hash) (*perdure.Session, error)
	// Sessions lists sessions that have not expired, in the order in which they began, which is
	// also the order of their ids.
	Sessions(ctx context.Context, q SessionQuery) ([]*perdure.Session, error)
	// ExpiredSessions reports whether a stored session has expired.
	ExpiredSessions(ctx context.Context, now perdure.Time) (bool, error)

	// Secret returns a secret of the installation by its name. Errors: not_found if there is none.
	Secret(ctx context.Context, name string) ([]byte, error)
	// Retention returns the org's retention policy; nil if none is set.
	Retention(ctx context.Context, org string) (*perdure.Retention, error)
	// AuditLog lists the records of the org's audit log, newest first.
	AuditLog(ctx context.Context, org, cursor string, limit int) (Page[perdure.AuditRecord], error)
}
