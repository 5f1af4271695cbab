package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var linkTests = map[string]func(*fixture){
	"every field of a link comes back":                     linkFields,
	"a link of another execution than the command's fails": linkElsewhere,
	"the oldest links of a key to a question are deleted":  linksTrimmed,
	"links are deleted by key and by question":             linksDropped,
	"the links to a question go with its execution":        linksDeleted,
	"links that have expired are found and deleted":        linksSwept,
}

func linksSwept(f *fixture) {
	one, two := f.start(), f.start()
	q, key := f.askFor(one, "one")
	other, _ := f.askFor(two, "two")
	var expired []perdure.Hash
	for i, of := range []*perdure.Question{q, other, q, q} {
		l := f.link(of, key.ID, i)
		if i < 3 {
			l.ExpiresAt = f.ago(time.Duration(10-i) * time.Hour)
			expired = append(expired, l.TokenSHA256)
		}
		f.linkTo(l)
	}
	found := func(limit int) (tokens []perdure.Hash) {
		all, err := f.s.ExpiredLinks(f.ctx, f.s.Now(), limit)
		f.must(err)
		for _, l := range all {
			tokens = append(tokens, l.TokenSHA256)
		}
		return tokens
	}
	f.equal("those that have expired, the first ones first", found(10), expired)
	f.equal("the first of them", found(2), expired[:2])
	sweep := func() { f.change(one, func(*store.State) *store.Changes { return &store.Changes{SweepLinks: 1} }) }
	sweep()
	f.equal("the number after one was deleted", len(found(10)), 2)
	sweep()
	f.equal("those of another execution", found(10), expired[1:2])
	sweep()
	left, err := f.s.Links(f.ctx, one, q.ID)
	f.must(err)
	f.equal("the number of links that have not expired", len(left), 1)
}

// askFor stores a question, and an API key that may answer the question.
func (f *fixture) askFor(x uuid.UUID, name string) (q *perdure.Question, key *perdure.APIKey) {
	f.Helper()
	q = f.question(x, name)
	f.ask(x, q)
	secret := uuid.New()
	key = &perdure.APIKey{ID: uuid.Must(uuid.NewV7()), Org: org, Name: "ann", Role: perdure.KeyApprover, Hash: sha256.Sum256(secret[:]), CreatedAt: milestone(1)}
	f.must(f.outside(org, store.Changes{Key: key}))
	return q, key
}

// link returns a link to a question. The link was created n seconds after the Unix epoch, and is
// not stored.
func (f *fixture) link(q *perdure.Question, key uuid.UUID, n int) *perdure.QuestionLink {
	return &perdure.QuestionLink{
		QuestionID: q.ID, KeyID: key, QuestionVersion: 1, CreatedAt: perdure.AtMilli(int64(1000 * n)), ExpiresAt: f.ago(-time.Hour), Org: org,
		ExecutionID: q.ExecutionID, TokenSHA256: sha256.Sum256([]byte(fmt.Sprint(q.ID, key, n))),
	}
}

func (f *fixture) linkTo(l *perdure.QuestionLink) {
	f.Helper()
	f.change(l.ExecutionID, func(*store.State) *store.Changes { return &store.Changes{Link: l} })
}

func linkFields(f *fixture) {
	x := f.start()
	q, key := f.askFor(x, "one")
	l := f.link(q, key.ID, 1)
	f.linkTo(l)
	f.equal("the link decided on", f.look(x, store.Needs{Link: &l.TokenSHA256}).Link, l)
	f.equal("the links decided on", f.look(x, store.Needs{LinksOf: &q.ID}).Links, []*perdure.QuestionLink{l})
	if other := f.look(f.start(), store.Needs{Link: &l.TokenSHA256}).Link; other != nil {
		f.Errorf("another execution has the link %v", other)
	}
	got, err := f.s.Link(f.ctx, l.TokenSHA256)
	f.must(err)
	f.equal("the link with its key", got, &store.Link{QuestionLink: *l, Key: key})
	list, err := f.s.Links(f.ctx, x, q.ID)
	f.must(err)
	f.equal("the list", list, []*perdure.QuestionLink{l})
	_, err = f.s.Link(f.ctx, sha256.Sum256([]byte("other")))
	f.wantCode(err, perdure.NotFound)
}

func linkElsewhere(f *fixture) {
	x := f.start()
	q, key := f.askFor(x, "one")
	_, err := f.s.Do(f.ctx, store.Command{Name: "test", Lane: store.LaneCommits, Org: org, Execution: f.start(), Decide: func(*store.State) (*store.Changes, error) {
		return &store.Changes{Link: f.link(q, key.ID, 1)}, nil
	}})
	if err == nil {
		f.Error("a command stored a link to a question of another execution")
	}
}

func linksTrimmed(f *fixture) {
	x := f.start()
	q, key := f.askFor(x, "one")
	other := f.link(q, uuid.New(), 1)
	f.linkTo(other)
	var all []*perdure.QuestionLink
	for n := range perdure.MaxLinks + 2 {
		l := f.link(q, key.ID, n+2)
		f.linkTo(l)
		all = append([]*perdure.QuestionLink{l}, all...)
	}
	list, err := f.s.Links(f.ctx, x, q.ID)
	f.must(err)
	f.equal("the list", list, append(all[:perdure.MaxLinks:perdure.MaxLinks], other))
}

func linksDropped(f *fixture) {
	x := f.start()
	q, key := f.askFor(x, "one")
	r, _ := f.askFor(x, "two")
	mine, other, apart := f.link(q, key.ID, 3), f.link(q, uuid.New(), 2), f.link(r, key.ID, 1)
	for _, l := range []*perdure.QuestionLink{mine, other, apart} {
		f.linkTo(l)
	}
	drop := func(d store.LinkDrop) {
		f.change(x, func(*store.State) *store.Changes { return &store.Changes{DropLinks: &d} })
	}
	drop(store.LinkDrop{QuestionID: q.ID, KeyID: &key.ID})
	f.equal("without those of a key", f.look(x, store.Needs{LinksOf: &q.ID}).Links, []*perdure.QuestionLink{other})
	drop(store.LinkDrop{QuestionID: q.ID})
	f.equal("without all", len(f.look(x, store.Needs{LinksOf: &q.ID}).Links), 0)
	f.equal("of another question", f.look(x, store.Needs{LinksOf: &r.ID}).Links, []*perdure.QuestionLink{apart})
}

func linksDeleted(f *fixture) {
	x := f.start()
	q, key := f.askFor(x, "one")
	var last *perdure.QuestionLink
	for n := range 3 {
		last = f.link(q, key.ID, n+1)
		f.linkTo(last)
	}
	q.Status = perdure.QuestionWithdrawn
	f.ask(x, q)
	f.endExecution(x, milestone(6))
	f.prune(x, store.Prune{Execution: true})
	f.drop(10)
	_, err := f.s.Link(f.ctx, last.TokenSHA256)
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.Question(f.ctx, org, q.ID)
	f.wantCode(err, perdure.NotFound)
}
