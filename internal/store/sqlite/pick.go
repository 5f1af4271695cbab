package sqlite

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const defaultPickLimit = 100

// pick finds the candidates of a command. Every kind has a partial index that
// holds little more than what may be picked.
func pick(v view, org string, p *store.Pick, now perdure.Time) ([]candidate, error) {
	limit := p.Limit
	if limit <= 0 {
		limit = defaultPickLimit
	}
	switch p.Kind {
	case store.PickAgents:
		return pickQueued(v, org, p, limit, now, pendingAgents, claimable(p.Home)...)
	case store.PickTasks:
		return pickQueued(v, org, p, limit, now, pendingTasks, nil)
	}
	query, ok := dueQueries[p.Kind]
	if !ok {
		return nil, fmt.Errorf("there is no pick of kind %d", p.Kind)
	}
	var all []candidate
	err := v.each(query, []any{org, millis(now), limit}, func(row func(...any) error) error {
		var c candidate
		err := row(&c.execution, optUUID{&c.task})
		all = append(all, c)
		return err
	})
	return all, err
}

var dueQueries = map[store.PickKind]string{
	store.PickTimers: "SELECT t.agent_execution_id, NULL FROM agent_timer t" +
		" WHERE t.due_at <= ?2 AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = t.agent_execution_id) = ?1)" +
		" ORDER BY t.due_at LIMIT ?3",
	store.PickExpiredAgents: "SELECT id, NULL FROM agent_execution" +
		" WHERE status IN ('RUNNING', 'CANCELLING') AND lease_until <= ?2 AND (?1 = '' OR org_id = ?1) ORDER BY lease_until LIMIT ?3",
	store.PickExpiredTasks: "SELECT agent_execution_id, id FROM task_execution" +
		" WHERE status = 'RUNNING' AND lease_until <= ?2 AND (?1 = '' OR org_id = ?1) ORDER BY lease_until LIMIT ?3",
	// Named, because the planner takes another index of the same order.
	store.PickEmbedded: "SELECT id, NULL FROM agent_execution INDEXED BY idx_agent_execution_embedded" +
		" WHERE embedded = 1 AND status IN ('RUNNING', 'CANCELLING') AND ?2 IS NOT NULL AND (?1 = '' OR org_id = ?1)" +
		" UNION SELECT agent_execution_id, NULL FROM task_execution INDEXED BY idx_task_execution_embedded" +
		" WHERE embedded = 1 AND status = 'RUNNING' AND (?1 = '' OR org_id = ?1) LIMIT ?3",
	store.PickCancelOverdue: "SELECT id, NULL FROM agent_execution" +
		" WHERE status = 'CANCELLING' AND cancel_by <= ?2 AND (?1 = '' OR org_id = ?1) ORDER BY cancel_by LIMIT ?3",
	store.PickTaskDeadlines: "SELECT agent_execution_id, id FROM task_execution" +
		" WHERE status IN ('PENDING', 'RUNNING') AND deadline_at IS NOT NULL AND deadline_at <= ?2 AND (?1 = '' OR org_id = ?1)" +
		" ORDER BY deadline_at LIMIT ?3",
	store.PickLooseBlobs: "SELECT DISTINCT b.agent_execution_id, NULL FROM blob b" +
		" WHERE b.owned = 0 AND b.created_at <= ?2 - " + looseBlobAge +
		" AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = b.agent_execution_id) = ?1) LIMIT ?3",
}

// looseBlobAge is store.LooseBlobAge in milliseconds.
var looseBlobAge = strconv.FormatInt(store.LooseBlobAge.Milliseconds(), 10)

// queued says how the pending rows of one table are picked.
type queued struct {
	rows string // one (org, queue, kind), in order
	orgs string // the orgs that have any
}

// The orgs are found by skipping through the index from one to the next.
var (
	pendingAgents = queued{
		rows: "SELECT id, NULL, 0, ready_at FROM agent_execution WHERE org_id = ? AND queue = ? AND kind = ? AND status = 'PENDING'" +
			" AND persistence_mode = ? AND home_worker_id IS ? AND not_before <= ? ORDER BY ready_at LIMIT ?",
		orgs: "SELECT min(org_id) FROM agent_execution WHERE status = 'PENDING' AND org_id > ?",
	}
	pendingTasks = queued{
		rows: "SELECT agent_execution_id, id, priority, created_at FROM task_execution WHERE org_id = ? AND queue = ? AND kind = ? AND status = 'PENDING'" +
			" AND not_before <= ? ORDER BY priority, created_at LIMIT ?",
		orgs: "SELECT min(org_id) FROM task_execution WHERE status = 'PENDING' AND org_id > ?",
	}
)

// ranked is a candidate with what orders it among those of other queues.
type ranked struct {
	candidate
	priority, since int64
}

// claimable are the values of persistence_mode and home_worker_id that a worker
// may claim: it looks for each in the index, and so passes over nothing that
// waits for another worker.
func claimable(home *uuid.UUID) [][]any {
	modes := [][]any{{string(perdure.Remote), nil}}
	if home != nil {
		modes = append(modes, []any{string(perdure.Local), nil}, []any{string(perdure.Local), optID(home)})
	}
	return modes
}

// pickQueued merges the heads of each queue and kind, and of each of the
// narrower lists: the cost follows from how many are picked, not from how many
// are pending.
func pickQueued(v view, org string, p *store.Pick, limit int, now perdure.Time, q queued, lists ...[]any) ([]candidate, error) {
	orgs := []string{org}
	if org == "" {
		var err error
		if orgs, err = pendingOrgs(v, q.orgs); err != nil {
			return nil, err
		}
	}
	var all []ranked
	for _, head := range heads(orgs, p, lists) {
		err := v.each(q.rows, append(head, millis(now), limit), func(row func(...any) error) error {
			var r ranked
			err := row(&r.execution, optUUID{&r.task}, &r.priority, &r.since)
			all = append(all, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.since, b.since))
	})
	return distinct(all, limit), nil
}

// heads are what the lists are found by whose first rows are candidates.
func heads(orgs []string, p *store.Pick, lists [][]any) [][]any {
	var all [][]any
	for _, org := range orgs {
		for _, queue := range p.Queues {
			for _, kind := range p.Kinds {
				for _, narrow := range lists {
					all = append(all, append([]any{org, queue, kind}, narrow...))
				}
			}
		}
	}
	return all
}

// distinct takes the first limit candidates; a queue or a kind named twice
// gives nobody twice.
func distinct(all []ranked, limit int) []candidate {
	type key struct{ execution, task uuid.UUID }
	seen := map[key]bool{}
	var picked []candidate
	for _, r := range all {
		k := key{execution: r.execution}
		if r.task != nil {
			k.task = *r.task
		}
		if len(picked) == limit {
			break
		}
		if !seen[k] {
			seen[k] = true
			picked = append(picked, r.candidate)
		}
	}
	return picked
}

func pendingOrgs(v view, query string) ([]string, error) {
	var orgs []string
	for at := ""; ; {
		var next *string
		if _, err := v.one(query, []any{at}, &next); err != nil || next == nil {
			return orgs, err
		}
		orgs, at = append(orgs, *next), *next
	}
}

// nextDue is the earliest moment at which time alone makes something ready.
const nextDue = "SELECT min(at) FROM (SELECT min(due_at) AS at FROM agent_timer" +
	" UNION ALL SELECT min(not_before) FROM agent_execution WHERE status = 'PENDING' AND not_before > ready_at AND not_before > ?1" +
	" UNION ALL SELECT min(not_before) FROM task_execution WHERE status = 'PENDING' AND not_before > created_at AND not_before > ?1)"
