package perdure_test

import (
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
)

// TestTheRightToEdit checks that the right to edit can be written as true in JSON, and that only a
// rule that asks people can have it. It also checks which keys have the right.
func TestTheRightToEdit(t *testing.T) {
	for text, want := range map[string]perdure.EditRight{"true": perdure.EditClient, "false": perdure.EditNobody, `"client"`: perdure.EditClient, `"approver"`: perdure.EditApprover} {
		var p perdure.ApprovalPolicy
		if err := json.Unmarshal([]byte(`[{"tools":["bash"],"then":"ask","edit":`+text+`}]`), &p); err != nil || p[0].Edit != want || p.Check("approvals") != nil {
			t.Errorf("%s is %q, %v", text, p[0].Edit, err)
		}
	}
	for _, text := range []string{`{"tools":["bash"],"then":"allow","edit":true}`, `{"tools":["bash"],"then":"ask","edit":"worker"}`, `{"tools":["bash"],"then":"ask","edit":1}`} {
		var r perdure.ApprovalRule
		err := json.Unmarshal([]byte(text), &r)
		if err == nil {
			err = perdure.ApprovalPolicy{r}.Check("approvals")
		}
		if !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for role, want := range map[perdure.KeyRole][2]bool{perdure.KeyAdmin: {true, true}, perdure.KeyClient: {true, true}, perdure.KeyApprover: {false, true}, perdure.KeyWorker: {false, false}} {
		if got := [2]bool{perdure.EditClient.Permits(role), perdure.EditApprover.Permits(role)}; got != want || perdure.EditNobody.Permits(role) {
			t.Errorf("%s may edit: %v", role, got)
		}
	}
}

// TestAQuestionCoversItsRule checks that a question covers a rule only if it is at least as strict as
// the rule.
func TestAQuestionCoversItsRule(t *testing.T) {
	rule := perdure.ApprovalRule{Tools: []string{"*"}, Then: perdure.ApprovalAsk, Needed: 2, NotAsker: true, By: []string{"admin", "approver"}, Edit: perdure.EditClient}
	same := rule.Question("bash")
	for name, change := range map[string]func(*perdure.QuestionTerms){
		"fewer votes":     func(q *perdure.QuestionTerms) { q.Needed = 1 },
		"askers may vote": func(q *perdure.QuestionTerms) { q.NotAsker = false },
		"everybody":       func(q *perdure.QuestionTerms) { q.By = nil },
		"others":          func(q *perdure.QuestionTerms) { q.By = []string{"admin", "client"} },
		"more editors":    func(q *perdure.QuestionTerms) { q.Edit = perdure.EditApprover },
	} {
		weaker := same
		change(&weaker)
		if rule.Covers(weaker) {
			t.Errorf("%s: the question covers its rule", name)
		}
	}
	stricter := same
	stricter.Needed, stricter.By, stricter.Edit = 3, []string{"admin"}, perdure.EditNobody
	if !rule.Covers(same) || !rule.Covers(stricter) {
		t.Error("a question as strict as its rule does not cover it")
	}
}
