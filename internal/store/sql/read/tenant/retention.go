package tenant

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Retention implements [store.Reader].
func (r *Tenants) Retention(ctx context.Context, org string) (*perdure.Retention, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (*perdure.Retention, error) {
		return tenant.Policy(v, tenant.RetentionOfOrg, org)
	})
}

// Orgs implements [store.Reader].
func (r *Tenants) Orgs(ctx context.Context) ([]string, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]string, error) { return tenant.PendingOrgs(v, "", tenant.NextOrg) })
}
