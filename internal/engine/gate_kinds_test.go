package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// guardedAgent starts an execution with the policy in r, and claims it. The kind of the execution
// is not the react agent.
func (b *bench) guardedAgent(r StartRequest) *holder {
	b.Helper()
	r.Kind, r.Input = "agent", json.RawMessage(`{"approvals": "of its own"}`)
	x, err := b.e.Start(b.Context(), org, r)
	b.must(err)
	poll := b.poll(8)
	poll.Features = perdure.AllFeatures
	claims, err := b.d.PollAgents(b.Context(), poll)
	b.must(err)
	if len(claims) != 1 || claims[0].Lease.ExecutionID != x.ID {
		b.Fatalf("%d executions were claimed", len(claims))
	}
	return &holder{bench: b, claim: claims[0], id: x.ID}
}

// TestPoliciesOfEveryKind checks the policies of an agent that is not the react agent. They do not
// change after the start, and reach the worker with the claim. They limit the tasks of all kinds that
// the agent can schedule.
func TestPoliciesOfEveryKind(t *testing.T) {
	b := newBench(t)
	asks := perdure.ApprovalPolicy{{Tools: []string{"ba*"}, Then: perdure.ApprovalAsk, Edit: perdure.EditClient}}
	denies := perdure.ApprovalPolicy{{
		Tools: []string{"bash"}, When: json.RawMessage(`{"properties": {"arguments": {"properties": {"command": {"const": "rm"}}}}}`),
		Then: perdure.ApprovalDeny, Reason: "it deletes",
	}}
	d, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{
		Name: "n", Slug: "n", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Approvals: asks,
	})
	b.must(err)
	h := b.guardedAgent(StartRequest{DefinitionID: &d.ID, Approvals: denies})
	if string(h.claim.Execution.Input) != `{"approvals": "of its own"}` {
		t.Errorf("the input is %s", h.claim.Execution.Input)
	}
	policies, err := h.claim.Execution.Approvals()
	b.must(err)
	if len(policies.Definition) != 1 || len(policies.Start) != 1 || policies.Start[0].Reason != "it deletes" {
		t.Errorf("the claim has the policies %+v", policies)
	}
	const touch = `{"command":"touch a"}`
	yes := h.approved("yes", touch, perdure.VerdictApprove)
	question := func(id uuid.UUID) *perdure.Clearance { return &perdure.Clearance{Question: &id} }
	rule := 0
	for name, task := range map[string]perdure.NewTask{
		"no clearance":    h.callOf("1", touch, nil),
		"a rule":          h.callOf("1", touch, &perdure.Clearance{Rule: &rule}),
		"other arguments": h.callOf("1", `{"command":"touch b"}`, question(yes)),
		"a denied call":   h.callOf("1", `{"command":"rm"}`, question(h.approved("rm", `{"command":"rm"}`, perdure.VerdictApprove))),
	} {
		_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
		if !perdure.IsCode(err, perdure.PermissionDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.callOf("touch", touch, question(yes))} })
	// The policies judge changed details, even if the question is not about a tool call in an entry.
	open := h.approvable("open", touch, perdure.EditClient)
	hash := perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(touch))
	answer := questions.AnswerRequest{Question: open, Verdict: perdure.VerdictApprove, DetailsSHA256: &hash, Role: perdure.KeyAdmin, Details: json.RawMessage(`{"command":"rm"}`)}
	_, err = b.e.Answer(t.Context(), org, answer)
	b.wantCode(err, perdure.InvalidArgument)
	answer.Details = json.RawMessage(`{"command":"touch c"}`)
	_, err = b.e.Answer(t.Context(), org, answer)
	b.must(err)
	h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.callOf("edited", `{"command":"touch c"}`, question(open))}
	})
}

// TestTasksMayRequireMore checks that a task may require confinement even if no rule of a policy
// does.
func TestTasksMayRequireMore(t *testing.T) {
	b := newBench(t)
	h := b.guardedAgent(StartRequest{Approvals: perdure.ApprovalPolicy{
		{Tools: []string{"bash"}, When: json.RawMessage(`{"properties": {"turn": {"const": 7}}}`), Then: perdure.ApprovalAsk},
	}})
	none := -1
	task := h.callOf("1", `{}`, &perdure.Clearance{Rule: &none})
	task.Options.Requires = perdure.RequiresConfined
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
}

// approvable asks for the approval of a call of the tool bash, whose arguments voters may change. It
// returns the question's id.
func (h *holder) approvable(key, arguments string, edit perdure.EditRight) uuid.UUID {
	h.Helper()
	n := perdure.NewQuestion{
		Key: key, Details: json.RawMessage(arguments), DetailsSHA256: perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(arguments)),
		QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash", Edit: edit},
	}
	h.commit(func(c *perdure.Commit) { c.Questions = append(c.Questions, n) })
	return perdure.QuestionID(h.id, key)
}
