package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// CreateKey stores a new API key. The command's result is the key's row.
func CreateKey(s *store.State, by Change, key perdure.APIKey) (*store.Changes, error) {
	key.CreatedAt = s.Now
	row := key
	return &store.Changes{Key: &row, Audit: by.key(s.Now, nil, &row), Answer: &rules.Decision{Value: &key}}, nil
}

// ChangeKey passes the row of an API key to the function `change`. If the function has changed the
// row, ChangeKey stores it with an audit record. The command's result is the key's row.
// Errors: not_found, and those of the function.
func ChangeKey(s *store.State, by Change, id uuid.UUID, change func(now perdure.Time, k *perdure.APIKey) error) (*store.Changes, error) {
	if s.Key == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no key %s", id)
	}
	before := *s.Key
	if err := change(s.Now, s.Key); err != nil {
		return nil, err
	}
	answer := &rules.Decision{Value: s.Key}
	if before == *s.Key {
		return &store.Changes{Answer: answer}, nil
	}
	return &store.Changes{Key: s.Key, Audit: by.key(s.Now, &before, s.Key), Answer: answer}, nil
}
