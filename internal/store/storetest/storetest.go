// Package storetest contains the tests that every store must pass, and a store that fails as planned.
package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// Run checks that a store fulfills the contract of [store.Store]. Each subtest calls the function
// `open`, which must return an empty store and arrange that it is closed after the subtest. At its
// end, each subtest checks the invariants of the stored data.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	run(t, open, func(string) bool { return true })
}

// RunSample runs only one in n of the tests that Run runs; see [longtest.Sample]. RunSample is for
// stores with options that differ from those of the stores with which Run is called.
func RunSample(t *testing.T, n int, open func(t *testing.T) store.Store) {
	t.Helper()
	run(t, open, longtest.Sample(t, n))
}

func run(t *testing.T, open func(t *testing.T) store.Store, in func(name string) bool) {
	for _, group := range []map[string]func(*fixture){
		rowTests, signalTests, decideTests, orderTests, pickTests, dueTests, limitTests, aloneTests, leaseTests, logTests, turnTests, nonceTests, contentTests, localTests, pathTests, segmentTests, barrierTests, listTests, outsideTests, sessionTests,
		pruneTests, retentionTests, streamTests, responseTests, conversationTests, namedTests, resultTests, quotaTests, censusTests, webhookTests, deliveryTests, questionTests, grantTests, linkTests, workerTests, bulkTests,
	} {
		for name, test := range group {
			if !in(name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel() // most of the time is spent waiting for a disk or a socket
				f := &fixture{T: t, s: open(t), ctx: t.Context()}
				test(f)
				invariants.Check(t, f.s)
			})
		}
	}
}

const org = "acme"

// fixture is the state of one test, which has its own store.
type fixture struct {
	*testing.T
	s   store.Store
	ctx context.Context
}

// do runs a command that must succeed. It returns the answers that the store's method Do returned.
func (f *fixture) do(c store.Command) []any {
	f.Helper()
	if c.Org == "" && c.Pick == nil {
		c.Org = org
	}
	c.Name = "test"
	answers, err := f.s.Do(f.ctx, c)
	if err != nil {
		f.Fatalf("Do: %v", err)
	}
	return answers
}

// change runs a command on an execution. The command writes the changes that the function `decide`
// returns, and must succeed.
func (f *fixture) change(id uuid.UUID, decide func(s *store.State) *store.Changes) {
	f.Helper()
	f.do(store.Command{Lane: store.LaneCommits, Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
		return decide(s), nil
	}})
}

// look returns the state that a command on the execution gets if it has these needs. look changes
// nothing.
func (f *fixture) look(id uuid.UUID, needs store.Needs) *store.State {
	f.Helper()
	var seen *store.State
	f.do(store.Command{
		Lane: store.LaneCommits, Execution: id,
		Needs:  func(*perdure.Execution) store.Needs { return needs },
		Decide: func(s *store.State) (*store.Changes, error) { seen = s; return nil, nil },
	})
	return seen
}

// start inserts a PENDING execution with its first event, and returns the execution's id. The
// functions in `edit` may change the execution before it is inserted.
func (f *fixture) start(edit ...func(x *perdure.Execution)) uuid.UUID {
	f.Helper()
	x := perdure.Execution{
		ID: uuid.New(), Org: org, Kind: "agent", Status: perdure.StatusPending, WakeReason: perdure.WakeStart,
		PersistenceMode: perdure.Remote, Queue: "default", Input: json.RawMessage(`{"a":1}`), Version: 1,
	}
	for _, change := range edit {
		change(&x)
	}
	f.do(store.Command{Lane: store.LaneCommits, Org: x.Org, Execution: x.ID, Decide: func(s *store.State) (*store.Changes, error) {
		made := x
		if made.CreatedAt.IsZero() {
			made.CreatedAt, made.UpdatedAt = s.Now, s.Now
		}
		if made.ReadyAt.IsZero() {
			made.ReadyAt = s.Now
		}
		l := logAt(s, store.Head{Epoch: 7})
		l.event(s, perdure.EventCreated)
		return &store.Changes{Execution: &made, Head: &l.head, Records: l.records}, nil
	}})
	return x.ID
}

func (f *fixture) execution(id uuid.UUID) *perdure.Execution {
	f.Helper()
	x, err := f.s.Execution(f.ctx, "", id)
	f.must(err)
	return x
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wantCode(err error, code perdure.Code) {
	f.Helper()
	if !perdure.IsCode(err, code) {
		f.Errorf("the error is %v, want code %s", err, code)
	}
}

// equal fails the test if the values differ. A nil list or map equals an empty one. If `want` is
// nil, `got` must be the zero value of its type.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if want == nil {
		want = reflect.Zero(reflect.TypeOf(got)).Interface()
	}
	if reflect.DeepEqual(got, want) {
		return // faster than cmp.Diff for large contents
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// logWriter creates records with positions, seqs and nonces, as the engine does.
type logWriter struct {
	head    store.Head
	nonce   uint32
	records []perdure.Record
	keys    []perdure.BlockKey
}

func logOf(s *store.State) *logWriter { return logAt(s, s.Head) }

func logAt(s *store.State, head store.Head) *logWriter { return &logWriter{head: head, nonce: s.Nonce} }

// place appends a record at the next position.
func (l *logWriter) place(r perdure.Record) {
	l.head.LastPos++
	l.head.Nonce = l.nonce
	r.Pos, r.Nonce = l.head.LastPos, l.nonce
	l.records = append(l.records, r)
}

func (l *logWriter) event(s *store.State, t perdure.EventType) *perdure.Record {
	l.head.LastSeq++
	l.place(perdure.Record{Seq: l.head.LastSeq, Type: t, CreatedAt: s.Now})
	return &l.records[len(l.records)-1]
}

func ptr[T any](v T) *T { return &v }

// milestone returns the time `ms` milliseconds after a fixed moment. Every store stores such times
// exactly.
func milestone(ms int64) perdure.Time { return perdure.AtMilli(1_700_000_000_000 + ms) }
