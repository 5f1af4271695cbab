package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	insertSession = statement.Declare(tenant.SessionRows.InsertStatement())
	sessionByID   = statement.Read(tenant.SessionSelect + "s.id = ?1 AND (?2 = '' OR s.org_id = ?2)")
)

var (
	sweepSessions = statement.Alone("DELETE FROM web_session WHERE id IN (SELECT id FROM web_session WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)")
	// trimSessions deletes the oldest sessions of a key. It runs at each sign-in, so there is rarely
	// more than one to delete.
	trimSessions = statement.Alone("DELETE FROM web_session WHERE id IN (SELECT id FROM web_session WHERE key_hash = ? ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET ?)")
	endSession   = statement.Alone("DELETE FROM web_session WHERE id = ?1 AND (?2 = '' OR org_id = ?2)")
	// dropSessionsOf deletes the sessions of a revoked key, because they can no longer be used.
	dropSessionsOf = statement.Remove("web_session", statement.Columns("key_hash"))
)

func putSession(v statement.View, s *perdure.Session) error {
	err := tenant.SessionRows.Write(v, insertSession, s)
	if err != nil {
		return err
	}
	return v.Write(trimSessions, s.Key[:], perdure.SessionsPerKey)
}

func (t *Transaction) applySessions(org string, ch *store.Changes) error {
	if k := ch.Key; k != nil && k.RevokedAt != nil {
		if err := t.Write(dropSessionsOf, k.Hash[:]); err != nil {
			return err
		}
	}
	if ch.EndSession != nil {
		if err := t.Write(endSession, ch.EndSession[:], org); err != nil {
			return err
		}
	}
	if ch.SweepSessions > 0 {
		if err := t.Write(sweepSessions, column.Millis(t.now), ch.SweepSessions); err != nil {
			return err
		}
	}
	if ch.Session == nil {
		return nil
	}
	return putSession(t.View, ch.Session)
}
