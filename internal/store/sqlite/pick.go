package sqlite

import (
	"fmt"
	"strconv"

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
		return pickAgents(v, org, p, limit, now)
	case store.PickTasks:
		return pickTasks(v, org, p, limit, now)
	case store.PickAttempts:
		now = now.Add(-p.Grace)
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
	store.PickAttempts: "SELECT agent_execution_id, id FROM task_execution" +
		" WHERE status = 'RUNNING' AND attempt_due IS NOT NULL AND attempt_due <= ?2 AND (?1 = '' OR org_id = ?1) ORDER BY attempt_due LIMIT ?3",
	store.PickLooseBlobs: "SELECT DISTINCT b.agent_execution_id, NULL FROM blob b" +
		" WHERE b.owned = 0 AND b.created_at <= ?2 - " + looseBlobAge +
		" AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = b.agent_execution_id) = ?1) LIMIT ?3",
	store.PickPruned: "SELECT p.agent_execution_id, NULL FROM pruning p WHERE p.agent_execution_id > x'' AND ?2 IS NOT NULL" +
		" AND (?1 = '' OR (SELECT x.org_id FROM agent_execution x WHERE x.id = p.agent_execution_id) = ?1) LIMIT ?3",
}

// looseBlobAge is store.LooseBlobAge in milliseconds.
var looseBlobAge = strconv.FormatInt(store.LooseBlobAge.Milliseconds(), 10)

// nextDue is the earliest moment at which time alone makes something ready.
const nextDue = "SELECT min(at) FROM (SELECT min(due_at) AS at FROM agent_timer" +
	" UNION ALL SELECT min(not_before) FROM agent_execution WHERE status = 'PENDING' AND not_before > ready_at AND not_before > ?1" +
	" UNION ALL SELECT min(not_before) FROM task_execution WHERE status = 'PENDING' AND not_before > created_at AND not_before > ?1)"
