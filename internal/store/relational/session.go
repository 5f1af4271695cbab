package relational

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// sessions declares the rows of the table of the web pages' sessions.
var sessions = newRows("web_session", 1, []field[perdure.Session]{
	idField("id", func(x *perdure.Session) *uuid.UUID { return &x.ID }),
	textField("org_id", func(x *perdure.Session) *string { return &x.Org }),
	optIDField("key_id", func(x *perdure.Session) **uuid.UUID { return &x.KeyID }),
	textField("key_name", func(x *perdure.Session) *string { return &x.KeyName }),
	hashField("key_hash", func(x *perdure.Session) *perdure.Hash { return &x.Key }),
	hashField("cookie_hash", func(x *perdure.Session) *perdure.Hash { return &x.Cookie }),
	hashField("page_hash", func(x *perdure.Session) *perdure.Hash { return &x.Page }),
	timeField("created_at", func(x *perdure.Session) *perdure.Time { return &x.CreatedAt }),
	timeField("expires_at", func(x *perdure.Session) *perdure.Time { return &x.ExpiresAt }),
	textField("remote", func(x *perdure.Session) *string { return &x.RemoteAddress }),
	textField("user_agent", func(x *perdure.Session) *string { return &x.UserAgent }),
})

var (
	insertSession   = declare(sessions.insertStatement())
	sessionSelect   = "SELECT " + sessions.list("s") + " FROM web_session s WHERE "
	sessionByID     = read(sessionSelect + "s.id = ?1 AND (?2 = '' OR s.org_id = ?2)")
	sessionByCookie = read(sessionSelect + "s.cookie_hash = ?")
	sessionsOfOrg   = read(sessionSelect + "s.org_id = ? AND s.id > ? AND s.expires_at > ? AND (? = 1 OR s.key_id IS NOT NULL) ORDER BY s.id LIMIT ?")
	sessionsOfKey   = read(sessionSelect + "s.key_hash = ? AND s.org_id = ? AND s.id > ? AND s.expires_at > ? ORDER BY s.id LIMIT ?")
)

var (
	expiredSession = read("SELECT s.id FROM web_session s WHERE s.expires_at <= ? LIMIT 1")
	sweepSessions  = alone("DELETE FROM web_session WHERE id IN (SELECT id FROM web_session WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)")
	// trimSessions runs at each sign-in, so there is rarely more than one row to delete.
	trimSessions = alone("DELETE FROM web_session WHERE id IN (SELECT id FROM web_session WHERE key_hash = ? ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET ?)")
	endSession   = alone("DELETE FROM web_session WHERE id = ?1 AND (?2 = '' OR org_id = ?2)")
	// dropSessionsOf deletes the sessions of a revoked key, which can no longer be used.
	dropSessionsOf = remove("web_session", columns("key_hash"))
)

func putSession(v view, s *perdure.Session) error {
	err := sessions.write(v, insertSession, s)
	if err != nil {
		return err
	}
	return v.write(trimSessions, s.Key[:], perdure.SessionsPerKey)
}

// loadSession returns a session; nil if there is none.
func loadSession(v view, query *Statement, args ...any) (*perdure.Session, error) {
	var s perdure.Session
	found, err := v.one(query, args, sessions.scan(nil, &s)...)
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
			err := row(sessions.scan(nil, &s)...)
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
