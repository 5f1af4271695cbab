package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// sessionTTL is how long a cached session is used without reading the store. With the interval
// between two checks of an open stream, it ensures that an ended session is refused everywhere
// within five seconds.
const sessionTTL = 2 * time.Second

// maxCachedSessions bounds the cache; a full cache is emptied.
const maxCachedSessions = 10_000

// sessionCache caches the sessions that were looked up lately, by the hash of the cookie's secret,
// and the cookies that belong to no session.
type sessionCache struct {
	mu    sync.Mutex // guards known
	known map[perdure.Hash]cachedSession
}

type cachedSession struct {
	session *perdure.Session // nil if there is no such session
	until   time.Time
}

func (c *sessionCache) remember(cookie perdure.Hash, s cachedSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCachedSessions {
		c.known = map[perdure.Hash]cachedSession{}
	}
	c.known[cookie] = s
}

// SessionHalves are the two secrets of a session: one in the cookie, one in the page.
type SessionHalves struct{ Cookie, Page string }

// SessionRequest is a request to start a session.
type SessionRequest struct {
	// Key is the key of the sign-in; Secret is the hash of its secret.
	Key    *perdure.APIKey
	Secret perdure.Hash
	// RemoteAddress and UserAgent are shown in the list of sessions.
	RemoteAddress, UserAgent string
}

// StartSession stores a new session, and returns it with its two secrets, which are not stored. If
// the key has too many sessions, its oldest one ends. Error: unauthenticated, if the key was
// revoked since.
func (e *Engine) StartSession(ctx context.Context, r SessionRequest) (*perdure.Session, SessionHalves, error) {
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
	by := changed{actor: store.ActorOf(ctx), org: session.Org, action: perdure.AuditSessionCreated}
	_, err = e.one(ctx, store.Command{
		Name: string(by.action), Lane: store.LaneCommits, Org: session.Org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{KeyID: session.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if session.KeyID != nil && (s.Key == nil || s.Key.RevokedAt != nil) {
				return nil, perdure.Errorf(perdure.Unauthenticated, "the key is unknown or revoked")
			}
			row := session
			row.CreatedAt, row.ExpiresAt = s.Now, s.Now.Add(perdure.SessionLife)
			session = row
			return &store.Changes{Session: &row, Audit: by.session(s.Now, nil, &row), Answer: &decided{}}, nil
		},
	})
	return &session, halves, err
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

// maxUserAgent bounds the stored part of a browser's name, in bytes.
const maxUserAgent = 200

// printable returns at most most bytes of a text, with a ? in place of each byte that is not
// printable ASCII.
func printable(text string, most int) string {
	raw := []byte(text[:min(len(text), most)])
	for i, b := range raw {
		if b < ' ' || b > '~' {
			raw[i] = '?'
		}
	}
	return string(raw)
}

// Session returns the session with these two secrets, given by their hashes. It does not check the
// session's key. Error: unauthenticated.
func (e *Engine) Session(ctx context.Context, cookie, page perdure.Hash) (*perdure.Session, error) {
	now := time.Now()
	e.sessions.mu.Lock()
	cached, ok := e.sessions.known[cookie]
	e.sessions.mu.Unlock()
	if !ok || now.After(cached.until) {
		session, err := e.Store.SessionByCookie(ctx, cookie)
		if err != nil && !perdure.IsCode(err, perdure.NotFound) {
			return nil, err
		}
		cached = cachedSession{session: session, until: now.Add(sessionTTL)}
		e.sessions.remember(cookie, cached)
	}
	s := cached.session
	if s == nil || s.ExpiresAt.Reached(e.Store.Now()) || subtle.ConstantTimeCompare(s.Page[:], page[:]) != 1 {
		return nil, perdure.Errorf(perdure.Unauthenticated, "the session is unknown, has ended, or only one half of it was sent")
	}
	return s, nil
}

// Sessions returns sessions that have not ended. It sets q.Now.
func (e *Engine) Sessions(ctx context.Context, q store.SessionQuery) ([]*perdure.Session, error) {
	q.Now = e.Store.Now()
	return e.Store.Sessions(ctx, q)
}

// EndSession ends a session of an org; every server refuses it within five seconds. visible reports
// whether the caller may see the session. Error: not_found.
func (e *Engine) EndSession(ctx context.Context, org string, id uuid.UUID, visible func(*perdure.Session) bool) (*perdure.Session, error) {
	by := changed{actor: store.ActorOf(ctx), org: org, action: perdure.AuditSessionEnded}
	d, err := e.one(ctx, store.Command{
		Name: string(by.action), Lane: store.LaneCommits, Org: org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Session: &id} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Session == nil || s.Session.ExpiresAt.Reached(s.Now) || !visible(s.Session) {
				return nil, perdure.Errorf(perdure.NotFound, "there is no session %s", id)
			}
			return &store.Changes{EndSession: &id, Audit: by.session(s.Now, s.Session, nil), Answer: &decided{value: s.Session}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	ended := d.value.(*perdure.Session)
	e.sessions.remember(ended.Cookie, cachedSession{until: time.Now().Add(sessionTTL)})
	return ended, nil
}

// sweepStepOfSessions is the maximum number of expired sessions that one command deletes.
const sweepStepOfSessions = 500

// sweepSessions deletes expired sessions.
func (e *Engine) sweepSessions(ctx context.Context) error {
	for {
		left, err := e.Store.ExpiredSessions(ctx, e.Store.Now())
		if err != nil || !left {
			return err
		}
		_, err = e.do(ctx, store.Command{
			Name: "sweep sessions", Lane: store.LaneSweeps, Frees: true,
			Decide: func(*store.State) (*store.Changes, error) {
				return &store.Changes{SweepSessions: sweepStepOfSessions, Answer: &decided{}}, nil
			},
		})
		if err != nil {
			return err
		}
	}
}
