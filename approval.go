package perdure

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ApprovalAction is the decision of a policy about a tool call: allow, ask or deny.
type ApprovalAction string

const (
	// ApprovalAllow runs the call.
	ApprovalAllow ApprovalAction = "allow"
	// ApprovalAsk asks a question of kind approval, and runs the call once it is approved.
	ApprovalAsk ApprovalAction = "ask"
	// ApprovalDeny does not run the call. The result of the call is an error.
	ApprovalDeny ApprovalAction = "deny"
)

// strictness returns a rank of the action; a higher rank allows less.
func (a ApprovalAction) strictness() int {
	switch a {
	case ApprovalAsk:
		return 1
	case ApprovalDeny:
		return 2
	case ApprovalAllow:
	}
	return 0
}

// ApprovalRule is one rule of a policy about tool calls.
type ApprovalRule struct {
	// Tools are names of tools. A name that ends in * matches every tool whose name begins with the
	// text before the *.
	Tools []string `json:"tools"`
	// When, if set, is a JSON Schema for an [ApprovalCall]. The rule applies only to calls that the
	// schema accepts.
	When json.RawMessage `json:"when,omitempty"`
	// Then is the action for a call to which the rule applies.
	Then ApprovalAction `json:"then"`
	// Requires is "" or "confined". With "confined", the call runs only on a worker that can
	// confine commands (run them in a sandbox). On another worker, the result of the call is an
	// error.
	Requires string `json:"requires,omitempty"`
	// Needed, NotAsker and By have the same meaning as the fields of QuestionTerms. The question that
	// the rule asks has these values.
	Needed   int      `json:"needed,omitempty"`
	NotAsker bool     `json:"notAsker,omitempty"`
	By       []string `json:"by,omitempty"`
	// Edit says who may change the arguments of the call while approving it.
	Edit EditRight `json:"edit,omitempty"`
	// Grants says whether an approval can be remembered for later calls. Nil means true. If it is
	// false, people are asked about every call.
	Grants *bool `json:"grants,omitempty"`
	// Expires is how long the question waits for an answer, as a Go duration such as "24h"; "" means
	// that it does not expire. An expired question denies the call.
	Expires string `json:"expires,omitempty"`
	// Reason is the text that people read beside the question, or that the model reads if the call
	// is denied.
	Reason string `json:"reason,omitempty"`
}

// ApprovalPolicy is a list of rules about tool calls. The first rule that applies to a call decides. In
// JSON it is a list of rules, or the name of a predefined policy.
type ApprovalPolicy []ApprovalRule

// RequiresConfined is the value of ApprovalRule.Requires that requires a worker that confines
// commands, that is, runs them in a sandbox.
const RequiresConfined = "confined"

// readyPolicies are the predefined policies, by the name that a definition or a start of an execution
// can use.
var readyPolicies = map[string]ApprovalPolicy{
	"allow": {{Tools: []string{"*"}, Then: ApprovalAllow}},
	"edits": {
		{Tools: []string{"bash"}, Then: ApprovalAsk},
		{Tools: []string{"read-file", "grep", "find", "write-file", "edit-file"}, Then: ApprovalAllow},
		{Tools: []string{"*"}, Then: ApprovalAsk},
	},
	"ask": {
		{Tools: []string{"read-file", "grep", "find"}, Then: ApprovalAllow},
		{Tools: []string{"*"}, Then: ApprovalAsk},
	},
	"confined": {
		{Tools: []string{"bash"}, Then: ApprovalAllow, Requires: RequiresConfined},
		{Tools: []string{"*"}, Then: ApprovalAllow},
	},
}

// ReadyPolicies lists the names of the predefined policies, for error messages and help texts.
const ReadyPolicies = "allow, edits, ask, confined"

// UnmarshalJSON reads a list of rules, or the name of a predefined policy.
func (p *ApprovalPolicy) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return err
		}
		ready, known := readyPolicies[name]
		if !known {
			return FieldErrorf("approvals", "%q is not a ready policy; use %s, or a list of rules", name, ReadyPolicies)
		}
		*p = ready
		return nil
	}
	type plain ApprovalPolicy
	return json.Unmarshal(raw, (*plain)(p))
}

const (
	maxApprovalRules = 100
	maxApprovalTools = 100
	// maxApprovalBytes is the maximum size of a policy as JSON.
	maxApprovalBytes = 64 << 10
)

// Check returns an error if the policy is invalid. It does not check whether the schemas in When
// compile. The error is invalid_argument, and its field name begins with the argument `at`.
func (p ApprovalPolicy) Check(at string) error {
	if len(p) > maxApprovalRules {
		return FieldErrorf(at, "has %d rules, and %d are allowed", len(p), maxApprovalRules)
	}
	if raw, err := json.Marshal(p); err != nil || len(raw) > maxApprovalBytes {
		return FieldErrorf(at, "is larger than %d bytes", maxApprovalBytes)
	}
	for i, r := range p {
		if err := r.check(fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (r ApprovalRule) check(at string) error {
	if len(r.Tools) == 0 || len(r.Tools) > maxApprovalTools {
		return FieldErrorf(at+".tools", "must name 1 to %d tools, such as bash or mcp:github/*", maxApprovalTools)
	}
	for _, name := range r.Tools {
		if i := strings.Index(name, "*"); name == "" || len(name) > MaxQuestionName || i >= 0 && i != len(name)-1 {
			return FieldErrorf(at+".tools", "%q must be the name of a tool, or the beginning of names with one * at its end", name)
		}
		if err := CheckText(at+".tools", name); err != nil {
			return err
		}
	}
	switch r.Then {
	case ApprovalAllow, ApprovalAsk, ApprovalDeny:
	default:
		return FieldErrorf(at+".then", "%q must be allow, ask or deny", r.Then)
	}
	if r.Requires != "" && r.Requires != RequiresConfined {
		return FieldErrorf(at+".requires", "%q must be %s", r.Requires, RequiresConfined)
	}
	if r.Then != ApprovalAsk && (r.Needed != 0 || r.NotAsker || len(r.By) > 0 || r.Edit != EditNobody || r.Grants != nil || r.Expires != "") {
		return FieldErrorf(at+".then", "must be ask: needed, notAsker, by, edit, grants and expires are about questions")
	}
	if len(r.Reason) > MaxAnswerReason {
		return FieldErrorf(at+".reason", "has %d bytes, and %d are allowed", len(r.Reason), MaxAnswerReason)
	}
	if err := CheckText(at+".reason", r.Reason); err != nil {
		return err
	}
	if d, err := r.Life(); err != nil || d < 0 || d > MaxQuestionLife {
		return FieldErrorf(at+".expires", "%q must be a duration such as 24h, at most %d hours", r.Expires, int(MaxQuestionLife.Hours()))
	}
	return r.terms().check(at)
}

// Life returns the time until a question that the rule asks expires; 0 means never.
func (r ApprovalRule) Life() (time.Duration, error) {
	if r.Expires == "" {
		return 0, nil
	}
	return time.ParseDuration(r.Expires)
}

func (r ApprovalRule) terms() QuestionTerms {
	return QuestionTerms{Kind: QuestionApproval, Needed: r.Needed, NotAsker: r.NotAsker, By: r.By, Edit: r.Edit, NoGrants: r.Grants != nil && !*r.Grants}
}

// Question returns the terms of the question that the rule asks about a call of the given tool.
func (r ApprovalRule) Question(tool string) QuestionTerms {
	t := r.terms()
	t.Subject, t.Prompt, t.OnExpiry = tool, r.Reason, OnExpiryDeny
	return t
}

// names reports whether the rule's list of tools contains the given tool.
func (r ApprovalRule) names(tool string) bool { return matchesTool(r.Tools, tool) }

func matchesTool(patterns []string, tool string) bool {
	for _, pattern := range patterns {
		prefix, open := strings.CutSuffix(pattern, "*")
		if open && strings.HasPrefix(tool, prefix) || pattern == tool {
			return true
		}
	}
	return false
}

// ApprovalCall is the tool call that policies judge. ApprovalRule.When is a schema for the JSON form of
// this type.
type ApprovalCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Workspace string          `json:"workspace"`
	Turn      int             `json:"turn"`
}

// Approvals are the policies about tool calls that an execution received at its start. They never
// change.
type Approvals struct {
	// Definition is the policy of the execution's definition. Start is the policy in the request that
	// started the execution. Each of them judges a call separately, and the stricter of the two
	// actions counts. So a start can only tighten the policy of its definition.
	Definition ApprovalPolicy `json:"definition,omitempty"`
	Start      ApprovalPolicy `json:"start,omitempty"`
}

// CheckArguments checks the arguments of a tool call that policies judge. The arguments must be one
// JSON document without duplicate member names, because programs differ in which duplicate they read.
// Error: invalid_argument.
func CheckArguments(at string, arguments []byte) error {
	return CheckDocumentBytes(at, arguments, DocumentRules{})
}

// Judgement is the decision of an execution's policies about a tool call.
type Judgement struct {
	Then ApprovalAction
	// Rule is the rule that decided. It is nil if no rule applies; the call is then allowed. If a rule
	// of the definition and a rule of the start both ask, Rule combines the stricter terms of the two.
	Rule *ApprovalRule
	// Number is the number of the rule that decided. The rules of the definition are counted first,
	// from 0, then the rules of the start. Number is -1 if no rule applies.
	Number int
	// Requires is "confined" if one of the rules that apply requires a worker that confines
	// commands.
	Requires string
}

// Judge returns the decision of the policies about a call. It calls the function `fits` to check
// whether the JSON of the call matches a rule's schema. If `fits` returns an error, Judge returns a
// denial and that error.
func (a Approvals) Judge(call ApprovalCall, fits func(schema, call json.RawMessage) (bool, error)) (Judgement, error) {
	raw, err := json.Marshal(call)
	if err != nil {
		return Judgement{Then: ApprovalDeny, Number: -1}, err
	}
	decided := Judgement{Then: ApprovalAllow, Number: -1}
	first := 0
	for _, policy := range []ApprovalPolicy{a.Definition, a.Start} {
		at, err := policy.first(call.Tool, raw, fits)
		if err != nil {
			return Judgement{Then: ApprovalDeny, Number: -1}, err
		}
		if at >= 0 {
			decided = decided.stricter(&policy[at], first+at)
		}
		first += len(policy)
	}
	return decided, nil
}

// With returns the judgement after the further policy p has judged the same call. The policy p can
// only make the judgement stricter. Number stays the same, because a [Clearance] can name only a
// rule of the execution's own policies. Errors: those of `fits`.
func (j Judgement) With(p ApprovalPolicy, call ApprovalCall, fits func(schema, call json.RawMessage) (bool, error)) (Judgement, error) {
	raw, err := json.Marshal(call)
	if err != nil {
		return Judgement{Then: ApprovalDeny, Number: -1}, err
	}
	at, err := p.first(call.Tool, raw, fits)
	if err != nil {
		return Judgement{Then: ApprovalDeny, Number: -1}, err
	}
	if at < 0 {
		return j, nil
	}
	both := j.stricter(&p[at], j.Number)
	both.Number = j.Number
	return both, nil
}

// first returns the index of the first rule of the policy that applies to the call, or -1.
func (p ApprovalPolicy) first(tool string, call json.RawMessage, fits func(schema, call json.RawMessage) (bool, error)) (int, error) {
	for i, r := range p {
		if !r.names(tool) {
			continue
		}
		if r.When == nil {
			return i, nil
		}
		if ok, err := fits(r.When, call); err != nil || ok {
			return i, err
		}
	}
	return -1, nil
}

// stricter returns j, or a judgement by the rule r if r is stricter. If both ask, the result
// combines their terms. The rule r must apply to the call, and `number` is the number of this rule.
func (j Judgement) stricter(r *ApprovalRule, number int) Judgement {
	requires := j.Requires
	if r.Requires != "" {
		requires = r.Requires
	}
	switch {
	case j.Rule == nil || r.Then.strictness() > j.Then.strictness():
		j = Judgement{Then: r.Then, Rule: r, Number: number}
	case j.Then == ApprovalAsk && r.Then == ApprovalAsk:
		j = j.askingBoth(r)
	}
	j.Requires = requires
	return j
}

// Gate is the part of an execution's policies that the server checks each commit against.
type Gate struct {
	// SHA256 is the hash of the policies' JSON.
	SHA256 Hash `json:"sha256"`
	// Tools contains the tool names and patterns of each rule that asks, denies, or requires a
	// worker that confines commands. A task whose kind matches one of them needs a [Clearance].
	Tools []string `json:"tools"`
	// Policies are the execution's policies. They are nil for an execution of the react agent,
	// because the execution's input contains them.
	Policies *Approvals `json:"policies,omitempty"`
}

// Gate returns the Gate that the server needs for these policies; nil if the policies allow every
// call.
func (a Approvals) Gate() *Gate {
	var tools []string
	for _, policy := range []ApprovalPolicy{a.Definition, a.Start} {
		for _, r := range policy {
			if r.Then != ApprovalAllow || r.Requires != "" {
				tools = append(tools, r.Tools...)
			}
		}
	}
	if tools == nil {
		return nil
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return &Gate{Tools: []string{"*"}} // unreachable: decoded JSON always encodes
	}
	return &Gate{SHA256: sha256.Sum256(raw), Tools: tools}
}

// Approvals returns the policies about tool calls that the execution received at its start. They are
// empty if every call is allowed. Error: internal, if the execution's stored input does not decode.
func (x *Execution) Approvals() (Approvals, error) {
	if x.Gate != nil && x.Gate.Policies != nil {
		return *x.Gate.Policies, nil
	}
	var in struct {
		Approvals Approvals `json:"approvals"`
	}
	if x.Kind != ReactKind {
		return in.Approvals, nil
	}
	if err := json.Unmarshal(x.Input, &in); err != nil {
		return in.Approvals, &Error{Code: Internal, Message: "a stored input does not decode", Err: err}
	}
	return in.Approvals, nil
}

// Guards reports whether tasks of the kind need a [Clearance]. It is false for a nil Gate, and for
// model calls.
func (g *Gate) Guards(kind string) bool {
	return g != nil && kind != ModelTaskKind && matchesTool(g.Tools, kind)
}

// Clearance is the reason why a tool call may run. Exactly one of its fields is set.
type Clearance struct {
	// Rule is the number of the rule that allows the call, as in Judgement.Number.
	Rule *int `json:"rule,omitempty"`
	// Question is the question whose approval permits the call.
	Question *uuid.UUID `json:"question,omitempty"`
}
