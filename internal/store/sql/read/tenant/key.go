package tenant

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	keyByHash = statement.Read(tenant.KeySelect + "k.hash = ? AND k.revoked_at IS NULL")
	keysOfOrg = statement.Read(tenant.KeySelect + "k.org_id = ? ORDER BY k.number")
)

// KeyByHash implements [store.Reader].
func (r *Tenants) KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.APIKey, error) {
		return tenant.KeyRows.One(v, keyByHash, hash[:])
	}, "there is no such key")
}

// Keys implements [store.Reader].
func (r *Tenants) Keys(ctx context.Context, org string) ([]*perdure.APIKey, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.APIKey, error) {
		all, err := tenant.KeyRows.All(v, keysOfOrg, org)
		if err != nil {
			return nil, err
		}
		for _, k := range all {
			k.Use = &perdure.KeyUse{}
			if _, err := v.One(tenant.RunningWithKey, []any{k.ID[:]}, &k.Use.Running); err != nil {
				return nil, err
			}
			if _, err := v.One(tenant.StoredWithKey, []any{k.ID[:]}, &k.Use.Stored); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

var anyKey = statement.Read("SELECT EXISTS (SELECT 1 FROM api_key WHERE revoked_at IS NULL)")

// AnyKey implements [store.Reader].
func (r *Tenants) AnyKey(ctx context.Context) (bool, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (any bool, err error) {
		_, err = v.One(anyKey, nil, column.FlagInto(&any))
		return any, err
	})
}
