package storetest

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// orgFields checks that a written org is read unchanged, and that lists of orgs are ordered by id.
func orgFields(f *fixture) {
	first := &perdure.Org{ID: perdure.DefaultOrg, CreatedAt: milestone(0)}
	f.must(f.outside(first.ID, store.Changes{Org: first}))
	_, err := f.s.OrgByID(f.ctx, "acme")
	f.wantCode(err, perdure.NotFound)
	acme := perdure.Org{ID: "acme", CreatedAt: milestone(1)}
	f.must(f.outside("acme", store.Changes{Org: &acme}))
	acme.DisabledAt = ptr(milestone(2))
	f.must(f.outside("acme", store.Changes{Org: &acme}))
	got, err := f.s.OrgByID(f.ctx, "acme")
	f.must(err)
	f.equal("the org", got, &acme)
	all, err := f.s.OrgList(f.ctx, "", 10)
	f.must(err)
	f.equal("the orgs", all, []*perdure.Org{&acme, first})
	all, err = f.s.OrgList(f.ctx, "", 1)
	f.must(err)
	f.equal("the first org", all, []*perdure.Org{&acme})
	all, err = f.s.OrgList(f.ctx, "acme", 1)
	f.must(err)
	f.equal("the orgs after the first", all, []*perdure.Org{first})
}
