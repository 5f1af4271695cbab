package tenants

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// Retention returns the org's retention policy and true, or the default policy and false if the org
// has set none.
func (t *Tenants) Retention(ctx context.Context, org string) (perdure.Retention, bool, error) {
	set, err := t.store.Retention(ctx, org)
	if err != nil || set == nil {
		return perdure.Retention{}.Default(), false, err
	}
	return set.Default(), true, nil
}

// SetRetention replaces the org's policy; fields that are nil get the default. From the next sweep
// on, the policy also applies to existing data. Error: invalid_argument.
func (t *Tenants) SetRetention(ctx context.Context, org string, r perdure.Retention) (perdure.Retention, error) {
	policy := r.Default()
	if err := CheckRetention(&policy); err != nil {
		return policy, err
	}
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: perdure.AuditRetentionChanged}
	_, err := t.one(ctx, store.Command{
		Name: "set retention", Lane: store.LaneCommits, Org: org,
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.SetRetention(s, by, policy) },
	})
	return policy, err
}

// CheckRetention refuses negative periods. A nil policy or period is valid.
func CheckRetention(r *perdure.Retention) error {
	if r == nil {
		return nil
	}
	for name, p := range map[string]*perdure.Period{"executions": r.Executions, "checkpoints": r.Checkpoints, "logs": r.Logs} {
		if p != nil && *p < 0 {
			return perdure.FieldErrorf("retention."+name, "must not be negative")
		}
	}
	return nil
}
