package relational

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var (
	insertSecret = insert("store_secret", "name, value, created_at", ignoringOn("name"))
	secretByName = read("SELECT s.value FROM store_secret s WHERE s.name = ?")
)

func putSecret(v view, s *store.Secret) error {
	return v.write(insertSecret, s.Name, s.Value, millis(s.CreatedAt))
}

// Secret implements [store.Reader].
func (r *Reader) Secret(ctx context.Context, name string) (value []byte, err error) {
	err = r.read(ctx, func(v view) error {
		found, err := v.one(secretByName, []any{name}, &value)
		if err == nil && !found {
			err = perdure.Errorf(perdure.NotFound, "there is no secret %q", name)
		}
		return err
	})
	return value, err
}
