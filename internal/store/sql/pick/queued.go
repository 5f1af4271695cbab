package pick

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	// orgsOfAgents and orgsOfTasks select the first org after the org ? that has pending work. Each
	// of them reads one row of an index.
	orgsOfAgents = statement.Read("SELECT min(org_id) FROM agent_execution WHERE status = 'PENDING' AND org_id > ?")
	orgsOfTasks  = statement.Read("SELECT min(org_id) FROM task_execution WHERE status = 'PENDING' AND org_id > ?")
)

// ranked is a candidate with its priority and its age, by which candidates of several queues are
// ordered.
type ranked struct {
	Candidate
	org             string
	priority, since int64
	limit           int // limit of the candidate's concurrency key
}

func byRank(a, b ranked) int {
	return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.since, b.since))
}

// heldPending is called after a read has found no pending row. It returns ErrHeld if there is a row
// after all, which another transaction has locked.
func heldPending(v statement.View, query *statement.Statement, args []any) error {
	unlocked, locks := strings.CutSuffix(query.Text(), v.Dialect.SkipLocked)
	if v.Dialect.SkipLocked == "" || !locks {
		return nil
	}
	err := v.Each(statement.NewAlone(unlocked), args, func(func(...any) error) error { return statement.ErrHeld })
	return err
}

// notHeld sets `held` and returns nil if the error is ErrHeld, because other reads may find
// candidates. It returns other errors unchanged.
func notHeld(err error, held *bool) error {
	if errors.Is(err, statement.ErrHeld) {
		*held = true
		return nil
	}
	return err
}

// head identifies an index range from which pending rows are read.
type head struct{ org, queue, kind string }

func eachHead(orgs []string, p *store.Pick, read func(head)) {
	for _, org := range orgs {
		for _, queue := range p.Queues {
			for _, kind := range p.Kinds {
				read(head{org, queue, kind})
			}
		}
	}
}

// pickTasks picks tasks for the pickers. It reads the first rows of each queue and kind, and takes
// those that come first by priority and age and are within the limits of their queue and
// concurrency key.
func pickTasks(v statement.View, pickers []*Picker, now perdure.Time) error {
	p, limit := pickers[0].Pick, takes(pickers)
	orgs, err := tenant.PendingOrgs(v, pickers[0].Org, orgsOfTasks)
	if err != nil {
		return err
	}
	for fetch := limit; ; fetch *= 2 {
		room := &room{v: v, limits: p.QueueLimits, queues: map[[2]string]int{}, keys: map[[2]string]int{}}
		all, full, err := readTasks(v, orgs, p, room, fetch, now)
		if err != nil {
			return err
		}
		chosen, err := room.choose(all, limit)
		if err != nil {
			return err
		}
		more, err := room.more(full)
		if err != nil {
			return err
		}
		if len(chosen) == limit || !more {
			deal(chosen, pickers)
			return nil
		}
	}
}

// readTasks reads the first candidates of each queue and kind, at most `fetch` of each. It leaves
// out queues whose limit is reached. The result `full` lists the queues and kinds that may have
// more candidates.
func readTasks(v statement.View, orgs []string, p *store.Pick, room *room, fetch int, now perdure.Time) (all []ranked, full []head, err error) {
	var heads []head
	eachHead(orgs, p, func(h head) { heads = append(heads, h) })
	var reads []func(statement.View) error
	held := false
	for _, h := range heads {
		left, limited, err := room.onQueue(h.org, h.queue)
		if err != nil {
			return nil, nil, err
		}
		if limited && left <= 0 {
			continue
		}
		reads = append(reads, func(v statement.View) error {
			n := 0
			err := v.Each(v.Dialect.PendingTasks, []any{h.org, h.queue, h.kind, lacking(p), column.Millis(now), fetch}, func(row func(...any) error) error {
				n++
				r := ranked{org: h.org, Candidate: Candidate{Queue: h.queue}}
				err := row(&r.Execution, column.OptIDInto(&r.Task), &r.priority, &r.since, column.TextInto(&r.Key), &r.limit)
				all = append(all, r)
				return err
			})
			if n == fetch {
				full = append(full, h)
			}
			if err == nil && n == 0 {
				err = heldPending(v, v.Dialect.PendingTasks, []any{h.org, h.queue, h.kind, lacking(p), column.Millis(now), 1})
			}
			return notHeld(err, &held)
		})
	}
	if err = v.Together(reads...); err == nil && held && len(all) == 0 {
		err = statement.ErrHeld
	}
	slices.SortStableFunc(all, byRank)
	return distinct(all, len(all)), full, err
}

// room counts how many tasks one pick may still take from each queue and concurrency key.
type room struct {
	v      statement.View
	limits map[string]int
	queues map[[2]string]int // tasks that may still be taken, by org and queue
	keys   map[[2]string]int // running tasks and those already taken, by org and concurrency key
}

// choose returns the first candidates whose queue and concurrency key have room, at most `limit` of
// them.
func (r *room) choose(all []ranked, limit int) (chosen []ranked, err error) {
	for _, one := range all {
		if len(chosen) == limit {
			break
		}
		ok, err := r.take(one)
		if err != nil {
			return nil, err
		}
		if ok {
			chosen = append(chosen, one)
		}
	}
	return chosen, nil
}

func (r *room) onQueue(org, queue string) (left int, limited bool, err error) {
	limit, limited := r.limits[queue]
	if !limited {
		return 0, false, nil
	}
	at := [2]string{org, queue}
	left, known := r.queues[at]
	if !known {
		if err := r.v.Hold(load.HeldQueue(org, queue)); err != nil {
			return 0, true, err
		}
		var running int
		if _, err = r.v.One(load.RunningOnQueue, []any{org, queue}, &running); err != nil {
			return 0, true, err
		}
		left = limit - running
		r.queues[at] = left
	}
	return left, true, nil
}

// take uses up one place of the task's queue and one place of the task's concurrency key. It
// returns false if the queue or the key has no free place, or if another transaction has locked the
// key. If the key has reached its limit, take marks the task as blocked, so that later picks skip
// the task.
func (r *room) take(t ranked) (bool, error) {
	left, limited, err := r.onQueue(t.org, t.Queue)
	if err != nil || limited && left <= 0 {
		return false, err
	}
	if t.Key != "" {
		at := [2]string{t.org, t.Key}
		used, known := r.keys[at]
		if !known {
			if err := r.v.Hold(load.HeldKey(t.org, t.Key)); err != nil {
				if errors.Is(err, statement.ErrHeld) {
					err = nil // another transaction has locked the key; the next pick finds the task
				}
				return false, err
			}
			if _, err := r.v.One(load.RunningOfKey, []any{t.org, t.Key}, &used); err != nil {
				return false, err
			}
		}
		r.keys[at] = used
		if used >= t.limit {
			return false, r.v.Write(blockTask, t.Execution[:], t.Task[:])
		}
		r.keys[at]++
	}
	if limited {
		r.queues[[2]string{t.org, t.Queue}]--
	}
	return true, nil
}

// more reports whether a queue in `full` still has room.
func (r *room) more(full []head) (bool, error) {
	for _, h := range full {
		left, limited, err := r.onQueue(h.org, h.queue)
		if err != nil || !limited || left > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// distinct returns the first candidates without duplicates, at most `limit` of them. Duplicates
// occur if a pick names a queue or a kind twice.
func distinct(all []ranked, limit int) []ranked {
	type key struct{ execution, task uuid.UUID }
	seen := map[key]bool{}
	var first []ranked
	for _, r := range all {
		k := key{execution: r.Execution}
		if r.Task != nil {
			k.task = *r.Task
		}
		if len(first) == limit {
			break
		}
		if !seen[k] {
			seen[k] = true
			first = append(first, r)
		}
	}
	return first
}

func candidates(all []ranked) []Candidate {
	var picked []Candidate
	for _, r := range all {
		picked = append(picked, r.Candidate)
	}
	return picked
}

var blockTask = statement.Update("task_execution", statement.Terms{}.Fixed("blocked", "= 1"), statement.Columns("agent_execution_id, id"))
