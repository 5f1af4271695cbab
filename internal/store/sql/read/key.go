package read

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	keyByHash = statement.Read(load.KeySelect + "k.hash = ? AND k.revoked_at IS NULL")
	keysOfOrg = statement.Read(load.KeySelect + "k.org_id = ? ORDER BY k.number")
)

// KeyByHash implements [store.Reader].
func (r *Reader) KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error) {
	var k *perdure.APIKey
	err := r.read(ctx, func(v statement.View) (err error) {
		if k, err = load.Key(v, keyByHash, hash[:]); err == nil && k == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no such key")
		}
		return err
	})
	return k, err
}

// Keys implements [store.Reader].
func (r *Reader) Keys(ctx context.Context, org string) ([]*perdure.APIKey, error) {
	var all []*perdure.APIKey
	err := r.read(ctx, func(v statement.View) error {
		err := v.Each(keysOfOrg, []any{org}, func(row func(...any) error) error {
			var k perdure.APIKey
			err := row(load.KeyRows.Scan(nil, &k)...)
			all = append(all, &k)
			return err
		})
		if err != nil {
			return err
		}
		for _, k := range all {
			k.Use = &perdure.KeyUse{}
			if _, err := v.One(load.RunningWithKey, []any{k.ID[:]}, &k.Use.Running); err != nil {
				return err
			}
			if _, err := v.One(load.StoredWithKey, []any{k.ID[:]}, &k.Use.Stored); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

var anyKey = statement.Read("SELECT EXISTS (SELECT 1 FROM api_key WHERE revoked_at IS NULL)")

// AnyKey implements [store.Reader].
func (r *Reader) AnyKey(ctx context.Context) (any bool, err error) {
	err = r.read(ctx, func(v statement.View) error {
		_, err := v.One(anyKey, nil, column.FlagInto(&any))
		return err
	})
	return any, err
}
