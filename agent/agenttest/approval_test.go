package agenttest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/tool"

	"github.com/perdure/perdure/internal/longtest"
)

// three is a script of a model that makes three tool calls in one turn and then answers.
const three = `turn
  call forecast {"city": "Bern"}
  call forecast {"city": "Rome"}
  call forecast {"city": "Oslo"}
turn
  text Done.
`

// cities returns a policy that asks about each call of the tool forecast, except calls with the
// city Rome.
func cities(t *testing.T) perdure.ApprovalPolicy {
	var p perdure.ApprovalPolicy
	err := json.Unmarshal([]byte(`[
		{"tools": ["forecast"], "when": {"properties": {"arguments": {"properties": {"city": {"const": "Rome"}}}}}, "then": "allow"},
		{"tools": ["fore*"], "then": "ask", "reason": "May it look?", "expires": "1h"}
	]`), &p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCallsAreApprovedOneByOne checks that each tool call has its own question, and that the result
// of a denied call is the reason of the denial. The outcome is the same under every fault that
// agenttest injects.
func TestCallsAreApprovedOneByOne(t *testing.T) {
	longtest.Skip(t, "seconds")
	asked := map[string]string{}
	s := agenttest.Scenario{Input: "Weather?", Tools: []tool.Tool{forecast()}, Model: three, Approvals: cities(t)}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		asked[q.Key] = q.Subject + " " + q.Prompt
		if q.DetailsSHA256 == perdure.DetailsHash(perdure.QuestionApproval, "forecast", []byte(`{"city": "Oslo"}`)) {
			return &perdure.Answer{Verdict: perdure.VerdictDeny, Reason: "too cold"}
		}
		return &perdure.Answer{Verdict: perdure.VerdictApprove}
	}
	o := agenttest.Run(t, s)
	for _, want := range []string{"forecast = It rains in Bern.", "forecast = It rains in Rome.", "forecast = not run: it was denied: too cold", "Done."} {
		if !strings.Contains(o.Text(), want) {
			t.Errorf("the conversation lacks %q:\n%s\n%s", want, o.Text(), o.Error)
		}
	}
	if len(asked) != 2 || o.Ran["forecast"] != 2 {
		t.Errorf("%d questions were asked and %d calls were run", len(asked), o.Ran["forecast"])
	}
	for _, text := range asked {
		if text != "forecast May it look?" {
			t.Errorf("a question says %q", text)
		}
	}
	s.Normalize = withoutKeys
	agenttest.AllOfSample(t, s)
}

// withoutKeys removes the keys of questions from the outcome, because the keys contain random ids
// of calls.
func withoutKeys(o *agenttest.Outcome) {
	for i, line := range o.Questions {
		_, o.Questions[i], _ = strings.Cut(line, ": ")
	}
}

// TestApprovalsExpireAndAreSteered checks tool calls that nobody approves, and a message that the user
// sends while tool calls wait for their approval.
func TestApprovalsExpireAndAreSteered(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{Input: "Weather?", Tools: []tool.Tool{forecast()}, Model: three, Approvals: cities(t), Normalize: withoutKeys}
	o := agenttest.Run(t, s)
	if strings.Count(o.Text(), "forecast = not run: it was denied: nobody answered in time") != 2 || o.Elapsed < time.Hour {
		t.Errorf("after %s:\n%s", o.Elapsed, o.Text())
	}
	agenttest.AllOfSample(t, s)
	s.Signals = []agenttest.Signal{{Name: perdure.UserMessage, Value: map[string]string{"text": "Never mind."}, After: time.Minute}}
	o = agenttest.Run(t, s)
	want := "forecast = skipped: the user sent a message"
	if strings.Count(o.Text(), want) != 2 || !strings.Contains(o.Text(), "user: Never mind.") || !strings.Contains(o.Text(), "It rains in Rome.") || o.Elapsed > time.Hour {
		t.Errorf("after %s:\n%s\n%q", o.Elapsed, o.Text(), o.Questions)
	}
	agenttest.AllOfSample(t, s)
}

// TestRulesThatDeny checks that a rule can deny a tool call without a question.
func TestRulesThatDeny(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{Input: "Weather?", Tools: []tool.Tool{forecast()}, Model: three, Approvals: perdure.ApprovalPolicy{
		{Tools: []string{"*"}, Then: perdure.ApprovalDeny, Reason: "not today"},
	}}
	o := agenttest.Run(t, s)
	if strings.Count(o.Text(), "forecast = not run: a rule denies this call: not today") != 3 || len(o.Questions) != 0 || o.Ran["forecast"] != 0 {
		t.Errorf("%d calls were run:\n%s", o.Ran["forecast"], o.Text())
	}
	agenttest.AllOfSample(t, s)
}

// TestEditedCalls checks that a tool call runs with the arguments to which a voter has changed
// them, and that the result of the call tells the model about the changed arguments. The
// conversation still has the arguments that the model chose.
func TestEditedCalls(t *testing.T) {
	longtest.Skip(t, "seconds")
	policy := cities(t)
	policy[1].Edit = perdure.EditClient
	s := agenttest.Scenario{Input: "Weather?", Tools: []tool.Tool{forecast()}, Model: three, Approvals: policy, Normalize: withoutKeys}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		answer := &perdure.Answer{Verdict: perdure.VerdictApprove}
		if q.AskedSHA256() == perdure.DetailsHash(perdure.QuestionApproval, "forecast", []byte(`{"city": "Oslo"}`)) {
			answer.Value = json.RawMessage(`{"city":"Bodo"}`)
		}
		return answer
	}
	o := agenttest.Run(t, s)
	for _, want := range []string{
		"forecast = It rains in Bern.", "It rains in Bodo.", `A person changed the arguments of this call before it was run. It was run with {"city":"Bodo"}`,
		`"Oslo"`, "Done.",
	} {
		if !strings.Contains(o.Text(), want) {
			t.Errorf("the conversation lacks %q:\n%s\n%s", want, o.Text(), o.Error)
		}
	}
	if o.Ran["forecast"] != 3 || strings.Contains(o.Text(), "It rains in Oslo.") {
		t.Errorf("%d calls were run:\n%s", o.Ran["forecast"], o.Text())
	}
	agenttest.AllOfSample(t, s)
}

// TestRememberedApprovals checks that later calls run without a question after a person has
// approved a call and asked to remember the approval, under every fault that agenttest injects.
func TestRememberedApprovals(t *testing.T) {
	longtest.Skip(t, "seconds")
	policy := cities(t)
	const model = "turn\n  call forecast {\"city\": \"Bern\"}\nturn\n  call forecast {\"city\": \"Oslo\"}\nturn\n  text Done.\n"
	asked := map[string]bool{}
	s := agenttest.Scenario{Input: "Weather?", Tools: []tool.Tool{forecast()}, Model: model, Approvals: policy, Normalize: withoutKeys}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		asked[q.DetailsSHA256.String()] = true
		return &perdure.Answer{Verdict: perdure.VerdictApprove}
	}
	s.Remember = func(perdure.Question) *perdure.Remember {
		return &perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantTool}
	}
	o := agenttest.Run(t, s)
	for _, want := range []string{"forecast = It rains in Bern.", "forecast = It rains in Oslo.", "Done."} {
		if !strings.Contains(o.Text(), want) {
			t.Errorf("the conversation lacks %q:\n%s\n%s", want, o.Text(), o.Error)
		}
	}
	agenttest.AllOfSample(t, s)
	if len(asked) != 1 || len(o.Questions) != 2 || o.Ran["forecast"] != 2 {
		t.Errorf("%d calls were asked about, of %q, and %d were run", len(asked), o.Questions, o.Ran["forecast"])
	}
}
