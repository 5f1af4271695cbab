package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// vote answers the question behind an approval request by a direct call of the engine, as the key
// `by`, which is an admin key.
func (s *stage) vote(request, by string, change func(*questions.AnswerRequest)) {
	s.t.Helper()
	id, err := uuid.Parse(strings.TrimPrefix(request, "mcpr_"))
	if err != nil {
		s.t.Fatal(err)
	}
	q, err := s.store.Question(s.t.Context(), "default", id)
	if err != nil {
		s.t.Fatal(err)
	}
	r := questions.AnswerRequest{Question: id, Verdict: perdure.VerdictApprove, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin}
	change(&r)
	if _, err := s.engine.Answer(asCaller(s.t.Context(), by+"/admin"), "default", r); err != nil {
		s.t.Fatal(err)
	}
}

func TestACallThatAGrantCoversShowsNoRequest(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.askingAgent(perdure.ApprovalRule{})
	first := s.asks(`"input":"go"`).object()
	s.vote(first.requests()[0].ID, "ann", func(r *questions.AnswerRequest) {
		r.Remember = &perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantExact}
	})
	events := s.all("GET", "/v1/responses/"+first.ID+"?stream=true", "")
	last := responseOf(t, events[len(events)-1])
	if last.Status != "completed" || last.text() != "done" || len(last.requests()) != 1 {
		t.Errorf("got %s", last.raw)
	}
}

func TestEditedArgumentsAreNotApprovedUnseen(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.key()
	s.askingAgent(perdure.ApprovalRule{Needed: 2, Edit: perdure.EditClient})
	first := s.asks(`"input":"go"`).object()
	request := first.requests()[0].ID
	s.vote(request, "ann", func(r *questions.AnswerRequest) { r.Details = json.RawMessage(`{"command":"echo two"}`) })
	s.asks(answering(first.ID, verdict(request, true, ""))).refused(http.StatusConflict, "input[0].approval_request_id", "details_changed")
	if o := s.asks(answering(first.ID, verdict(request, false, ""))).object(); o.Status != "completed" || o.text() != "done" {
		t.Errorf("got %s", o.raw)
	}
}

func TestApprovalsAreNotAnsweredOverASocket(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.askingAgent(perdure.ApprovalRule{})
	first := s.asks(`"input":"go"`).object()
	k := s.dial()
	k.send(`{"type":"response.create","model":"asker",` + answering(first.ID, verdict(first.requests()[0].ID, true, "")) + `}`)
	k.refused(http.StatusBadRequest, "input", "unsupported_value")
}

// TestARequestAmongOtherItemsIsNotPassedOn checks a client that sends back all items, including
// approval requests. The model receives the same messages as without these approval requests.
func TestARequestAmongOtherItemsIsNotPassedOn(t *testing.T) {
	s := newStage(t, says("hello"))
	o := s.create(`"input":[{"role":"user","content":"hi"},
		{"type":"mcp_approval_request","id":"mcpr_1","server_label":"perdure","name":"bash","arguments":"{}"}]`).object()
	if o.text() != "hello" {
		t.Errorf("got %s", o.raw)
	}
	s.wantPrompt("user: hi")
	s.create(`"input":[{"type":"mcp_approval_request","id":"mcpr_1","server_label":"perdure","name":"bash","arguments":"{}"}]`).
		refused(http.StatusBadRequest, "input", "missing_required_parameter")
}
