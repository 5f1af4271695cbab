package relational

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var sessionTable = table{name: "web_session", key: 1, columns: []string{
	"id", "org_id", "key_id", "key_name", "key_hash", "cookie_hash", "page_hash", "created_at", "expires_at", "remote", "user_agent",
}}

var (
	insertSession   = sessionTable.insertSQL()
	sessionSelect   = "SELECT " + sessionTable.list("s") + " FROM web_session s WHERE "
	sessionByID     = sessionSelect + "s.id = ?1 AND (?2 = '' OR s.org_id = ?2)"
	sessionByCookie = sessionSelect + "s.cookie_hash = ?"
	sessionsOfOrg   = sessionSelect + "s.org_id = ? AND s.id > ? AND s.expires_at > ? AND (? = 1 OR s.key_id IS NOT NULL) ORDER BY s.id LIMIT ?"
	sessionsOfKey   = sessionSelect + "s.key_hash = ? AND s.org_id = ? AND s.id > ? AND s.expires_at > ? ORDER BY s.id LIMIT ?"
)

const (
	expiredSession = "SELECT s.id FROM web_session s WHERE s.expires_at <= ? LIMIT 1"
	sweepSessions  = "DELETE FROM web_session WHERE id IN (SELECT id FROM web_session WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)"
	// trimSessions runs at each sign-in, so there is rarely more than one row to delete.
	trimSessions = "DELETE FROM web_session WHERE id IN (SELECT id FROM web_session WHERE key_hash = ? ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET ?)"
	endSession   = "DELETE FROM web_session WHERE id = ?1 AND (?2 = '' OR org_id = ?2)"
	// dropSessionsOf deletes the sessions of a revoked key, which can no longer be used.
	dropSessionsOf = "DELETE FROM web_session WHERE key_hash = ?"
)

func putSession(v view, s *perdure.Session) error {
	err := v.write(insertSession, s.ID[:], s.Org, optID(s.KeyID), s.KeyName, s.Key[:], s.Cookie[:], s.Page[:], millis(s.CreatedAt), millis(s.ExpiresAt), s.RemoteAddress, s.UserAgent)
	if err != nil {
		return err
	}
	return v.write(trimSessions, s.Key[:], perdure.SessionsPerKey)
}

func sessionScan(s *perdure.Session) []any {
	return []any{
		&s.ID, &s.Org,
		optUUID{&s.KeyID},
		&s.KeyName,
		(*hashCol)(&s.Key), (*hashCol)(&s.Cookie), (*hashCol)(&s.Page),
		(*timeCol)(&s.CreatedAt), (*timeCol)(&s.ExpiresAt), &s.RemoteAddress, &s.UserAgent,
	}
}

// loadSession returns a session; nil if there is none.
func loadSession(v view, query string, args ...any) (*perdure.Session, error) {
	var s perdure.Session
	found, err := v.one(query, args, sessionScan(&s)...)
	if err != nil || !found {
		return nil, err
	}
	return &s, nil
}

func (t *Transaction) applySessions(org string, ch *store.Changes) error {
	if k := ch.Key; k != nil && k.RevokedAt != nil {
		if err := t.write(dropSessionsOf, k.Hash[:]); err != nil {
			return err
		}
	}
	if ch.EndSession != nil {
		if err := t.write(endSession, ch.EndSession[:], org); err != nil {
			return err
		}
	}
	if ch.SweepSessions > 0 {
		if err := t.write(sweepSessions, millis(t.now), ch.SweepSessions); err != nil {
			return err
		}
	}
	if ch.Session == nil {
		return nil
	}
	return putSession(t.view, ch.Session)
}

// SessionByCookie implements [store.Reader].
func (r *Reader) SessionByCookie(ctx context.Context, cookie perdure.Hash) (*perdure.Session, error) {
	var s *perdure.Session
	err := r.read(ctx, func(v view) (err error) {
		if s, err = loadSession(v, sessionByCookie, cookie[:]); err == nil && s == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no such session")
		}
		return err
	})
	return s, err
}

// Sessions implements [store.Reader].
func (r *Reader) Sessions(ctx context.Context, q store.SessionQuery) (all []*perdure.Session, err error) {
	query, args := sessionsOfOrg, []any{q.Org, q.After[:], millis(q.Now), flag(q.Operator), q.Limit}
	if q.Key != nil {
		query, args = sessionsOfKey, []any{q.Key[:], q.Org, q.After[:], millis(q.Now), q.Limit}
	}
	err = r.read(ctx, func(v view) error {
		return v.each(query, args, func(row func(...any) error) error {
			var s perdure.Session
			err := row(sessionScan(&s)...)
			all = append(all, &s)
			return err
		})
	})
	return all, err
}

// ExpiredSessions implements [store.Reader].
func (r *Reader) ExpiredSessions(ctx context.Context, now perdure.Time) (found bool, err error) {
	err = r.read(ctx, func(v view) (err error) {
		var id uuid.UUID
		found, err = v.one(expiredSession, []any{millis(now)}, &id)
		return err
	})
	return found, err
}
