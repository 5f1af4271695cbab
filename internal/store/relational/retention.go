package relational

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Retention policies.

var (
	upsertRetention = insert("retention", "org_id, executions, checkpoints, logs",
		replacing("org_id", "executions = excluded.executions, checkpoints = excluded.checkpoints, logs = excluded.logs"))
	retentionOfOrg = read("SELECT executions, checkpoints, logs FROM retention WHERE org_id = ?")
	insertRetain   = alone("INSERT INTO agent_retention (agent_execution_id, executions, checkpoints, logs, ended_at)" +
		" SELECT id, ?, ?, ?, completed_at FROM agent_execution WHERE id = ?")
	retainOf  = read("SELECT executions, checkpoints, logs FROM agent_retention WHERE agent_execution_id = ?")
	retainEnd = update("agent_retention", columns("ended_at"), columns("agent_execution_id"))
)

// periodOf returns the column value of a period; NULL for nil.
func periodOf(p *perdure.Period) any {
	if p == nil {
		return nil
	}
	return time.Duration(*p).Milliseconds()
}

// periodCol returns the period for a column value of periodOf.
func periodCol(ms *int64) *perdure.Period {
	if ms == nil {
		return nil
	}
	p := perdure.Period(time.Duration(*ms) * time.Millisecond)
	return &p
}

// putRetention writes the retention policies that a command sets.
func (t *Transaction) putRetention(org string, id uuid.UUID, ch *store.Changes) error {
	if ch.Retention != nil {
		r := ch.Retention.Default()
		if err := t.write(upsertRetention, org, periodOf(r.Executions), periodOf(r.Checkpoints), periodOf(r.Logs)); err != nil {
			return err
		}
	}
	if ch.Retain == nil || ch.Retain.IsZero() {
		return nil
	}
	return t.write(insertRetain, periodOf(ch.Retain.Executions), periodOf(ch.Retain.Checkpoints), periodOf(ch.Retain.Logs), id[:])
}

// loadPolicy reads a retention policy; nil if there is none.
func loadPolicy(v view, query *Statement, key any) (*perdure.Retention, error) {
	var executions, checkpoints, logs *int64
	found, err := v.one(query, []any{key}, &executions, &checkpoints, &logs)
	if err != nil || !found {
		return nil, err
	}
	return &perdure.Retention{Executions: periodCol(executions), Checkpoints: periodCol(checkpoints), Logs: periodCol(logs)}, nil
}

// loadRetention returns the retention periods that apply to one execution.
func loadRetention(v view, x *perdure.Execution) (perdure.Retention, error) {
	var r perdure.Retention
	org, err := loadPolicy(v, retentionOfOrg, x.Org)
	if err != nil {
		return r, err
	}
	if org != nil {
		r = *org
	}
	own, err := loadPolicy(v, retainOf, x.ID[:])
	if err != nil {
		return r, err
	}
	if own != nil {
		r = r.Merge(*own)
	}
	return r.Default(), nil
}

// Retention implements [store.Reader].
func (r *Reader) Retention(ctx context.Context, org string) (*perdure.Retention, error) {
	var policy *perdure.Retention
	err := r.read(ctx, func(v view) (err error) {
		policy, err = loadPolicy(v, retentionOfOrg, org)
		return err
	})
	return policy, err
}

// nextOrg skips through the index from one org to the next.
var nextOrg = read("SELECT min(org_id) FROM agent_execution WHERE org_id > ?")

// Orgs implements [store.Reader].
func (r *Reader) Orgs(ctx context.Context) ([]string, error) {
	var orgs []string
	err := r.read(ctx, func(v view) (err error) {
		orgs, err = pendingOrgs(v, "", nextOrg)
		return err
	})
	return orgs, err
}
