package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var grantTests = map[string]func(*fixture){
	"every field of a grant comes back":                      grantFields,
	"a command sees the grants of its run and definition":    grantsSeen,
	"grants are listed newest first, page by page":           grantsListed,
	"a grant of another execution than the command's fails":  grantElsewhere,
	"a deleted grant is gone, one of another org is not":     grantDropped,
	"expired grants are not seen and are deleted by the new": grantsExpire,
	"the grants of an execution and a definition go with it": grantsDeleted,
}

// grant returns a new approval grant of an execution. The grant is not stored. The functions in
// `edit` may change it before it is returned.
func (f *fixture) grant(execution uuid.UUID, edit ...func(*perdure.ApprovalGrant)) *perdure.ApprovalGrant {
	g := &perdure.ApprovalGrant{
		ID: uuid.Must(uuid.NewV7()), Org: org, Scope: perdure.GrantRun, Match: perdure.GrantTool, ExecutionID: &execution, Subject: "bash",
		QuestionID: uuid.New(), Voters: []string{"ada"}, Needed: 1, CreatedAt: milestone(1), ExpiresAt: f.ago(-time.Hour),
	}
	for _, change := range edit {
		change(g)
	}
	return g
}

// grantTo stores approval grants. It runs one command on the execution for each grant.
func (f *fixture) grantTo(execution uuid.UUID, grants ...*perdure.ApprovalGrant) {
	f.Helper()
	for _, g := range grants {
		f.do(store.Command{Lane: store.LaneCommits, Org: org, Execution: execution, Decide: func(*store.State) (*store.Changes, error) {
			return &store.Changes{Grant: g}, nil
		}})
	}
}

func ofDefinition(id uuid.UUID) func(*perdure.ApprovalGrant) {
	return func(g *perdure.ApprovalGrant) {
		g.Scope, g.ExecutionID, g.DefinitionID = perdure.GrantDefinition, nil, &id
	}
}

// startOf stores a definition and starts an execution of it.
func (f *fixture) startOf() (execution, definition uuid.UUID) {
	f.Helper()
	d := wholeDefinition(org, "granted")
	f.must(f.outside(org, store.Changes{Definition: d}))
	definition = d.ID
	return f.start(func(x *perdure.Execution) { x.DefinitionID = &definition }), definition
}

func grantFields(f *fixture) {
	x, d := f.startOf()
	exact := f.grant(x, func(g *perdure.ApprovalGrant) {
		g.Match, g.DetailsSHA256 = perdure.GrantExact, perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte("{}"))
		g.Needed, g.Voters, g.By = 2, []string{"ada", "bob"}, []string{"admin", "approver"}
	})
	wide := f.grant(x, ofDefinition(d))
	f.grantTo(x, exact, wide)
	f.equal("the grants decided on", f.look(x, store.Needs{Grants: true}).Grants, []*perdure.ApprovalGrant{exact, wide})
	f.equal("the grant decided on", f.look(uuid.Nil, store.Needs{Grant: &exact.ID}).Grant, exact)
	page, err := f.s.Grants(f.ctx, store.GrantFilter{Org: org, Now: f.s.Now()})
	f.must(err)
	f.equal("the list", page.Items, []*perdure.ApprovalGrant{wide, exact})
}

func grantsSeen(f *fixture) {
	x, d := f.startOf()
	y := f.start()
	z := f.start(func(z *perdure.Execution) { z.DefinitionID = &d })
	mine, wide, other := f.grant(x), f.grant(x, ofDefinition(d)), f.grant(y)
	f.grantTo(x, mine, wide)
	f.grantTo(y, other)
	f.equal("without a request", len(f.look(x, store.Needs{}).Grants), 0)
	f.equal("the grants of the run", f.look(x, store.Needs{Grants: true, ChangeGrants: true}).Grants, []*perdure.ApprovalGrant{mine, wide})
	f.equal("those of another run of the definition", f.look(z, store.Needs{Grants: true}).Grants, []*perdure.ApprovalGrant{wide})
	f.equal("those of a run without a definition", f.look(y, store.Needs{Grants: true}).Grants, []*perdure.ApprovalGrant{other})
}

func grantsListed(f *fixture) {
	x, d := f.startOf()
	var all []uuid.UUID
	for range 5 {
		g := f.grant(x)
		f.grantTo(x, g)
		all = append([]uuid.UUID{g.ID}, all...)
	}
	wide := f.grant(x, ofDefinition(d))
	f.grantTo(x, wide)
	listed := func(filter store.GrantFilter) (ids []uuid.UUID) {
		filter.Org, filter.Now = org, f.s.Now()
		for {
			page, err := f.s.Grants(f.ctx, filter)
			f.must(err)
			for _, g := range page.Items {
				ids = append(ids, g.ID)
			}
			if filter.Cursor = page.Next; filter.Cursor == "" {
				return ids
			}
		}
	}
	f.equal("the list", listed(store.GrantFilter{Limit: 2}), append([]uuid.UUID{wide.ID}, all...))
	f.equal("the list of the run", listed(store.GrantFilter{Limit: 2, ExecutionID: &x}), all)
	f.equal("the list of the definition", listed(store.GrantFilter{DefinitionID: &d}), []uuid.UUID{wide.ID})
	page, err := f.s.Grants(f.ctx, store.GrantFilter{Org: "other", ExecutionID: &x, Now: f.s.Now()})
	f.must(err)
	f.equal("the list of another org", len(page.Items), 0)
	_, err = f.s.Grants(f.ctx, store.GrantFilter{Org: org, Cursor: "no cursor"})
	f.wantCode(err, perdure.InvalidArgument)
}

func grantElsewhere(f *fixture) {
	x, y := f.start(), f.start()
	_, err := f.s.Do(f.ctx, store.Command{Lane: store.LaneCommits, Org: org, Execution: x, Decide: func(*store.State) (*store.Changes, error) {
		return &store.Changes{Grant: f.grant(y)}, nil
	}})
	if err == nil {
		f.Error("a command wrote a grant of another execution")
	}
}

func grantDropped(f *fixture) {
	x := f.start()
	a, b := f.grant(x), f.grant(x)
	f.grantTo(x, a, b)
	f.must(f.outside("other", store.Changes{DropGrant: &a.ID}))
	f.equal("the grant after a delete by another org", f.look(uuid.Nil, store.Needs{Grant: &a.ID}).Grant, a)
	f.must(f.outside(org, store.Changes{DropGrant: &a.ID}))
	f.equal("the deleted grant", f.look(uuid.Nil, store.Needs{Grant: &a.ID}).Grant, (*perdure.ApprovalGrant)(nil))
	f.equal("the other grant", f.look(x, store.Needs{Grants: true}).Grants, []*perdure.ApprovalGrant{b})
}

func grantsExpire(f *fixture) {
	x, d := f.startOf()
	over := func(g *perdure.ApprovalGrant) { g.ExpiresAt = f.ago(time.Hour) }
	old, wide := f.grant(x, over), f.grant(x, ofDefinition(d), over)
	f.grantTo(x, old, wide)
	f.equal("the grants", len(f.look(x, store.Needs{Grants: true}).Grants), 0)
	f.equal("the grant", f.look(uuid.Nil, store.Needs{Grant: &old.ID}).Grant, (*perdure.ApprovalGrant)(nil))
	page, err := f.s.Grants(f.ctx, store.GrantFilter{Org: org, Now: f.s.Now()})
	f.must(err)
	f.equal("the list", len(page.Items), 0)
	// At this earlier time, the grants had not expired. So the list contains all stored grants.
	before := store.GrantFilter{Org: org, Now: f.ago(2 * time.Hour)}
	page, err = f.s.Grants(f.ctx, before)
	f.must(err)
	f.equal("the rows", len(page.Items), 2)
	fresh, wider := f.grant(x), f.grant(x, ofDefinition(d))
	f.grantTo(x, fresh, wider)
	page, err = f.s.Grants(f.ctx, before)
	f.must(err)
	f.equal("the rows after new ones", page.Items, []*perdure.ApprovalGrant{wider, fresh})
}

func grantsDeleted(f *fixture) {
	x, d := f.startOf()
	f.grantTo(x, f.grant(x), f.grant(x, ofDefinition(d)))
	f.endExecution(x, milestone(6))
	f.prune(x, store.Prune{Execution: true})
	f.drop(10)
	count := func() int {
		page, err := f.s.Grants(f.ctx, store.GrantFilter{Org: org, Now: f.s.Now()})
		f.must(err)
		return len(page.Items)
	}
	f.equal("the grants after the execution", count(), 1)
	f.must(f.outside(org, store.Changes{DeleteDefinition: &d}))
	f.equal("the grants after the definition", count(), 0)
}
