package questions

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Freeze checks the policies about tool calls of a new execution. It returns the gate: the part of
// the policies that the server stores with the execution and enforces. The gate is nil if every
// call is allowed. Errors: invalid_argument.
func (s *Questions) Freeze(ctx context.Context, a perdure.Approvals) (*perdure.Gate, error) {
	if err := s.CheckPolicy("approvals", a.Start); err != nil {
		return nil, err
	}
	gate := a.Gate()
	if gate == nil {
		return nil, nil
	}
	if err := s.checkVoters(ctx, a); err != nil {
		return nil, err
	}
	return gate, nil
}

// CheckPolicy checks the policy about tool calls of a definition or a start, and the schemas in it.
// The parameter `at` names the policy in the texts of errors.
func (s *Questions) CheckPolicy(at string, p perdure.ApprovalPolicy) error {
	if err := p.Check(at); err != nil {
		return err
	}
	for i, r := range p {
		if err := s.kinds.Schemas.CheckRegistered(fmt.Sprintf("%s[%d].when", at, i), "the rule", r.When); err != nil {
			return err
		}
	}
	return nil
}

// checkVoters refuses policies that require a second person if the server has no API key, of any org
// and role. Without a key, only the token of the data directory can vote, and only once.
func (s *Questions) checkVoters(ctx context.Context, a perdure.Approvals) error {
	several := func(r perdure.ApprovalRule) bool { return r.Needed > 1 || r.NotAsker }
	if !slices.ContainsFunc(a.Definition, several) && !slices.ContainsFunc(a.Start, several) {
		return nil
	}
	any, err := s.store.AnyKey(ctx)
	if err != nil || any {
		return err
	}
	return perdure.FieldErrorf("approvals", "ask for a second person, and there is no API key: only the owner of the data directory could answer. Create keys (perdure keys create), or lower needed and notAsker")
}
