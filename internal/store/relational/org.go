package relational

import (
	"context"

	"github.com/perdure/perdure"
)

// orgs declares the rows of the table of orgs.
var orgs = newRows("org", 1, []field[perdure.Org]{
	textField("id", func(x *perdure.Org) *string { return &x.ID }),
	timeField("created_at", func(x *perdure.Org) *perdure.Time { return &x.CreatedAt }),
	optTimeField("disabled_at", func(x *perdure.Org) **perdure.Time { return &x.DisabledAt }),
})

var (
	upsertOrg = declare(orgs.upsertStatement())
	orgSelect = "SELECT " + orgs.list("o") + " FROM org o WHERE "
	orgByID   = read(orgSelect + "o.id = ?")
	orgsAfter = read(orgSelect + "o.id > ? ORDER BY o.id LIMIT ?")
)

func putOrg(v view, o *perdure.Org) error {
	return orgs.write(v, upsertOrg, o)
}

// loadOrg returns the org with that id; nil if there is none.
func loadOrg(v view, id string) (*perdure.Org, error) {
	var o perdure.Org
	found, err := v.one(orgByID, []any{id}, orgs.scan(nil, &o)...)
	if err != nil || !found {
		return nil, err
	}
	return &o, nil
}

// OrgByID implements [store.Reader].
func (r *Reader) OrgByID(ctx context.Context, id string) (*perdure.Org, error) {
	var o *perdure.Org
	err := r.read(ctx, func(v view) (err error) {
		if o, err = loadOrg(v, id); err == nil && o == nil {
			err = perdure.Errorf(perdure.NotFound, "there is no org %q", id)
		}
		return err
	})
	return o, err
}

// OrgList implements [store.Reader].
func (r *Reader) OrgList(ctx context.Context, after string, limit int) (all []*perdure.Org, err error) {
	err = r.read(ctx, func(v view) error {
		return v.each(orgsAfter, []any{after, limit}, func(row func(...any) error) error {
			var o perdure.Org
			err := row(orgs.scan(nil, &o)...)
			all = append(all, &o)
			return err
		})
	})
	return all, err
}
