package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var bulkTests = map[string]func(*fixture){
	"every field of a bulk action comes back":                bulkFields,
	"bulk actions that run are listed page by page":          bulkRunning,
	"the executions of a bulk action are kept until it ends": bulkExecutions,
	"a turn and its count are one transaction":               bulkTurn,
}

// bulkAction stores a bulk action on the executions with these ids.
func (f *fixture) bulkAction(of string, ids []uuid.UUID, edit ...func(*perdure.BulkAction)) *perdure.BulkAction {
	f.Helper()
	a := &perdure.BulkAction{
		ID: uuid.Must(uuid.NewV7()), Org: of, Action: perdure.BulkCancel, Status: perdure.BulkRunning, Matched: len(ids),
		Statuses: []perdure.Status{perdure.StatusPending}, Errors: []perdure.BulkError{}, CreatedAt: f.s.Now(),
	}
	for _, change := range edit {
		change(a)
	}
	f.putBulk(of, store.Changes{BulkAction: a, BulkExecutions: ids})
	return a
}

// putBulk commits the changes `ch` of a bulk action with one command. It returns the state that the
// command's function Decide got.
func (f *fixture) putBulk(of string, ch store.Changes) (seen *store.State) {
	f.Helper()
	f.do(store.Command{
		Lane: store.LaneSweeps, Org: of,
		Needs: func(*perdure.Execution) store.Needs {
			n := store.Needs{BulkActions: true}
			if ch.BulkAction != nil {
				n.BulkAction = &ch.BulkAction.ID
			}
			return n
		},
		Decide: func(s *store.State) (*store.Changes, error) { seen = s; return &ch, nil },
	})
	return seen
}

func (f *fixture) storedBulk(of string, id uuid.UUID) *perdure.BulkAction {
	f.Helper()
	a, err := f.s.BulkAction(f.ctx, of, id)
	f.must(err)
	return a
}

func bulkFields(f *fixture) {
	definition, key, end := uuid.New(), uuid.New(), f.s.Now()
	a := f.bulkAction(org, nil, func(a *perdure.BulkAction) {
		a.Action, a.Reason, a.Matched, a.Done, a.Skipped, a.Failed = perdure.BulkRetry, "why ä 😀", 10, 1, 2, 3
		a.Filter = perdure.BulkFilter{
			Status: []perdure.Status{perdure.StatusWaiting}, Kind: "k", Tag: "t", DefinitionID: &definition, CreatedAfter: &end, CreatedBefore: &end,
			Query: "q", Metadata: map[string]string{"team": "ä"},
		}
		a.Statuses = []perdure.Status{perdure.StatusWaiting, perdure.StatusRunning}
		a.Errors = []perdure.BulkError{{ExecutionID: uuid.New(), Code: perdure.Conflict, Message: "m"}}
		a.KeyID, a.EndedAt, a.IdempotencyKey, a.RequestHash = &key, &end, "key ä", perdure.Hash{1, 2}
	})
	f.equal("the action", f.storedBulk(org, a.ID), a)
	_, err := f.s.BulkAction(f.ctx, "other", a.ID)
	f.wantCode(err, perdure.NotFound)
	s := f.putBulk(org, store.Changes{BulkAction: a})
	f.equal("the action decided on", s.BulkAction, a)
	f.equal("the running ones of the org", s.BulkRunning, 1)
	f.equal("those of another org", f.putBulk("other", store.Changes{}).BulkRunning, 0)
	f.equal("the action by its key", f.bulkByKey(org, "key ä"), a)
	f.equal("by another key", f.bulkByKey(org, "key"), nil)
	f.equal("for another org", f.bulkByKey("other", "key ä"), nil)
	newer := f.bulkAction(org, nil, func(n *perdure.BulkAction) {
		n.IdempotencyKey, n.CreatedAt = "key ä", a.CreatedAt.Add(time.Millisecond)
	})
	f.equal("the newest by the key", f.bulkByKey(org, "key ä"), newer)
}

func (f *fixture) bulkByKey(of, key string) (found *perdure.BulkAction) {
	f.Helper()
	f.do(store.Command{
		Lane: store.LaneCommits, Org: of,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{BulkKey: key} },
		Decide: func(s *store.State) (*store.Changes, error) { found = s.BulkByKey; return nil, nil },
	})
	return found
}

func bulkRunning(f *fixture) {
	var want []uuid.UUID
	for i, of := range []string{"a", "a", "b", "c", "c"} {
		a := f.bulkAction(of, nil, func(a *perdure.BulkAction) { a.ID[0] = byte(i) })
		want = append(want, a.ID)
		f.bulkAction(of, nil, func(a *perdure.BulkAction) { a.Status = perdure.BulkCompleted })
	}
	for limit := 1; limit <= 6; limit++ {
		var got []uuid.UUID
		for last := (*perdure.BulkAction)(nil); ; {
			page, err := f.s.RunningBulk(f.ctx, last, limit)
			f.must(err)
			for _, a := range page {
				got, last = append(got, a.ID), a
			}
			if len(page) < limit {
				break
			}
		}
		f.equal(fmt.Sprintf("pages of %d", limit), got, want)
	}
}

func bulkExecutions(f *fixture) {
	ids := make([]uuid.UUID, perdure.MaxBulkExecutions)
	for i := range ids {
		ids[i] = uuid.New()
	}
	a := f.bulkAction(org, ids)
	got, err := f.s.BulkExecutions(f.ctx, org, a.ID)
	f.must(err)
	f.equal("the executions", got, ids)
	got, err = f.s.BulkExecutions(f.ctx, "other", a.ID)
	f.must(err)
	f.equal("those of another org", len(got), 0)
	ended := f.ago(time.Hour)
	a.Status, a.EndedAt = perdure.BulkCompleted, &ended
	f.putBulk(org, store.Changes{BulkAction: a})
	got, err = f.s.BulkExecutions(f.ctx, org, a.ID)
	f.must(err)
	f.equal("the executions after the end", len(got), 0)
	early, late := ended, ended.Add(time.Millisecond)
	runs := f.bulkAction(org, ids[:1])
	f.putBulk(org, store.Changes{ForgetBulk: &early})
	f.storedBulk(org, a.ID)
	f.putBulk("other", store.Changes{ForgetBulk: &late})
	f.storedBulk(org, a.ID)
	f.putBulk(org, store.Changes{ForgetBulk: &late})
	_, err = f.s.BulkAction(f.ctx, org, a.ID)
	f.wantCode(err, perdure.NotFound)
	f.storedBulk(org, runs.ID)
}

// bulkTurn checks that concurrent commands of one bulk action, each for a different execution, see
// the counts that the previous commands have written.
func bulkTurn(f *fixture) {
	var ids []uuid.UUID
	for range 20 {
		ids = append(ids, f.start())
	}
	a := f.bulkAction(org, ids)
	var all []store.Command
	for _, id := range ids {
		all = append(all, store.Command{
			Lane: store.LaneSweeps, Org: org, Execution: id,
			Needs: func(*perdure.Execution) store.Needs { return store.Needs{BulkAction: &a.ID} },
			Decide: func(s *store.State) (*store.Changes, error) {
				s.BulkAction.Done++
				s.Execution.Version++
				return &store.Changes{Execution: s.Execution, BulkAction: s.BulkAction}, nil
			},
		})
	}
	for _, err := range f.together(all) {
		f.must(err)
	}
	f.equal("the count", f.storedBulk(org, a.ID).Done, len(ids))
}
