package rest

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
)

// policyOf reads the policy about tool calls of a body: a list of rules, or the name of a ready
// policy. Errors: invalid_argument, which names the member at fault.
func policyOf(raw json.RawMessage) (perdure.ApprovalPolicy, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var p perdure.ApprovalPolicy
	switch raw[0] {
	case '"':
		return p, p.UnmarshalJSON(raw)
	case '[':
		var rules []perdure.ApprovalRule
		err := perdure.DecodeExactly("approvals", raw, &rules)
		return rules, err
	}
	return nil, perdure.FieldErrorf("approvals", "must be a list of rules, or one of %s", perdure.ReadyPolicies)
}

// policiesOf returns the policies about tool calls of an execution as of its start; nil if every call is
// allowed. Those of the react agent are part of its input: if the input is not shown, because it is large
// or on a worker that is away, policiesOf returns nil.
func policiesOf(x *perdure.Execution) *perdure.Approvals {
	if x.Gate == nil {
		return nil
	}
	a, err := x.Approvals()
	if err != nil || a.Gate() == nil {
		return nil
	}
	return &a
}
