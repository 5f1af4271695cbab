package rest

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
)

// policyOf parses an approval policy from a request body. The JSON is a list of rules, or the
// name of a predefined policy. Errors: invalid_argument, which names the invalid member.
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

// policiesOf returns the approval policies with which an execution was started, or nil if every
// call is allowed. The react agent's policies are part of its input. If that input is not loaded,
// because it is large or on a worker that is not connected, policiesOf returns nil, too.
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
