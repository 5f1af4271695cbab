package engine

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// orgTTL is how long a cached org is used without reading the store. With keyTTL and the interval
// between two checks of an open stream, it ensures that a disabled org is refused everywhere within
// five seconds.
const orgTTL = time.Second

// maxCachedOrgs bounds the cache; a full cache is emptied.
const maxCachedOrgs = 10_000

// orgCache caches orgs that were looked up lately.
type orgCache struct {
	mu    sync.Mutex // guards known
	known map[string]cachedOrg
	reads sharedReads[string, cachedOrg]
}

type cachedOrg struct {
	org   *perdure.Org // nil if the org does not exist
	until time.Time
}

// Org returns an org; the row is at most a second old. Error: not_found.
func (e *Engine) Org(ctx context.Context, id string) (*perdure.Org, error) {
	e.orgs.mu.Lock()
	cached, ok := e.orgs.known[id]
	e.orgs.mu.Unlock()
	if now := time.Now(); !ok || now.After(cached.until) {
		// Every request of an org needs its row: after the TTL, one read serves all waiting
		// requests.
		var err error
		if cached, err = e.orgs.reads.get(ctx, id, func(ctx context.Context) (cachedOrg, error) { return e.readOrg(ctx, id, now) }); err != nil {
			return nil, err
		}
	}
	if cached.org == nil {
		return nil, noOrg(id)
	}
	return cached.org, nil
}

// readOrg reads an org and caches it.
func (e *Engine) readOrg(ctx context.Context, id string, now time.Time) (cachedOrg, error) {
	org, err := e.Store.OrgByID(ctx, id)
	if err != nil && !perdure.IsCode(err, perdure.NotFound) {
		return cachedOrg{}, err
	}
	cached := cachedOrg{org: org, until: now.Add(orgTTL)}
	e.orgs.remember(id, cached)
	return cached, nil
}

func noOrg(id string) error {
	return perdure.Errorf(perdure.NotFound, "there is no org %q; perdure orgs list shows those that there are", id)
}

func (c *orgCache) remember(id string, o cachedOrg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCachedOrgs {
		c.known = map[string]cachedOrg{}
	}
	c.known[id] = o
}

// OrgWorks checks that the org is not disabled. An org without a row is enabled, because programs
// that embed the engine need no rows. Error: permission_denied.
func (e *Engine) OrgWorks(ctx context.Context, id string) error {
	org, err := e.Org(ctx, id)
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

// claims reports whether the org's executions and tasks may be claimed. If the store does not
// answer, they may.
func (e *Engine) claims(ctx context.Context, org string) bool {
	return !perdure.IsCode(e.OrgWorks(ctx, org), perdure.PermissionDenied)
}

// Orgs returns at most limit orgs whose ids come after the given one, in the order of the ids.
func (e *Engine) Orgs(ctx context.Context, after string, limit int) ([]*perdure.Org, error) {
	return e.Store.OrgList(ctx, after, limit)
}

// CreateOrg creates an org. Errors: invalid_argument, already_exists.
func (e *Engine) CreateOrg(ctx context.Context, id string) (*perdure.Org, error) {
	if err := perdure.CheckOrgID(id); err != nil {
		return nil, err
	}
	return e.changeOrg(ctx, id, perdure.AuditOrgCreated, func(now perdure.Time, o *perdure.Org) (*perdure.Org, error) {
		if o != nil {
			return nil, perdure.Errorf(perdure.AlreadyExists, "the org %q exists already", id)
		}
		return &perdure.Org{ID: id, CreatedAt: now}, nil
	})
}

// DisableOrg disables an org: within five seconds, every server refuses the org's keys, ends its
// streams and stops its claims. The org's data is kept. Error: not_found.
func (e *Engine) DisableOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return e.changeOrg(ctx, id, perdure.AuditOrgDisabled, func(now perdure.Time, o *perdure.Org) (*perdure.Org, error) {
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
func (e *Engine) EnableOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return e.changeOrg(ctx, id, perdure.AuditOrgEnabled, func(_ perdure.Time, o *perdure.Org) (*perdure.Org, error) {
		if o == nil {
			return nil, noOrg(id)
		}
		o.DisabledAt = nil
		return o, nil
	})
}

// changeOrg stores the org that change returns, with a record in the org's audit log if anything
// differs.
func (e *Engine) changeOrg(ctx context.Context, id string, action perdure.AuditAction, change func(perdure.Time, *perdure.Org) (*perdure.Org, error)) (*perdure.Org, error) {
	by := changed{actor: store.ActorOf(ctx), org: id, action: action}
	d, err := e.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: id,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Org: true} },
		Decide: func(s *store.State) (*store.Changes, error) {
			before := copyOrg(s.Org)
			after, err := change(s.Now, s.Org)
			if err != nil {
				return nil, err
			}
			answer := &decided{value: after}
			if before != nil && (before.DisabledAt == nil) == (after.DisabledAt == nil) {
				return &store.Changes{Answer: answer}, nil
			}
			return &store.Changes{Org: after, Audit: by.orgRow(s.Now, before, after), Answer: answer}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	org := d.value.(*perdure.Org)
	e.orgs.remember(id, cachedOrg{org: org, until: time.Now().Add(orgTTL)})
	return org, nil
}

func copyOrg(o *perdure.Org) *perdure.Org {
	if o == nil {
		return nil
	}
	c := *o
	return &c
}
