package perdure

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// GrantScope is the set of runs that a grant is for.
type GrantScope string

const (
	// GrantRun is the run whose question was answered.
	GrantRun GrantScope = "run"
	// GrantDefinition is every run of the definition of that run. Only admin keys grant it.
	GrantDefinition GrantScope = "definition"
)

// GrantMatch is the set of calls that a grant is for.
type GrantMatch string

const (
	// GrantExact is for calls of the same tool with the same arguments, byte by byte.
	GrantExact GrantMatch = "exact"
	// GrantTool is for every call of the same tool.
	GrantTool GrantMatch = "tool"
)

const (
	// GrantLife is the time after which a grant ends if the voter names none.
	GrantLife = 30 * 24 * time.Hour
	// MaxGrants is the maximum number of grants of a run, and of a definition, at one time.
	MaxGrants = 100
	// AnsweredByGrant is Answer.By of a question that a grant has answered.
	AnsweredByGrant = "grant"
)

// Remember asks that an approval also answers later questions about such calls.
type Remember struct {
	Scope GrantScope `json:"scope"`
	Match GrantMatch `json:"match"`
	// Until is the end of the grant; nil means GrantLife from now.
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

// Same reports whether two votes ask for the same grant.
func (r *Remember) Same(other *Remember) bool {
	if r == nil || other == nil {
		return r == other
	}
	sameEnd := r.Until == nil && other.Until == nil || r.Until != nil && other.Until != nil && r.Until.Equal(other.Until.Time)
	return r.Scope == other.Scope && r.Match == other.Match && sameEnd
}

// ApprovalGrant answers later approvals. It is created by the votes that approve a question, if all
// of them ask for it.
type ApprovalGrant struct {
	ID    uuid.UUID  `json:"id"`
	Scope GrantScope `json:"scope"`
	Match GrantMatch `json:"match"`
	// ExecutionID is set for the scope run, DefinitionID for the scope definition.
	ExecutionID  *uuid.UUID `json:"agentExecutionId,omitempty"`
	DefinitionID *uuid.UUID `json:"agentDefinitionId,omitempty"`
	// Subject is the tool.
	Subject string `json:"subject"`
	// DetailsSHA256 is the hash of the call, as DetailsHash returns it; zero for the match tool.
	DetailsSHA256 Hash `json:"detailsSha256,omitzero"`
	// QuestionID is the question whose approval created the grant.
	QuestionID uuid.UUID `json:"questionId"`
	// Voters are the names of those who approved it.
	Voters []string `json:"voters"`
	// Needed and By are the terms of the question whose votes created the grant. The grant answers
	// no question that needs more votes, or other voters.
	Needed    int      `json:"needed"`
	By        []string `json:"by,omitempty"`
	CreatedAt Time     `json:"createdAt"`
	ExpiresAt Time     `json:"expiresAt"`

	Org string `json:"-"`
}

// Answers reports whether the grant answers a question at a moment. The question must be of the run
// or definition of the grant.
func (g *ApprovalGrant) Answers(q NewQuestion, now Time) bool {
	switch {
	case q.Kind != QuestionApproval || q.Subject != g.Subject || !q.Grantable() || !g.ExpiresAt.After(now.Time):
		return false
	case g.Match == GrantExact && g.DetailsSHA256 != q.DetailsSHA256:
		return false
	}
	return g.Needed >= q.Votes() && votersWithin(g.By, q.By)
}

// Grantable reports whether the answer to the question can be remembered, and can come from a grant.
// A question that excludes its asker is answered each time: the asker of another run may be among
// those who granted it.
func (t QuestionTerms) Grantable() bool {
	return t.Kind == QuestionApproval && t.Subject != "" && !t.NoGrants && !t.NotAsker
}

// votersWithin reports whether everyone that inner names may vote by outer. An empty list names
// everyone.
func votersWithin(inner, outer []string) bool {
	return len(outer) == 0 || len(inner) > 0 && !slices.ContainsFunc(inner, func(who string) bool { return !slices.Contains(outer, who) })
}
