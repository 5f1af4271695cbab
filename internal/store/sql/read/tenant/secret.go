package tenant

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var secretByName = statement.Read("SELECT s.value FROM store_secret s WHERE s.name = ?")

// Secret implements [store.Reader].
func (r *Tenants) Secret(ctx context.Context, name string) (value []byte, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		found, err := v.One(secretByName, []any{name}, &value)
		if err == nil && !found {
			err = perdure.Errorf(perdure.NotFound, "there is no secret %q", name)
		}
		return err
	})
	return value, err
}
