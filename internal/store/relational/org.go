package relational

import (
	"context"

	"github.com/perdure/perdure"
)

var orgTable = table{name: "org", key: 1, columns: []string{"id", "created_at", "disabled_at"}}

var (
	upsertOrg = orgTable.upsertSQL()
	orgSelect = "SELECT " + orgTable.list("o") + " FROM org o WHERE "
	orgByID   = orgSelect + "o.id = ?"
	orgsAfter = orgSelect + "o.id > ? ORDER BY o.id LIMIT ?"
)

func putOrg(v view, o *perdure.Org) error {
	return v.write(upsertOrg, o.ID, millis(o.CreatedAt), optMillis(o.DisabledAt))
}

func orgScan(o *perdure.Org) []any {
	return []any{&o.ID, (*timeCol)(&o.CreatedAt), optTime{&o.DisabledAt}}
}

// loadOrg returns the org with that id; nil if there is none.
func loadOrg(v view, id string) (*perdure.Org, error) {
	var o perdure.Org
	found, err := v.one(orgByID, []any{id}, orgScan(&o)...)
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
			err := row(orgScan(&o)...)
			all = append(all, &o)
			return err
		})
	})
	return all, err
}
