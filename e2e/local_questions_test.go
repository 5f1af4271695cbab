package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// guarded is the script of a conversation whose commands need approvals.
const guarded = `
turn
  text I begin at the zebracrossing.
  call bash {"command": "echo zebracrossing-1 >> effects.txt"}
turn
  text And I go on.
  call bash {"command": "echo zebracrossing-2 >> effects.txt"}
turn
  text A last one over the zebracrossing.
  call bash {"command": "echo zebracrossing-3 >> effects.txt"}
turn
  text That is all.
`

// asked waits until the run asks a question, and returns the question as clients see it. If the
// parameter `shown` is true, clients must see the question's content.
func (s *deployment) asked(id uuid.UUID, shown bool) *perdure.Question {
	s.t.Helper()
	var q *perdure.Question
	eventually(s.t, "the run to ask", func() bool {
		p, err := s.QuestionsPage(s.t.Context(), client.QuestionFilter{ExecutionID: &id, Status: []perdure.QuestionStatus{perdure.QuestionOpen}}, client.PageOptions{})
		if err != nil || len(p.Items) != 1 {
			return false
		}
		q, err = s.Question(s.t.Context(), p.Items[0].ID)
		return err == nil && q.OnWorker() != shown
	})
	return q
}

// decide answers a question. The answer has the hash of the details that the question shows.
func (s *deployment) decide(q *perdure.Question, r client.AnswerRequest) error {
	s.t.Helper()
	r.DetailsSHA256 = &q.DetailsSHA256
	_, err := s.Answer(s.t.Context(), q.ID, r)
	return err
}

// TestLocalRunAsksForApprovals checks the approvals of a LOCAL run, while its worker and the server
// are killed. One call is approved, one is edited, and one is denied while the worker is
// disconnected. The server's database must never contain what was asked or answered.
func TestLocalRunAsksForApprovals(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(guarded), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newDeployment(t, setup{env: []string{"PERDURE_SCRIPTS=" + dir}})
	tools := []string{"bash"}
	id := s.start(client.StartRequest{
		UserPrompt: "begin with the " + marked, Tools: &tools, PersistenceMode: perdure.Local, OneShot: true,
		Approvals: perdure.ApprovalPolicy{{Tools: []string{"bash"}, Then: perdure.ApprovalAsk, Edit: perdure.EditClient, Reason: "May it over the " + marked + "?"}},
		Models:    []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
	})
	data := filepath.Join(s.root, "data")
	q := s.asked(id, true)
	if !strings.Contains(q.Prompt, marked) || !strings.Contains(string(q.Details), marked+"-1") || q.DetailsSHA256 != perdure.DetailsHash(q.Kind, q.Subject, q.Details) {
		t.Errorf("the first question is %+v", q)
	}
	// The input passes through the server, which erases it soon after the first commit.
	eventually(t, "the server's database to be free of content", func() bool { return len(holding(t, data)) == 0 })
	s.restart(&s.worker)
	q = s.asked(id, true)
	if err := s.decide(q, client.AnswerRequest{Verdict: perdure.VerdictApprove, Reason: "yes, " + marked}); err != nil {
		t.Fatal(err)
	}
	first := q.ID
	eventually(t, "the second question", func() bool { return s.asked(id, true).ID != first })
	s.restart(&s.server)
	s.reconnected(id)
	q = s.asked(id, true)
	if err := s.decide(q, client.AnswerRequest{Verdict: perdure.VerdictApprove, Details: json.RawMessage(`{"command":"echo ` + marked + `-edited >> effects.txt"}`)}); err != nil {
		t.Fatal(err)
	}
	second := q.ID
	eventually(t, "the third question", func() bool { return s.asked(id, true).ID != second })
	away := s.worker
	away.kill()
	s.worker = nil // prevents an automatic restart
	q = s.asked(id, false)
	if q.Prompt != "" || q.Details != nil {
		t.Errorf("without the worker, the question is %+v", q)
	}
	if err := s.decide(q, client.AnswerRequest{Verdict: perdure.VerdictApprove}); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("an approval without the worker: %v", err)
	}
	if text := s.ask("questions"); !strings.Contains(text, "(on the worker)") {
		t.Errorf("perdure questions says\n%s", text)
	}
	if err := s.decide(q, client.AnswerRequest{Verdict: perdure.VerdictDeny, Reason: "no third " + marked}); err != nil {
		t.Fatal(err)
	}
	s.worker = launch(t, away.command)
	if x := s.ended(id); x.Status != perdure.StatusCompleted {
		t.Errorf("the run is %s", x.Status)
	}
	if effects := strings.Fields(s.read("effects.txt")); len(effects) != 2 || effects[0] != marked+"-1" || effects[1] != marked+"-edited" {
		t.Errorf("the effects are %v", effects)
	}
	for q, err := range s.Questions(t.Context(), client.QuestionFilter{ExecutionID: &id}) {
		if err != nil || q.Answer == nil || q.ID != second && !strings.Contains(q.Answer.Reason, marked) {
			t.Errorf("after the end, a question is %+v, %v", q, err)
		}
	}
	end(s.worker)
	end(s.server)
	if found := holding(t, data); len(found) > 0 {
		t.Errorf("what was asked or answered is in the server's %v", found)
	}
}
