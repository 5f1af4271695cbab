package react_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/react"
)

// TestAnEditDoesNotEscapeAStricterRuleOfTheRun approves a call and edits its arguments, so that
// another rule of the Run, with other voters, applies to the edited call. The call must not be run.
func TestAnEditDoesNotEscapeAStricterRuleOfTheRun(t *testing.T) {
	s := emptyWorkerPool(t, "turn\n  call bash {\"command\": \"echo 1\"}\nturn\n  text Done.\n")
	o := react.RunOptions{Model: perdure.ModelConfig{Provider: "scripted", ModelID: "s"}, Approvals: perdure.ApprovalPolicy{
		{Tools: []string{"bash"}, When: json.RawMessage(`{"properties":{"arguments":{"properties":{"command":{"pattern":"DANGER"}}}}}`), Then: perdure.ApprovalAsk, Needed: 5, By: []string{"approver"}},
		{Tools: []string{"bash"}, Then: perdure.ApprovalAsk, Edit: perdure.EditClient},
	}}
	s.work(-1, func(c *workerSetup) {
		o.Tools = c.Tools
		c.others = []agent.Definition{runner(o)}
	})
	id := s.startRunner(engine.StartRequest{}, "go")
	s.until(id, func(x *perdure.Execution) bool { return x.OpenQuestions > 0 || ended(x) })
	page, err := s.store.Questions(t.Context(), "default", store.QuestionFilter{ExecutionID: &id, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	q := page.Items[0]
	_, err = s.engine.Answer(t.Context(), "default", questions.AnswerRequest{
		Question: q.ID, Verdict: perdure.VerdictApprove, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin, Details: json.RawMessage(`{"command":"echo DANGER"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.until(id, ended)
	tasks, err := s.store.ListTasks(t.Context(), id, false, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range tasks.Items {
		if k.Kind == "bash" && strings.Contains(string(k.Input), "DANGER") {
			t.Errorf("%s has run with one vote of an admin", k.Input)
		}
	}
}
