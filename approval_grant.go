package perdure

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// GrantScope says for which runs a grant (a remembered approval) answers questions.
type GrantScope string

const (
	// GrantRun limits a grant to the run whose question was answered.
	GrantRun GrantScope = "run"
	// GrantDefinition extends a grant to every run of the same definition. Only admin keys can
	// create such a grant.
	GrantDefinition GrantScope = "definition"
)

// GrantMatch says for which tool calls a grant (a remembered approval) answers questions.
type GrantMatch string

const (
	// GrantExact limits a grant to calls of the same tool with the same arguments, byte by byte.
	GrantExact GrantMatch = "exact"
	// GrantTool extends a grant to every call of the same tool.
	GrantTool GrantMatch = "tool"
)

const (
	// GrantLife is the time after which a grant ends if the voter sets no end.
	GrantLife = 30 * 24 * time.Hour
	// MaxGrants is the maximum number of grants that a run, or a definition, has at one time.
	MaxGrants = 100
	// AnsweredByGrant is the value of Answer.By if a grant has answered the question.
	AnsweredByGrant = "grant"
)

// Remember is the part of an approving vote that requests a grant: the approval shall also answer
// later questions about the calls that Scope and Match describe.
type Remember struct {
	Scope GrantScope `json:"scope"`
	Match GrantMatch `json:"match"`
	// Until is the end of the grant; nil means GrantLife after the approval.
	Until *Time `json:"until,omitempty"`
}

// Check returns an error if the request is invalid. Errors: invalid_argument.
func (r Remember) Check(at string, now Time) error {
	switch {
	case r.Scope != GrantRun && r.Scope != GrantDefinition:
		return FieldErrorf(at+".scope", "%q must be run or definition", r.Scope)
	case r.Match != GrantExact && r.Match != GrantTool:
		return FieldErrorf(at+".match", "%q must be exact or tool", r.Match)
	case r.Until != nil && !r.Until.After(now.Time):
		return FieldErrorf(at+".until", "must be in the future")
	case r.Until != nil && r.Until.After(now.Add(MaxQuestionLife).Time):
		return FieldErrorf(at+".until", "must be within %d days from now", int(MaxQuestionLife.Hours()/24))
	}
	return nil
}

// Same reports whether two requests ask for the same grant.
func (r *Remember) Same(other *Remember) bool {
	if r == nil || other == nil {
		return r == other
	}
	sameEnd := r.Until == nil && other.Until == nil || r.Until != nil && other.Until != nil && r.Until.Equal(other.Until.Time)
	return r.Scope == other.Scope && r.Match == other.Match && sameEnd
}

// ApprovalGrant is a remembered approval that answers later approval questions. It is created when a
// question is approved and each of the approving votes has asked for it.
type ApprovalGrant struct {
	ID    uuid.UUID  `json:"id"`
	Scope GrantScope `json:"scope"`
	Match GrantMatch `json:"match"`
	// ExecutionID is set if the scope is run, and DefinitionID if the scope is definition.
	ExecutionID  *uuid.UUID `json:"agentExecutionId,omitempty"`
	DefinitionID *uuid.UUID `json:"agentDefinitionId,omitempty"`
	// Subject is the name of the tool.
	Subject string `json:"subject"`
	// DetailsSHA256 is the hash that DetailsHash returns for the approved call. It is zero if the grant
	// matches every call of the tool.
	DetailsSHA256 Hash `json:"detailsSha256,omitzero"`
	// QuestionID is the question whose approval created the grant.
	QuestionID uuid.UUID `json:"questionId"`
	// Voters are the names of the keys that approved the question.
	Voters []string `json:"voters"`
	// Needed and By are the terms of the question whose votes created the grant. The grant answers
	// no question that needs more votes than Needed, or that does not permit all voters whom By
	// permits.
	Needed    int      `json:"needed"`
	By        []string `json:"by,omitempty"`
	CreatedAt Time     `json:"createdAt"`
	ExpiresAt Time     `json:"expiresAt"`

	Org string `json:"-"`
}

// Answers reports whether the grant answers the question q at the time `now`. The question must
// belong to the run or definition of the grant.
func (g *ApprovalGrant) Answers(q NewQuestion, now Time) bool {
	switch {
	case q.Kind != QuestionApproval || q.Subject != g.Subject || !q.Grantable() || !g.ExpiresAt.After(now.Time):
		return false
	case g.Match == GrantExact && g.DetailsSHA256 != q.DetailsSHA256:
		return false
	}
	return g.Needed >= q.Votes() && votersWithin(g.By, q.By)
}

// Grantable reports whether an approval of the question can be remembered as a grant, and whether a
// grant can answer the question. It is false for a question with NotAsker, which excludes the vote
// of the asker: in a later run, a voter who approved the grant may be the asker.
func (t QuestionTerms) Grantable() bool {
	return t.Kind == QuestionApproval && t.Subject != "" && !t.NoGrants && !t.NotAsker
}

// votersWithin reports whether the list `outer` permits everyone whom the list `inner` permits to
// vote. An empty list permits everyone.
func votersWithin(inner, outer []string) bool {
	return len(outer) == 0 || len(inner) > 0 && !slices.ContainsFunc(inner, func(who string) bool { return !slices.Contains(outer, who) })
}
