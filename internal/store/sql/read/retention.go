package read

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Retention implements [store.Reader].
func (r *Reader) Retention(ctx context.Context, org string) (*perdure.Retention, error) {
	return get(ctx, r, func(v statement.View) (*perdure.Retention, error) { return load.Policy(v, load.RetentionOfOrg, org) })
}

// Orgs implements [store.Reader].
func (r *Reader) Orgs(ctx context.Context) ([]string, error) {
	return get(ctx, r, func(v statement.View) ([]string, error) { return load.PendingOrgs(v, "", load.NextOrg) })
}
