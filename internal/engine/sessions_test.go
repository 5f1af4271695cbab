package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store"
)

// signedIn is a browser session with its two secrets and its API key.
type signedIn struct {
	*perdure.Session
	cookie, page string
	key          *perdure.APIKey
	secret       string
}

func (b *bench) signIn() signedIn {
	b.Helper()
	key, secret, err := b.e.CreateKey(b.Context(), org, "browser", perdure.KeyAdmin)
	b.must(err)
	return b.signInWith(key, secret)
}

func (b *bench) signInWith(key *perdure.APIKey, secret string) signedIn {
	b.Helper()
	s, halves, err := b.e.StartSession(b.Context(), tenants.SessionRequest{Key: key, Secret: sha256.Sum256([]byte(secret)), RemoteAddress: "127.0.0.1:7", UserAgent: "Browser\t\u202e" + strings.Repeat("x", 300)})
	b.must(err)
	return signedIn{s, halves.Cookie, halves.Page, key, secret}
}

// opens looks up a session by its two secrets, and returns the error of the lookup.
func opens(b *bench, e *Engine, cookie, page string) error {
	b.Helper()
	_, err := e.Session(b.Context(), sha256.Sum256([]byte(cookie)), sha256.Sum256([]byte(page)))
	return err
}

func anybody(*perdure.Session) bool { return true }

func TestASessionNeedsBothHalves(t *testing.T) {
	b := newBench(t)
	one, two := b.signIn(), b.signIn()
	b.must(opens(b, b.e, one.cookie, one.page))
	b.must(opens(b, b.e, two.cookie, two.page))
	for what, halves := range map[string][2]string{
		"the cookie alone": {one.cookie, ""}, "the page's half alone": {"", one.page}, "halves of two": {one.cookie, two.page},
		"the halves exchanged": {one.page, one.cookie}, "one half twice": {one.cookie, one.cookie}, "nothing": {}, "the key": {one.secret, one.secret},
	} {
		if err := opens(b, b.e, halves[0], halves[1]); !perdure.IsCode(err, perdure.Unauthenticated) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, half := range []string{one.cookie, one.page} {
		if raw, err := base64.RawURLEncoding.DecodeString(half); err != nil || len(raw) < 24 {
			t.Errorf("a half has %d random bytes (%v)", len(raw), err)
		}
		if _, err := b.e.Authenticate(t.Context(), half); !perdure.IsCode(err, perdure.Unauthenticated) {
			t.Errorf("half of a session as a key: %v", err)
		}
	}
	if len(one.UserAgent) != 200 || strings.ContainsAny(one.UserAgent, "\t\u202e") {
		t.Errorf("the browser is stored as %q", one.UserAgent)
	}
}

// TestSessionsAreStoredHashed checks that the database files contain neither the secrets of a
// session nor the secret of its API key, as text or as bytes.
func TestSessionsAreStoredHashed(t *testing.T) {
	b := newBench(t)
	s := b.signIn()
	files, err := filepath.Glob(b.path + "*")
	b.must(err)
	if len(files) == 0 {
		t.Fatal("there is no file")
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		b.must(err)
		for what, secret := range map[string]string{"cookie": s.cookie, "page's half": s.page, "key": s.secret} {
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(secret, "prd_"))
			b.must(err)
			if bytes.Contains(content, []byte(secret)) || bytes.Contains(content, raw) {
				t.Errorf("%s holds the %s", filepath.Base(file), what)
			}
		}
	}
}

func TestASessionExpires(t *testing.T) {
	b := newBench(t)
	s := b.signIn()
	b.clock.advance(perdure.SessionLife - time.Second)
	b.must(opens(b, b.e, s.cookie, s.page))
	b.clock.advance(time.Second)
	b.wantCode(opens(b, b.e, s.cookie, s.page), perdure.Unauthenticated)
	b.wantCode(opens(b, New(Config{Store: b.s}), s.cookie, s.page), perdure.Unauthenticated)
	_, err := b.e.EndSession(t.Context(), org, s.ID, anybody)
	b.wantCode(err, perdure.NotFound)
	b.must(b.e.SweepSessions(t.Context()))
	_, err = b.s.SessionByCookie(t.Context(), s.Cookie)
	b.wantCode(err, perdure.NotFound)
}

// TestAnEndedSessionStopsOnEveryServer checks that a session that was ended on one server is
// refused on every other server within five seconds, although each server caches sessions.
func TestAnEndedSessionStopsOnEveryServer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		other := New(Config{Store: b.s})
		s := b.signIn()
		b.must(opens(b, other, s.cookie, s.page))
		for _, id := range []uuid.UUID{uuid.New(), s.key.ID} {
			_, err := b.e.EndSession(t.Context(), org, id, anybody)
			b.wantCode(err, perdure.NotFound)
		}
		_, err := b.e.EndSession(t.Context(), "other", s.ID, anybody)
		b.wantCode(err, perdure.NotFound)
		_, err = b.e.EndSession(t.Context(), org, s.ID, func(*perdure.Session) bool { return false })
		b.wantCode(err, perdure.NotFound)
		b.must(opens(b, b.e, s.cookie, s.page))
		_, err = b.e.EndSession(t.Context(), org, s.ID, anybody)
		b.must(err)
		b.wantCode(opens(b, b.e, s.cookie, s.page), perdure.Unauthenticated)
		for since := time.Now(); opens(b, other, s.cookie, s.page) == nil; time.Sleep(100 * time.Millisecond) {
			if time.Since(since) > 5*time.Second {
				t.Fatal("after five seconds it is still believed")
			}
		}
	})
}

func TestAKeyHasSoManySessions(t *testing.T) {
	b := newBench(t)
	first := b.signIn()
	for range perdure.SessionsPerKey {
		b.clock.advance(time.Millisecond)
		b.signInWith(first.key, first.secret)
	}
	list, err := b.e.Sessions(t.Context(), store.SessionQuery{Org: org, Limit: 1000})
	b.must(err)
	if len(list) != perdure.SessionsPerKey || list[0].ID == first.ID {
		t.Errorf("there are %d sessions, the first is the oldest: %v", len(list), list[0].ID == first.ID)
	}
	b.wantCode(opens(b, New(Config{Store: b.s}), first.cookie, first.page), perdure.Unauthenticated)
}

func TestARevokedKeyStartsNoSession(t *testing.T) {
	b := newBench(t)
	s := b.signIn()
	_, err := b.e.RevokeKey(t.Context(), org, s.key.ID)
	b.must(err)
	_, _, err = b.e.StartSession(t.Context(), tenants.SessionRequest{Key: s.key, Secret: s.Key})
	b.wantCode(err, perdure.Unauthenticated)
	list, err := b.e.Sessions(t.Context(), store.SessionQuery{Org: org, Limit: 1000})
	b.must(err)
	if len(list) != 0 {
		t.Errorf("the revoked key has %d sessions", len(list))
	}
}
