package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var sessionTests = map[string]func(*fixture){
	"every field of a session comes back":     sessionFields,
	"a revoked key has no sessions":           sessionsOfRevoked,
	"a key has so many sessions":              sessionsTrimmed,
	"sessions that have expired are removed":  sessionsSwept,
	"a session is listed where it is visible": sessionsListed,
}

func hashOf(text string) perdure.Hash { return sha256.Sum256([]byte(text)) }

func (f *fixture) session(name, of string, key *uuid.UUID, at perdure.Time) *perdure.Session {
	return &perdure.Session{
		ID: uuid.Must(uuid.NewV7()), Org: of, KeyID: key, KeyName: "key of " + name, Key: hashOf(name), Cookie: hashOf(name + at.String()), Page: hashOf("page " + name),
		CreatedAt: at, ExpiresAt: at.Add(time.Hour), RemoteAddress: "127.0.0.1:1", UserAgent: "Browser 1",
	}
}

// signIn stores a new session of an API key, and returns the session.
func (f *fixture) signIn(name, of string, key *uuid.UUID, at perdure.Time) *perdure.Session {
	f.Helper()
	s := f.session(name, of, key, at)
	f.must(f.outside(of, store.Changes{Session: s}))
	return s
}

func (f *fixture) sessions(q store.SessionQuery) []*perdure.Session {
	f.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	all, err := f.s.Sessions(f.ctx, q)
	f.must(err)
	return all
}

func sessionFields(f *fixture) {
	s := f.signIn("a", org, ptr(uuid.New()), milestone(1))
	token := f.signIn("token", org, nil, milestone(1))
	for _, one := range []*perdure.Session{s, token} {
		got, err := f.s.SessionByCookie(f.ctx, one.Cookie)
		f.must(err)
		f.equal("the session", got, one)
		f.equal("the session decided on", f.look(uuid.New(), store.Needs{Session: &one.ID}).Session, one)
	}
	_, err := f.s.SessionByCookie(f.ctx, s.Page)
	f.wantCode(err, perdure.NotFound)
	f.must(f.outside("other", store.Changes{EndSession: &s.ID}))
	_, err = f.s.SessionByCookie(f.ctx, s.Cookie)
	f.must(err)
	f.must(f.outside(org, store.Changes{EndSession: &s.ID}))
	_, err = f.s.SessionByCookie(f.ctx, s.Cookie)
	f.wantCode(err, perdure.NotFound)
	f.equal("the session that ended", f.look(uuid.New(), store.Needs{Session: &s.ID}).Session, nil)
}

func sessionsOfRevoked(f *fixture) {
	key := func(name string) *perdure.APIKey {
		k := &perdure.APIKey{ID: uuid.New(), Org: org, Name: name, Role: perdure.KeyAdmin, Hash: hashOf(name), CreatedAt: milestone(0)}
		f.must(f.outside(org, store.Changes{Key: k}))
		return k
	}
	k, l := key("k"), key("l")
	f.signIn("k", org, &k.ID, milestone(1))
	stays := f.signIn("l", org, &l.ID, milestone(1))
	k.RevokedAt = ptr(milestone(2))
	f.must(f.outside(org, store.Changes{Key: k}))
	f.equal("the sessions", f.sessions(store.SessionQuery{Org: org, Now: milestone(1)}), []*perdure.Session{stays})
}

func sessionsTrimmed(f *fixture) {
	key := uuid.New()
	var all []*perdure.Session
	for i := range perdure.SessionsPerKey + 3 {
		all = append(all, f.signIn("k", org, &key, milestone(int64(i))))
	}
	other := f.signIn("l", org, ptr(uuid.New()), milestone(0))
	f.equal("the sessions of the key", f.sessions(store.SessionQuery{Org: org, Key: ptr(hashOf("k")), Now: milestone(0)}), all[3:])
	f.equal("those of another", f.sessions(store.SessionQuery{Org: org, Key: ptr(hashOf("l")), Now: milestone(0)}), []*perdure.Session{other})
}

func sessionsSwept(f *fixture) {
	expired := func() bool {
		any, err := f.s.ExpiredSessions(f.ctx, f.s.Now())
		f.must(err)
		return any
	}
	lives := f.signIn("lives", org, nil, f.s.Now())
	f.equal("whether one has expired", expired(), false)
	for i := range 3 {
		f.signIn(fmt.Sprint("old ", i), org, nil, f.ago(2*time.Hour+time.Duration(i)*time.Second))
	}
	f.must(f.outside("", store.Changes{SweepSessions: 2}))
	f.equal("whether one is left", expired(), true)
	f.must(f.outside("", store.Changes{SweepSessions: 2}))
	f.equal("whether one has expired after all were removed", expired(), false)
	_, err := f.s.SessionByCookie(f.ctx, lives.Cookie)
	f.must(err)
}

func sessionsListed(f *fixture) {
	key := ptr(uuid.New())
	first, second := f.signIn("k", org, key, milestone(1)), f.signIn("l", org, ptr(uuid.New()), milestone(2))
	token := f.signIn("token", org, nil, milestone(2))
	f.signIn("theirs", "other", ptr(uuid.New()), milestone(2))
	for what, c := range map[string]struct {
		q    store.SessionQuery
		want []*perdure.Session
	}{
		"to an admin":         {store.SessionQuery{}, []*perdure.Session{first, second}},
		"to an operator":      {store.SessionQuery{Operator: true}, []*perdure.Session{first, second, token}},
		"to its key":          {store.SessionQuery{Key: ptr(hashOf("k"))}, []*perdure.Session{first}},
		"to another":          {store.SessionQuery{Key: ptr(hashOf("theirs"))}, nil},
		"on a page":           {store.SessionQuery{Limit: 1}, []*perdure.Session{first}},
		"on the page after":   {store.SessionQuery{After: first.ID, Operator: true}, []*perdure.Session{second, token}},
		"until they expire":   {store.SessionQuery{Now: first.ExpiresAt}, []*perdure.Session{second}},
		"of a key, page two":  {store.SessionQuery{Key: ptr(hashOf("k")), After: first.ID}, nil},
		"of a key, when over": {store.SessionQuery{Key: ptr(hashOf("k")), Now: first.ExpiresAt}, nil},
	} {
		c.q.Org = org
		f.equal("the sessions "+what, f.sessions(c.q), c.want)
	}
}
