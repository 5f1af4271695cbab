package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// checkRemember checks that the vote may create a grant, and that the execution or the definition
// has room for another grant. Errors: invalid_argument, permission_denied.
func (v NewVote) checkRemember(s *store.State, q *perdure.Question) error {
	r := v.Remember
	switch {
	case v.Verdict != perdure.VerdictApprove:
		return perdure.FieldErrorf("remember", "stands only beside the verdict approve")
	case v.Edit != nil || q.Edited():
		return perdure.FieldErrorf("remember", "stands only beside unchanged details: the run did not ask about the changed ones")
	case q.Kind != perdure.QuestionApproval || q.Subject == "":
		return perdure.FieldErrorf("remember", "is for approvals of tool calls; this question is of kind %s", q.Kind)
	case q.NotAsker:
		return perdure.FieldErrorf("remember", "is not possible: this question excludes its asker, so it is answered each time")
	case q.Withheld != nil:
		return perdure.FieldErrorf("remember", "is not possible: the content of this question is on the worker of a LOCAL run; such questions are answered each time")
	case q.NoGrants:
		return perdure.FieldErrorf("remember", "is not possible: the rule of this question has grants: false")
	}
	if err := r.Check("remember", s.Now); err != nil {
		return err
	}
	if r.Scope == perdure.GrantDefinition {
		if v.Role != perdure.KeyAdmin {
			return perdure.Errorf(perdure.PermissionDenied, "%s may not grant for a definition: only admin keys may; use the scope run", v.Name)
		}
		if s.Execution.DefinitionID == nil {
			return perdure.FieldErrorf("remember.scope", "must be run: execution %s has no definition", s.Execution.ID)
		}
	}
	return checkGrantRoom(s, r.Scope)
}

func checkGrantRoom(s *store.State, scope perdure.GrantScope) error {
	n := 0
	for _, g := range s.Grants {
		if g.Scope == scope {
			n++
		}
	}
	if n >= perdure.MaxGrants {
		return perdure.FieldErrorf("remember", "is not possible: the %s has %d grants, and no more are allowed; revoke some (perdure grants)", scope, n)
	}
	return nil
}

// grant returns the grant that the vote creates; nil if not all votes on the question ask for the
// same grant. The vote must be the one that decides the question.
func (v NewVote) grant(s *store.State, q *perdure.Question) *perdure.ApprovalGrant {
	if v.Remember == nil {
		return nil
	}
	g := &perdure.ApprovalGrant{
		ID: v.GrantID, Org: q.Org, Scope: v.Remember.Scope, Match: v.Remember.Match, Subject: q.Subject, QuestionID: q.ID,
		Needed: q.QuestionTerms.Votes(), By: q.By, CreatedAt: s.Now, ExpiresAt: s.Now.Add(perdure.GrantLife),
	}
	for _, vote := range q.Votes {
		if !vote.Remember.Same(v.Remember) {
			return nil
		}
		g.Voters = append(g.Voters, vote.Name)
	}
	if v.Remember.Until != nil {
		g.ExpiresAt = *v.Remember.Until
	}
	if g.Match == perdure.GrantExact {
		g.DetailsSHA256 = q.DetailsSHA256
	}
	if id := s.Execution.ID; g.Scope == perdure.GrantRun {
		g.ExecutionID = &id
	} else {
		g.DefinitionID = s.Execution.DefinitionID
	}
	return g
}

// grantFor returns the oldest grant that answers a new question; nil if there is none.
func (d *draft) grantFor(n perdure.NewQuestion) *perdure.ApprovalGrant {
	for _, g := range d.s.Grants {
		if g.Answers(n, d.s.Now) {
			return g
		}
	}
	return nil
}

// askGranted stores a new question together with its answer, which a grant gives. Such a question
// is never open.
func (d *draft) askGranted(q *perdure.Question, g *perdure.ApprovalGrant) {
	now := d.s.Now
	q.Status, q.DecidedAt, q.Answer = perdure.QuestionAnswered, &now, answerOf(g)
	d.x.NeedsFeatures |= perdure.FeatureQuestions
	d.question(q)
	d.questionEvent(perdure.EventQuestionAsked, q, askedMembers(q))
	d.grantedEvent(q, g)
}

// answerOpen answers those open questions of the execution that a new grant covers, and returns
// them. The state must contain the open questions. If the grant is nil, answerOpen does nothing.
func (d *draft) answerOpen(g *perdure.ApprovalGrant) (answered []*perdure.Question) {
	if g == nil {
		return nil
	}
	for _, q := range sortedQuestions(d.s.Questions) {
		asked := perdure.NewQuestion{QuestionTerms: q.QuestionTerms, DetailsSHA256: q.DetailsSHA256}
		if q.Status == perdure.QuestionOpen && !q.Edited() && g.Answers(asked, d.s.Now) {
			d.decide(q, perdure.QuestionAnswered, answerOf(g))
			d.grantedEvent(q, g)
			answered = append(answered, q)
		}
	}
	return answered
}

func answerOf(g *perdure.ApprovalGrant) *perdure.Answer {
	id := g.ID
	return &perdure.Answer{Verdict: perdure.VerdictApprove, By: perdure.AnsweredByGrant, GrantID: &id}
}

func (d *draft) grantedEvent(q *perdure.Question, g *perdure.ApprovalGrant) {
	d.questionEvent(perdure.EventQuestionAnswered, q, map[string]any{"verdict": perdure.VerdictApprove, "by": perdure.AnsweredByGrant, "grantId": g.ID})
}

// Revocation is a request to delete a grant.
type Revocation struct {
	Grant uuid.UUID
	// Role is the role of the caller.
	Role  perdure.KeyRole
	Actor perdure.Actor // for the audit log
}

// RevokeGrant deletes a grant. Questions that the grant has answered stay answered. Errors:
// not_found, permission_denied.
func RevokeGrant(s *store.State, r Revocation) (*store.Changes, error) {
	g := s.Grant
	if g == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no grant %s; it may have expired", r.Grant)
	}
	if g.Scope == perdure.GrantDefinition && r.Role != perdure.KeyAdmin {
		return nil, perdure.Errorf(perdure.PermissionDenied, "only admin keys may revoke a grant for a definition")
	}
	id := g.ID
	return &store.Changes{DropGrant: &id, Audit: &perdure.AuditRecord{
		At: s.Now, Actor: r.Actor, Action: perdure.AuditGrantRevoked, SubjectID: &id, SubjectName: g.Subject, Org: g.Org,
	}}, nil
}
