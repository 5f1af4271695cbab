package tenants

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/sharedread"
	"github.com/perdure/perdure/internal/store"
)

// OrgTTL is how long a cached org is used without reading the store. Together with keyTTL and the
// interval between two checks of an open stream, it ensures that every server refuses a disabled
// org within five seconds.
const OrgTTL = time.Second

// orgCache caches orgs that were looked up lately.
type orgCache struct {
	rowCache[string, perdure.Org]
	reads sharedread.Reads[string, *perdure.Org]
}

// Org returns an org, from a cache or the store. The result is at most a second old. Error:
// not_found.
func (t *Tenants) Org(ctx context.Context, id string) (*perdure.Org, error) {
	now := time.Now()
	org, ok := t.orgs.get(id, now)
	if !ok {
		// Every request needs the row of its org. When the cached row has expired, one read serves
		// all waiting requests.
		var err error
		if org, err = t.orgs.reads.Get(ctx, id, func(ctx context.Context) (*perdure.Org, error) { return t.readOrg(ctx, id, now) }); err != nil {
			return nil, err
		}
	}
	if org == nil {
		return nil, noOrg(id)
	}
	return org, nil
}

// readOrg reads an org and caches it. It returns nil if there is none.
func (t *Tenants) readOrg(ctx context.Context, id string, now time.Time) (*perdure.Org, error) {
	org, err := t.store.OrgByID(ctx, id)
	if err != nil && !perdure.IsCode(err, perdure.NotFound) {
		return nil, err
	}
	t.orgs.remember(id, org, now.Add(OrgTTL))
	return org, nil
}

func noOrg(id string) error {
	return perdure.Errorf(perdure.NotFound, "there is no org %q; perdure orgs list shows those that there are", id)
}

// OrgWorks returns nil if the org is enabled. An org without a row is enabled, so that a program
// that embeds the engine need not create orgs. Error: permission_denied.
func (t *Tenants) OrgWorks(ctx context.Context, id string) error {
	org, err := t.Org(ctx, id)
	switch {
	case perdure.IsCode(err, perdure.NotFound):
		return nil
	case err != nil:
		return err
	case org.DisabledAt != nil:
		return perdure.Errorf(perdure.PermissionDenied, "the org %q is disabled; an operator enables it with perdure orgs enable %s", id, id)
	}
	return nil
}

// Claims reports whether the org's executions and tasks may be claimed. It returns true if the org
// cannot be read.
func (t *Tenants) Claims(ctx context.Context, org string) bool {
	return !perdure.IsCode(t.OrgWorks(ctx, org), perdure.PermissionDenied)
}

// Orgs returns at most `limit` orgs in the order of their ids, beginning after the id `after`.
func (t *Tenants) Orgs(ctx context.Context, after string, limit int) ([]*perdure.Org, error) {
	return t.store.OrgList(ctx, after, limit)
}

// CreateOrg creates an org. Errors: invalid_argument, already_exists.
func (t *Tenants) CreateOrg(ctx context.Context, id string) (*perdure.Org, error) {
	if err := perdure.CheckOrgID(id); err != nil {
		return nil, err
	}
	return t.changeOrg(ctx, id, perdure.AuditOrgCreated, func(now perdure.Time, o *perdure.Org) (*perdure.Org, error) {
		if o != nil {
			return nil, perdure.Errorf(perdure.AlreadyExists, "the org %q exists already", id)
		}
		return &perdure.Org{ID: id, CreatedAt: now}, nil
	})
}

// DisableOrg disables an org: within five seconds, every server refuses the org's keys, ends its
// streams and stops its claims. The org's data is kept. Error: not_found.
func (t *Tenants) DisableOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return t.changeOrg(ctx, id, perdure.AuditOrgDisabled, func(now perdure.Time, o *perdure.Org) (*perdure.Org, error) {
		if o == nil {
			return nil, noOrg(id)
		}
		if o.DisabledAt == nil {
			o.DisabledAt = &now
		}
		return o, nil
	})
}

// EnableOrg enables a disabled org again, with the same keys. Error: not_found.
func (t *Tenants) EnableOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return t.changeOrg(ctx, id, perdure.AuditOrgEnabled, func(_ perdure.Time, o *perdure.Org) (*perdure.Org, error) {
		if o == nil {
			return nil, noOrg(id)
		}
		o.DisabledAt = nil
		return o, nil
	})
}

// changeOrg stores the org that the function `change` returns. If this org differs from the stored
// one, changeOrg also writes an audit record.
func (t *Tenants) changeOrg(ctx context.Context, id string, action perdure.AuditAction, change func(perdure.Time, *perdure.Org) (*perdure.Org, error)) (*perdure.Org, error) {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: id, Action: action}
	value, err := t.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: id,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Org: true} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.ChangeOrg(s, by, change) },
	})
	if err != nil {
		return nil, err
	}
	org := value.(*perdure.Org)
	t.orgs.remember(id, org, time.Now().Add(OrgTTL))
	return org, nil
}
