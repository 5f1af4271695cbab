package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var dueTests = map[string]func(*fixture){
	"one query tells what time brings":            findsDue,
	"one query tells which executions have moved": findsMoved,
}

// findsDue checks that Due returns, for each kind of work (store.PickKind), the time at which the
// first item is due. A command that picks work of this kind must find the item at that time, but not
// before.
func findsDue(f *fixture) {
	all := []store.PickKind{
		store.PickTimers, store.PickExpiredAgents, store.PickExpiredTasks, store.PickCancelOverdue,
		store.PickTaskDeadlines, store.PickAttempts, store.PickLooseBlobs,
	}
	past, future := f.ago(time.Minute), f.ago(-time.Minute)
	check := func(when string, want map[store.PickKind]perdure.Time) {
		f.Helper()
		got, err := f.s.Due(f.ctx, store.DueQuery{Since: f.s.Now(), Leases: true})
		f.must(err)
		f.equal("what is due "+when, got.At, want)
		got, err = f.s.Due(f.ctx, store.DueQuery{Since: f.s.Now()})
		f.must(err)
		for _, kind := range all {
			at, any := got.At[kind]
			if lease := kind == store.PickExpiredAgents || kind == store.PickExpiredTasks; any != (!lease && !want[kind].IsZero()) {
				f.Errorf("%s, leases left out, kind %d is due at %s, %v", when, kind, at, any)
			}
			picked := 0
			f.do(store.Command{
				Lane: store.LaneSweeps, Pick: &store.Pick{Kind: kind, Limit: 100},
				Decide: func(*store.State) (*store.Changes, error) {
					picked++
					return nil, nil
				},
			})
			if over := !want[kind].IsZero() && want[kind].Reached(f.s.Now()); over != (picked > 0) {
				f.Errorf("%s the pick of kind %d finds %d", when, kind, picked)
			}
		}
	}
	id := f.start()
	check("at first", map[store.PickKind]perdure.Time{})
	for _, at := range []perdure.Time{future, past} {
		f.change(id, func(*store.State) *store.Changes { return &store.Changes{Timer: &at} })
		check("with a timer", map[store.PickKind]perdure.Time{store.PickTimers: at})
	}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Timer: &perdure.Time{}} })
	running := func(change func(*perdure.Execution)) {
		worker := uuid.New()
		f.start(func(x *perdure.Execution) {
			x.Status, x.WorkerID, x.ClaimID, x.LeaseUntil = perdure.StatusRunning, &worker, uuid.New(), future.Add(time.Minute)
			change(x)
		})
	}
	want := map[store.PickKind]perdure.Time{store.PickExpiredAgents: future.Add(time.Minute)}
	running(func(*perdure.Execution) {})
	check("with a lease", want)
	for _, at := range []perdure.Time{future, past} {
		running(func(x *perdure.Execution) { x.LeaseUntil = at })
		want[store.PickExpiredAgents] = at
		check("with another lease", want)
	}
	running(func(x *perdure.Execution) { x.Status, x.CancelBy = perdure.StatusCancelling, past })
	want[store.PickCancelOverdue] = past
	check("with a cancel", want)
	worker, queue := uuid.New(), ""
	task := func(change func(*perdure.Task)) {
		queue += "q"
		t := &perdure.Task{
			ID: uuid.New(), ExecutionID: id, Org: org, Kind: "k", Status: perdure.TaskRunning, Queue: queue, CreatedAt: past,
			Attempt: 1, WorkerID: &worker, ClaimID: uuid.New(), LeaseUntil: future.Add(time.Minute), AttemptAt: past, SignAt: past,
		}
		change(t)
		f.putTask(t)
	}
	task(func(*perdure.Task) {})
	want[store.PickExpiredTasks] = future.Add(time.Minute)
	check("with a task that runs", want)
	for _, at := range []perdure.Time{future, past} {
		task(func(t *perdure.Task) { t.LeaseUntil = at })
		want[store.PickExpiredTasks] = at
		check("with a task's lease", want)
	}
	task(func(t *perdure.Task) { t.Options.AttemptTimeout = time.Second })
	want[store.PickAttempts] = past.Add(time.Second)
	check("with an attempt that is over", want)
	task(func(t *perdure.Task) { t.Options.ScheduleToClose = time.Second })
	want[store.PickTaskDeadlines] = past.Add(time.Second)
	check("with a deadline that is over", want)
}

func findsMoved(f *fixture) {
	claim := `{"claim":"` + uuid.NewString() + `"`
	at := perdure.CommitNumber{Fence: 3, Number: 14}
	stands := func(change func(*perdure.Execution)) uuid.UUID {
		return f.start(func(x *perdure.Execution) {
			x.Fence, x.LastCommit, x.Answer = at.Fence, at, json.RawMessage(claim+`,"signals":"`+strings.Repeat("é", 100)+`"}`)
			change(x)
		})
	}
	said := func(id uuid.UUID) store.Standing {
		return store.Standing{Execution: id, Fence: at.Fence, Number: at.Number, Answer: claim}
	}
	same := func(*perdure.Execution) {}
	any := said(stands(same))
	any.Answer = ""
	other := said(stands(same))
	other.Answer = `{"claim":"` + uuid.NewString() + `"`
	later := said(stands(same))
	later.Number = 1
	earlier := said(stands(same))
	earlier.Fence = 31
	unanswered := said(stands(func(x *perdure.Execution) { x.Answer = nil }))
	never := store.Standing{Execution: f.start()}
	ended := said(stands(func(x *perdure.Execution) { x.Status, x.CompletedAt = perdure.StatusCompleted, ptr(f.s.Now()) }))
	foreign := said(stands(func(x *perdure.Execution) { x.Org = "other" }))
	none := said(uuid.New())
	got, err := f.s.Moved(f.ctx, org, []store.Standing{said(stands(same)), any, other, later, earlier, unanswered, never, ended, foreign, none})
	f.must(err)
	want := []uuid.UUID{other.Execution, later.Execution, earlier.Execution, unanswered.Execution, ended.Execution, foreign.Execution, none.Execution}
	byText := func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(got, byText)
	slices.SortFunc(want, byText)
	f.equal("those that moved", got, want)
	if got, err := f.s.Moved(f.ctx, org, nil); err != nil || len(got) > 0 {
		f.Errorf("of none %v moved, %v", got, err)
	}
}
