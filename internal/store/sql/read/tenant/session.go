package tenant

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	sessionByCookie = statement.Read(tenant.SessionSelect + "s.cookie_hash = ?")
	sessionsOfOrg   = statement.Read(tenant.SessionSelect + "s.org_id = ? AND s.id > ? AND s.expires_at > ? AND (? = 1 OR s.key_id IS NOT NULL) ORDER BY s.id LIMIT ?")
	sessionsOfKey   = statement.Read(tenant.SessionSelect + "s.key_hash = ? AND s.org_id = ? AND s.id > ? AND s.expires_at > ? ORDER BY s.id LIMIT ?")
)

var expiredSession = statement.Read("SELECT s.id FROM web_session s WHERE s.expires_at <= ? LIMIT 1")

// SessionByCookie implements [store.Reader].
func (r *Tenants) SessionByCookie(ctx context.Context, cookie perdure.Hash) (*perdure.Session, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Session, error) {
		return tenant.SessionRows.One(v, sessionByCookie, cookie[:])
	}, "there is no such session")
}

// Sessions implements [store.Reader].
func (r *Tenants) Sessions(ctx context.Context, q store.SessionQuery) ([]*perdure.Session, error) {
	query, args := sessionsOfOrg, []any{q.Org, q.After[:], column.Millis(q.Now), column.Flag(q.Operator), q.Limit}
	if q.Key != nil {
		query, args = sessionsOfKey, []any{q.Key[:], q.Org, q.After[:], column.Millis(q.Now), q.Limit}
	}
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Session, error) {
		return tenant.SessionRows.All(v, query, args...)
	})
}

// ExpiredSessions implements [store.Reader].
func (r *Tenants) ExpiredSessions(ctx context.Context, now perdure.Time) (bool, error) {
	expired, err := r.IDs(ctx, expiredSession, column.Millis(now))
	return len(expired) > 0, err
}
