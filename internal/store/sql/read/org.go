package read

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var orgsAfter = statement.Read(load.OrgSelect + "o.id > ? ORDER BY o.id LIMIT ?")

// OrgByID implements [store.Reader].
func (r *Reader) OrgByID(ctx context.Context, id string) (*perdure.Org, error) {
	var o *perdure.Org
	err := r.read(ctx, func(v statement.View) (err error) {
		if o, err = load.Org(v, id); err == nil && o == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no org %q", id)
		}
		return err
	})
	return o, err
}

// OrgList implements [store.Reader].
func (r *Reader) OrgList(ctx context.Context, after string, limit int) (all []*perdure.Org, err error) {
	err = r.read(ctx, func(v statement.View) error {
		return v.Each(orgsAfter, []any{after, limit}, func(row func(...any) error) error {
			var o perdure.Org
			err := row(load.OrgRows.Scan(nil, &o)...)
			all = append(all, &o)
			return err
		})
	})
	return all, err
}
