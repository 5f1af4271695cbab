package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertRetention = statement.Insert("retention", "org_id, executions, checkpoints, logs",
		statement.Replacing("org_id", "executions = excluded.executions, checkpoints = excluded.checkpoints, logs = excluded.logs"))
	insertRetain = statement.Alone("INSERT INTO agent_retention (agent_execution_id, executions, checkpoints, logs, ended_at)" +
		" SELECT id, ?, ?, ?, completed_at FROM agent_execution WHERE id = ?")
	retainOf  = statement.Read("SELECT executions, checkpoints, logs FROM agent_retention WHERE agent_execution_id = ?")
	retainEnd = statement.Update("agent_retention", statement.Columns("ended_at"), statement.Columns("agent_execution_id"))
)

// putRetention writes the retention policies that a command sets.
func (t *Transaction) putRetention(org string, id uuid.UUID, ch *store.Changes) error {
	if ch.Retention != nil {
		r := ch.Retention.Default()
		if err := t.Write(upsertRetention, org, load.PeriodOf(r.Executions), load.PeriodOf(r.Checkpoints), load.PeriodOf(r.Logs)); err != nil {
			return err
		}
	}
	if ch.Retain == nil || ch.Retain.IsZero() {
		return nil
	}
	return t.Write(insertRetain, load.PeriodOf(ch.Retain.Executions), load.PeriodOf(ch.Retain.Checkpoints), load.PeriodOf(ch.Retain.Logs), id[:])
}

// loadRetention returns the retention periods that apply to one execution.
func loadRetention(v statement.View, x *perdure.Execution) (perdure.Retention, error) {
	var r perdure.Retention
	org, err := load.Policy(v, load.RetentionOfOrg, x.Org)
	if err != nil {
		return r, err
	}
	if org != nil {
		r = *org
	}
	own, err := load.Policy(v, retainOf, x.ID[:])
	if err != nil {
		return r, err
	}
	if own != nil {
		r = r.Merge(*own)
	}
	return r.Default(), nil
}
