package tenant

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// ChangeOrg stores the org that the function `change` returns, with an audit record, if the org is
// new, or was disabled or enabled. Otherwise it stores nothing. The command's result is the
// org's row. Errors: those of the function.
func ChangeOrg(s *store.State, by Change, change func(perdure.Time, *perdure.Org) (*perdure.Org, error)) (*store.Changes, error) {
	before := copyOrg(s.Org)
	after, err := change(s.Now, s.Org)
	if err != nil {
		return nil, err
	}
	answer := &rules.Decision{Value: after}
	if before != nil && (before.DisabledAt == nil) == (after.DisabledAt == nil) {
		return &store.Changes{Answer: answer}, nil
	}
	return &store.Changes{Org: after, Audit: by.orgRow(s.Now, before, after), Answer: answer}, nil
}

func copyOrg(o *perdure.Org) *perdure.Org {
	if o == nil {
		return nil
	}
	c := *o
	return &c
}

// CreateSecret stores a secret of the installation, unless one with the name exists.
func CreateSecret(s *store.State, name string, value []byte) (*store.Changes, error) {
	return &store.Changes{Secret: &store.Secret{Name: name, Value: value, CreatedAt: s.Now}, Answer: &rules.Decision{}}, nil
}
