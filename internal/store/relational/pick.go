package relational

import (
	"fmt"

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
	query, ok := v.words.Due[p.Kind]
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

// nextDue is the earliest moment at which time alone makes something ready.
const nextDue = "SELECT min(at) FROM (SELECT min(due_at) AS at FROM agent_timer" +
	" UNION ALL SELECT min(not_before) FROM agent_execution WHERE status = 'PENDING' AND not_before > ready_at AND not_before > ?1" +
	" UNION ALL SELECT min(not_before) FROM task_execution WHERE status = 'PENDING' AND not_before > created_at AND not_before > ?1) AS due"
