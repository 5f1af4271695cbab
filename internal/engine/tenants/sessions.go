package tenants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// sessionTTL is how long a cached session is used without reading the store. Together with the
// interval between two checks of an open stream, it ensures that every server refuses an ended
// session within five seconds.
const sessionTTL = 2 * time.Second

// SessionHalves are the two secrets of a browser session: one in the cookie, one in the page.
type SessionHalves struct{ Cookie, Page string }

// SessionRequest is a request to start a browser session.
type SessionRequest struct {
	// Key is the API key with which the user signs in; Secret is the hash of the key's secret.
	Key    *perdure.APIKey
	Secret perdure.Hash
	// RemoteAddress and UserAgent are shown in the list of sessions.
	RemoteAddress, UserAgent string
}

// StartSession stores a new session, and returns it with its two secrets, which are not stored. If
// the key has too many sessions, the oldest one ends. Error: unauthenticated, if the key is
// revoked.
func (t *Tenants) StartSession(ctx context.Context, r SessionRequest) (*perdure.Session, SessionHalves, error) {
	halves, err := newHalves()
	if err != nil {
		return nil, halves, err
	}
	session := perdure.Session{
		ID: uuid.Must(uuid.NewV7()), Org: r.Key.Org, KeyName: r.Key.Name, Key: r.Secret, RemoteAddress: r.RemoteAddress, UserAgent: printable(r.UserAgent, maxUserAgent),
		Cookie: sha256.Sum256([]byte(halves.Cookie)), Page: sha256.Sum256([]byte(halves.Page)),
	}
	if r.Key.ID != uuid.Nil {
		session.KeyID = &r.Key.ID
	}
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: session.Org, Action: perdure.AuditSessionCreated}
	value, err := t.one(ctx, store.Command{
		Name: string(by.Action), Lane: store.LaneCommits, Org: session.Org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{KeyID: session.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.StartSession(s, by, session) },
	})
	if err != nil {
		return nil, halves, err
	}
	return value.(*perdure.Session), halves, nil
}

// halfBytes is the size of each of a session's two secrets in bytes.
const halfBytes = 32

func newHalves() (SessionHalves, error) {
	var raw [2 * halfBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return SessionHalves{}, &perdure.Error{Code: perdure.Internal, Message: "no randomness", Err: err}
	}
	text := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	return SessionHalves{Cookie: text(raw[:halfBytes]), Page: text(raw[halfBytes:])}, nil
}

// maxUserAgent is the maximum length in bytes of the stored part of a browser's User-Agent header.
const maxUserAgent = 200

// printable returns at most the first `most` bytes of a text. Bytes that are not printable ASCII
// become question marks.
func printable(text string, most int) string {
	raw := []byte(text[:min(len(text), most)])
	for i, b := range raw {
		if b < ' ' || b > '~' {
			raw[i] = '?'
		}
	}
	return string(raw)
}

// Session returns the session whose two secrets have these hashes. It does not check the session's
// key. Error: unauthenticated.
func (t *Tenants) Session(ctx context.Context, cookie, page perdure.Hash) (*perdure.Session, error) {
	now := time.Now()
	s, ok := t.sessions.get(cookie, now)
	if !ok {
		var err error
		if s, err = t.store.SessionByCookie(ctx, cookie); err != nil && !perdure.IsCode(err, perdure.NotFound) {
			return nil, err
		}
		t.sessions.remember(cookie, s, now.Add(sessionTTL))
	}
	if s == nil || s.ExpiresAt.Reached(t.store.Now()) || subtle.ConstantTimeCompare(s.Page[:], page[:]) != 1 {
		return nil, perdure.Errorf(perdure.Unauthenticated, "the session is unknown, has ended, or only one half of it was sent")
	}
	return s, nil
}

// Sessions returns those sessions that match the query and have not ended. The caller need not set
// q.Now.
func (t *Tenants) Sessions(ctx context.Context, q store.SessionQuery) ([]*perdure.Session, error) {
	q.Now = t.store.Now()
	return t.store.Sessions(ctx, q)
}

// EndSession ends a session of an org; every server refuses the session within five seconds. Error:
// not_found, also if the function `visible` returns false for the session, because the user may not
// see it.
func (t *Tenants) EndSession(ctx context.Context, org string, id uuid.UUID, visible func(*perdure.Session) bool) (*perdure.Session, error) {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: perdure.AuditSessionEnded}
	value, err := t.one(ctx, store.Command{
		Name: string(by.Action), Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Session: &id} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.EndSession(s, by, id, visible) },
	})
	if err != nil {
		return nil, err
	}
	ended := value.(*perdure.Session)
	t.sessions.remember(ended.Cookie, nil, time.Now().Add(sessionTTL))
	return ended, nil
}

// sweepStepOfSessions is the maximum number of expired sessions that one command deletes.
const sweepStepOfSessions = 500

// SweepSessions deletes expired sessions.
func (t *Tenants) SweepSessions(ctx context.Context) error {
	for {
		left, err := t.store.ExpiredSessions(ctx, t.store.Now())
		if err != nil || !left {
			return err
		}
		_, err = t.one(ctx, store.Command{
			Name: "sweep sessions", Lane: store.LaneSweeps, Frees: true,
			Decide: func(*store.State) (*store.Changes, error) {
				return tenant.SweepSessions(sweepStepOfSessions)
			},
		})
		if err != nil {
			return err
		}
	}
}
