package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// callerHeader is a header that selects the key that sends a request. Its value is the key's name
// and, after a slash, the key's role.
const callerHeader = "Test-Caller"

type callerKey struct{}

// asCaller returns a context with the caller that the header names. If the parameter `caller` is
// "", the caller is an admin key.
func asCaller(ctx context.Context, caller string) context.Context {
	name, role, _ := strings.Cut(caller, "/")
	v := questions.Voter{Role: perdure.KeyRole(role), Name: name}
	if caller == "" {
		v = questions.Voter{Role: perdure.KeyAdmin, Name: "boss"}
	}
	id := uuid.NewSHA1(uuid.Nil, []byte(v.Name))
	v.KeyID = &id
	return store.By(context.WithValue(ctx, callerKey{}, v), perdure.Actor{KeyID: v.KeyID, Name: v.Name})
}

func voterOf(ctx context.Context) (questions.Voter, error) {
	return ctx.Value(callerKey{}).(questions.Voter), nil
}

// askingAgent defines the agent "asker". The rule applies to calls of its tool "bash", and asks for
// an approval.
func (s *stage) askingAgent(rule perdure.ApprovalRule) {
	s.t.Helper()
	rule.Tools, rule.Then = []string{"bash"}, perdure.ApprovalAsk
	_, err := s.engine.Definitions.Create(s.t.Context(), "default", perdure.Definition{
		Name: "asker", Slug: "asker", Models: []perdure.ModelConfig{{Provider: "test", ModelID: "m"}}, Tools: []string{"bash"},
		Approvals: perdure.ApprovalPolicy{rule},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// key creates an API key: without any key, the engine refuses policies that need a second person.
func (s *stage) key() {
	s.t.Helper()
	if _, _, err := s.engine.CreateKey(s.t.Context(), "default", "k", perdure.KeyAdmin); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) asks(members string) reply {
	s.t.Helper()
	return s.call("POST", "/v1/responses", `{"model":"asker",`+members+`}`)
}

// requests returns the approval requests among the items of a response.
func (o object) requests() []item {
	return slices.DeleteFunc(slices.Clone(o.Output), func(i item) bool { return i.Type != "mcp_approval_request" })
}

func verdict(request string, approve bool, more string) string {
	return fmt.Sprintf(`{"type":"mcp_approval_response","approval_request_id":%q,"approve":%v%s}`, request, approve, more)
}

func answering(response string, verdicts ...string) string {
	return fmt.Sprintf(`"previous_response_id":%q,"input":[%s]`, response, strings.Join(verdicts, ","))
}

func eachStore(t *testing.T, test func(t *testing.T, on store.Store)) {
	t.Run("SQLite", func(t *testing.T) { test(t, opentest.SQLite(t, nil)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, opentest.Postgres(t, nil)) })
}

func TestAnApprovalIsAnsweredInTheInput(t *testing.T) {
	eachStore(t, func(t *testing.T, on store.Store) {
		s := newStageOn(t, on, calls("", "bash", `{"command":"echo one"}`), calls("", "bash", `{"command":"echo two"}`), says("done"))
		s.askingAgent(perdure.ApprovalRule{})
		first := s.asks(`"input":"go"`).object()
		asked := first.requests()
		if first.Status != "in_progress" || len(asked) != 1 || asked[0].Name != "bash" || asked[0].Arguments != `{"command":"echo one"}` {
			t.Fatalf("got %s", first.raw)
		}
		second := s.asks(answering(first.ID, verdict(asked[0].ID, true, `,"reason":"fine","id":"mcprs_1"`))).object()
		if second.ID != first.ID || second.Status != "in_progress" || len(second.requests()) != 2 {
			t.Fatalf("got %s", second.raw)
		}
		if got := second.Output[0].outcome(); !strings.Contains(got, "one") || !strings.Contains(string(second.raw), `"approval_request_id":"`+asked[0].ID+`"`) {
			t.Errorf("got the outcome %q of %s", got, second.raw)
		}
		third := s.asks(answering(first.ID, verdict(second.requests()[1].ID, false, `,"reason":"too much"`))).object()
		if third.ID != first.ID || third.Status != "completed" || third.text() != "done" {
			t.Fatalf("got %s", third.raw)
		}
		denied := third.Output[slices.IndexFunc(third.Output, func(i item) bool { return i.Arguments == `{"command":"echo two"}` })]
		if got := denied.outcome(); !strings.Contains(got, "denied") || !strings.Contains(got, "too much") {
			t.Errorf("the denied call has the outcome %q", got)
		}
		again := s.asks(answering(first.ID, verdict(second.requests()[1].ID, false, `,"reason":"too much"`))).object()
		if again.Status != "completed" || again.text() != "done" {
			t.Errorf("a repeat got %s", again.raw)
		}
		whole := s.all("GET", "/v1/responses/"+first.ID+"?stream=true", "")
		s.sameFromEveryEvent(first.ID, whole)
		if got := responseOf(t, whole[len(whole)-1]); len(got.requests()) != 2 {
			t.Errorf("the stream ends with %s", got.raw)
		}
	})
}

func TestAnAnsweredApprovalContinuesTheStream(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.askingAgent(perdure.ApprovalRule{})
	first := s.asks(`"input":"go"`).object()
	body := `{"model":"asker","stream":true,` + answering(first.ID, verdict(first.requests()[0].ID, true, "")) + `}`
	rest := s.all("POST", "/v1/responses", body)
	whole := s.all("GET", "/v1/responses/"+first.ID+"?stream=true", "")
	asked := slices.IndexFunc(whole, func(e event) bool {
		return e.Type == "response.output_item.done" && strings.Contains(e.Raw, "mcp_approval_request")
	})
	if asked < 0 || !slices.Equal(rest, whole[asked+1:]) {
		t.Errorf("the stream continued with %v, want what follows event %d of %v", rest, asked, whole)
	}
	if repeated := s.all("POST", "/v1/responses", body); !slices.Equal(repeated, rest) {
		t.Errorf("a repeat streams %v, want %v", repeated, rest)
	}
}

func TestSeveralApprovalsAreCheckedBeforeAnyIsStored(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`, "bash", `{"command":"echo two"}`), says("done"))
	s.askingAgent(perdure.ApprovalRule{})
	first := s.asks(`"input":"go"`).object()
	asked := first.requests()
	if len(asked) != 2 {
		t.Fatalf("got %s", first.raw)
	}
	unknown := "mcpr_" + strings.Repeat("0", 32)
	s.asks(answering(first.ID, verdict(asked[0].ID, true, ""), verdict(unknown, true, ""))).
		refused(http.StatusBadRequest, "input[1].approval_request_id", "approval_request_not_found")
	s.asks(answering(first.ID, verdict(asked[0].ID, true, ""), verdict(asked[0].ID, true, ""))).
		refused(http.StatusBadRequest, "input[1].approval_request_id", "invalid_value")
	s.asks(answering(first.ID, verdict(asked[0].ID, true, ""), `{"type":"message","role":"user","content":"hi"}`)).
		refused(http.StatusBadRequest, "input", "invalid_value")
	if x, err := s.store.Execution(t.Context(), "default", s.executionOf(first.ID)); err != nil || x.OpenQuestions != 2 {
		t.Fatalf("a refused request left %d questions open: %v", x.OpenQuestions, err)
	}
	last := s.asks(answering(first.ID, verdict(asked[0].ID, true, ""), verdict(asked[1].ID, true, ""))).object()
	if last.Status != "completed" || last.text() != "done" {
		t.Errorf("got %s", last.raw)
	}
	s.asks(answering(first.ID, verdict(asked[0].ID, false, ""))).
		refused(http.StatusConflict, "input[0].approval_request_id", "question_decided")
}

func TestApprovalsAreForThoseWhoMayVote(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.key()
	s.askingAgent(perdure.ApprovalRule{NotAsker: true, By: []string{"client"}})
	first := s.asks(`"input":"go"`).object()
	yes := `{"model":"asker",` + answering(first.ID, verdict(first.requests()[0].ID, true, "")) + `}`
	as := func(caller string) reply {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/responses", strings.NewReader(yes))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(callerHeader, caller)
		return s.do(req)
	}
	as("boss/client").refused(http.StatusForbidden, "input[0].approval_request_id", "permission_denied")
	as("ann/admin").refused(http.StatusForbidden, "input[0].approval_request_id", "permission_denied")
	if o := as("ben/client").object(); o.Status != "completed" {
		t.Errorf("got %s", o.raw)
	}
}

func TestMalformedApprovalsAreRefused(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.askingAgent(perdure.ApprovalRule{})
	first := s.asks(`"input":"go"`).object()
	request := first.requests()[0].ID
	for param, members := range map[string]string{
		"input[0].approval_request_id": answering(first.ID, `{"type":"mcp_approval_response","approve":true}`),
		"input[0].approve":             answering(first.ID, fmt.Sprintf(`{"type":"mcp_approval_response","approval_request_id":%q}`, request)),
		"previous_response_id":         `"input":[` + verdict(request, true, "") + `]`,
	} {
		s.asks(members).refused(http.StatusBadRequest, param, "missing_required_parameter")
	}
	s.asks(answering(first.ID, verdict("fc_1", true, ""))).refused(http.StatusBadRequest, "input[0].approval_request_id", "approval_request_not_found")
	s.asks(`"conversation":"conv_1","input":[`+verdict(request, true, "")+`]`).refused(http.StatusBadRequest, "conversation", "invalid_value")
	s.asks(answering(first.ID, verdict(request, true, fmt.Sprintf(`,"reason":%q`, strings.Repeat("x", 5000))))).
		refused(http.StatusBadRequest, "input[0].reason", "string_above_max_length")
	s.call("POST", "/v1/responses/compact", `{"model":"asker",`+answering(first.ID, verdict(request, true, ""))+`}`).
		refused(http.StatusBadRequest, "input", "unsupported_value")
	s.asks(answering("resp_unknown", verdict(request, true, ""))).refused(http.StatusBadRequest, "previous_response_id", "previous_response_not_found")
}

func TestABlockingAnswerReturnsIfMoreVotesAreNeeded(t *testing.T) {
	s := newStage(t, calls("", "bash", `{"command":"echo one"}`), says("done"))
	s.key()
	s.askingAgent(perdure.ApprovalRule{Needed: 2})
	first := s.asks(`"input":"go"`).object()
	yes := answering(first.ID, verdict(first.requests()[0].ID, true, ""))
	if o := s.asks(yes).object(); o.Status != "in_progress" || len(o.requests()) != 1 {
		t.Fatalf("after one vote of two, got %s", o.raw)
	}
	s.asks(answering(first.ID, verdict(first.requests()[0].ID, false, ""))).refused(http.StatusConflict, "input[0].approval_request_id", "already_voted")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/responses", strings.NewReader(`{"model":"asker",`+yes+`}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(callerHeader, "ann/admin")
	if o := s.do(req).object(); o.Status != "completed" || o.text() != "done" {
		t.Errorf("after two votes, got %s", o.raw)
	}
}
