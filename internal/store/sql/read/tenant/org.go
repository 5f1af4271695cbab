package tenant

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var orgsAfter = statement.Read(tenant.OrgSelect + "o.id > ? ORDER BY o.id LIMIT ?")

// OrgByID implements [store.Reader].
func (r *Tenants) OrgByID(ctx context.Context, id string) (*perdure.Org, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Org, error) { return tenant.Org(v, id) }, "there is no org %q", id)
}

// OrgList implements [store.Reader].
func (r *Tenants) OrgList(ctx context.Context, after string, limit int) ([]*perdure.Org, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Org, error) {
		return tenant.OrgRows.All(v, orgsAfter, after, limit)
	})
}
