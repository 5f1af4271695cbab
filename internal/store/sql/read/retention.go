package read

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Retention implements [store.Reader].
func (r *Reader) Retention(ctx context.Context, org string) (*perdure.Retention, error) {
	var policy *perdure.Retention
	err := r.read(ctx, func(v statement.View) (err error) {
		policy, err = load.Policy(v, load.RetentionOfOrg, org)
		return err
	})
	return policy, err
}

// Orgs implements [store.Reader].
func (r *Reader) Orgs(ctx context.Context) ([]string, error) {
	var orgs []string
	err := r.read(ctx, func(v statement.View) (err error) {
		orgs, err = load.PendingOrgs(v, "", load.NextOrg)
		return err
	})
	return orgs, err
}
