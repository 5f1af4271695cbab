package perdure

import "slices"

// askingBoth combines j, in which a rule of the definition asks, with the rule `start`, which asks
// about the same call. The question must satisfy both rules. It needs the larger number of votes,
// from voters whom both rules permit, and expires at the earlier time. If the rules permit no
// common voter, the call is denied.
func (j Judgement) askingBoth(start *ApprovalRule) Judgement {
	rule := *j.Rule
	rule.Needed = max(rule.Needed, start.Needed)
	rule.NotAsker = rule.NotAsker || start.NotAsker
	if start.Edit.rank() < rule.Edit.rank() {
		rule.Edit = start.Edit
	}
	if start.terms().NoGrants {
		rule.Grants = start.Grants
	}
	if rule.Reason == "" {
		rule.Reason = start.Reason
	}
	rule.Expires = shorter(rule, *start)
	switch {
	case len(rule.By) == 0:
		rule.By = start.By
	case len(start.By) > 0:
		rule.By = slices.DeleteFunc(slices.Clone(rule.By), func(who string) bool { return !slices.Contains(start.By, who) })
		if len(rule.By) == 0 {
			rule.Then, rule.Reason = ApprovalDeny, "the policies of the definition and of the start name no voter in common"
			return Judgement{Then: ApprovalDeny, Rule: &rule, Number: -1}
		}
	}
	return Judgement{Then: ApprovalAsk, Rule: &rule, Number: j.Number}
}

// shorter returns the shorter of the two rules' Expires.
func shorter(a, b ApprovalRule) string {
	lifeA, errA := a.Life()
	lifeB, errB := b.Life()
	if errA != nil || errB != nil || lifeB == 0 || lifeA != 0 && lifeA <= lifeB {
		return a.Expires
	}
	return b.Expires
}
