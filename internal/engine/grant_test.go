package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// remembered asks about a call of the tool bash and approves it with a grant for every call of bash
// in the execution.
func (h *holder) remembered(key string) {
	h.Helper()
	id := h.approved(key, `{"command":"touch a"}`, "")
	q, err := h.s.Question(h.Context(), org, id)
	h.must(err)
	_, err = h.e.Answer(h.Context(), org, questions.AnswerRequest{
		Question: id, Verdict: perdure.VerdictApprove, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin,
		Remember: &perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantTool},
	})
	h.must(err)
}

// TestAGrantClearsOnlyWhatItAnswers checks that a question that a grant has approved permits only the
// call with the approved arguments. Such an approval never permits a call that a rule denies.
func TestAGrantClearsOnlyWhatItAnswers(t *testing.T) {
	b := newBench(t)
	h := b.guarded()
	h.remembered("first")
	const touch = `{"command":"touch b"}`
	question := func(id uuid.UUID) *perdure.Clearance { return &perdure.Clearance{Question: &id} }
	granted := h.approved("granted", touch, "")
	q, err := b.s.Question(t.Context(), org, granted)
	b.must(err)
	if q.Answer == nil || q.Answer.By != perdure.AnsweredByGrant {
		t.Fatalf("the question is %+v", q)
	}
	for name, task := range map[string]perdure.NewTask{
		"other arguments": h.callOf("1", `{"command":"touch c"}`, question(granted)),
		"a denied call":   h.callOf("1", `{"command":"rm"}`, question(h.approved("rm", `{"command":"rm"}`, ""))),
	} {
		_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
		if !perdure.IsCode(err, perdure.PermissionDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.callOf("touch", touch, question(granted))} })
	_, err = h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.callOf("again", touch, question(granted))} })
	b.wantCode(err, perdure.PermissionDenied)
}

// TestARuleWithoutGrantsIsAskedEachTime checks a rule that permits no grants, and an agent whose
// question nevertheless permits them. A grant answers the question, but the gate still refuses the
// call.
func TestARuleWithoutGrantsIsAskedEachTime(t *testing.T) {
	b := newBench(t)
	var p perdure.ApprovalPolicy
	b.must(json.Unmarshal([]byte(`[{"tools": ["bash"], "then": "ask", "grants": false}]`), &p))
	if terms := p[0].Question("bash"); !terms.NoGrants || terms.Grantable() {
		t.Errorf("the terms of the rule are %+v", terms)
	}
	x, err := b.e.Start(b.Context(), org, StartRequest{
		UserPrompt: "go", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Approvals: p,
	})
	b.must(err)
	poll := b.poll(8)
	poll.Kinds, poll.Features = []string{perdure.ReactKind}, perdure.AllFeatures
	claims, err := b.d.PollAgents(b.Context(), poll)
	b.must(err)
	h := &holder{bench: b, claim: claims[0], id: x.ID}
	h.remembered("first") // the question's terms do not say that the rule permits no grants
	id := h.approved("second", `{"command":"touch b"}`, "")
	_, err = h.try(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.callOf("1", `{"command":"touch b"}`, &perdure.Clearance{Question: &id})}
	})
	b.wantCode(err, perdure.PermissionDenied)
}
