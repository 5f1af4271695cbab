package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertRetention = statement.Insert("retention", tenant.Periods+", org_id", statement.Replacing("org_id", tenant.ReplacedPeriods))
	insertRetain    = statement.Alone("INSERT INTO agent_retention (" + tenant.Periods + ", agent_execution_id, ended_at)" +
		" SELECT ?, ?, ?, id, completed_at FROM agent_execution WHERE id = ?")
	retainOf  = statement.Read("SELECT " + tenant.Periods + " FROM agent_retention WHERE agent_execution_id = ?")
	retainEnd = statement.Update("agent_retention", statement.Columns("ended_at"), statement.Columns("agent_execution_id"))
)

// putRetention writes the retention policies that a command sets.
func (t *Transaction) putRetention(org string, id uuid.UUID, ch *store.Changes) error {
	if ch.Retention != nil {
		r := ch.Retention.Default()
		if err := t.writePeriods(upsertRetention, &r, org); err != nil {
			return err
		}
	}
	if ch.Retain == nil || ch.Retain.IsZero() {
		return nil
	}
	return t.writePeriods(insertRetain, ch.Retain, id[:])
}

func (t *Transaction) writePeriods(query *statement.Statement, r *perdure.Retention, key any) error {
	values, err := tenant.PeriodValues(r)
	if err != nil {
		return err
	}
	return t.Write(query, append(values, key)...)
}

// loadRetention returns the retention periods that apply to one execution.
func loadRetention(v statement.View, x *perdure.Execution) (perdure.Retention, error) {
	var r perdure.Retention
	org, err := tenant.Policy(v, tenant.RetentionOfOrg, x.Org)
	if err != nil {
		return r, err
	}
	if org != nil {
		r = *org
	}
	own, err := tenant.Policy(v, retainOf, x.ID[:])
	if err != nil {
		return r, err
	}
	if own != nil {
		r = r.Merge(*own)
	}
	return r.Default(), nil
}
