package agenttest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"

	"github.com/perdure/perdure/internal/longtest"
)

// payment is the input of the task pay.
type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

// payer is an agent that schedules a payment for each element of its input, and returns the outcome of
// each payment.
var payer = agent.DefineFunc("payer", func(ctx agent.Context, all []payment) ([]string, error) {
	var done []string
	for i, p := range all {
		f, err := agent.Approved(ctx, "pay", p, agent.Instance(fmt.Sprint(i)))
		if errors.Is(err, agent.ErrDenied) {
			done = append(done, err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		paid, err := agent.Await[string](ctx, f)
		if err != nil {
			return nil, err
		}
		done = append(done, paid)
	}
	return done, nil
})

func payTask() agent.TaskKind {
	return agenttest.Task("pay", func(p payment) (string, error) { return fmt.Sprintf("paid %d to %s", p.Amount, p.To), nil })
}

// paying returns a policy that allows small payments, denies payments to eve, and asks about all
// others.
func paying(t *testing.T) perdure.ApprovalPolicy {
	t.Helper()
	var p perdure.ApprovalPolicy
	if err := json.Unmarshal([]byte(`[
		{"tools": ["pay"], "when": {"properties": {"arguments": {"properties": {"to": {"const": "eve"}}}}}, "then": "deny", "reason": "no"},
		{"tools": ["pay"], "when": {"properties": {"arguments": {"properties": {"amount": {"maximum": 10}}}}}, "then": "allow"},
		{"tools": ["pay"], "then": "ask", "reason": "A large payment.", "edit": true, "expires": "1h"}
	]`), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTasksOfAnyKindAreApproved checks tasks that policies decide about, in an agent other than the
// react agent. Such a task runs only if the policies or people permit it, under every fault that
// agenttest injects.
func TestTasksOfAnyKindAreApproved(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{
		Agent: payer, Input: []payment{{"ann", 5}, {"bob", 500}, {"eve", 1}, {"dan", 700}, {"kim", 900}},
		Tasks: []agent.TaskKind{payTask()}, Approvals: paying(t),
	}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		if q.Subject != "pay" || q.Prompt != "A large payment." {
			t.Errorf("it asks about %q: %q", q.Subject, q.Prompt)
		}
		var p payment
		if err := json.Unmarshal(q.Details, &p); err != nil {
			t.Errorf("the details are %s", q.Details)
		}
		switch p.To {
		case "bob":
			return &perdure.Answer{Verdict: perdure.VerdictApprove}
		case "dan":
			return &perdure.Answer{Verdict: perdure.VerdictDeny, Reason: "too much"}
		case "kim":
			return &perdure.Answer{Verdict: perdure.VerdictApprove, Value: json.RawMessage(`{"to": "kim", "amount": 9}`)}
		}
		return nil
	}
	o := agenttest.Run(t, s)
	want := `["paid 5 to ann","paid 500 to bob","the answer is no: a rule denies pay: no","the answer is no: too much","paid 9 to kim"]`
	if string(o.Output) != want || o.Ran["pay"] != 3 {
		t.Errorf("%s after %d payments, %s, want %s", o.Output, o.Ran["pay"], o.Error, want)
	}
	agenttest.AllOfSample(t, s)
}

// TestLargeTasksAreApproved checks that people can approve a task whose input is over InlineLimit, and
// that the task gets exactly this input.
func TestLargeTasksAreApproved(t *testing.T) {
	longtest.Skip(t, "seconds")
	to := strings.Repeat("bob", perdure.InlineLimit)
	s := agenttest.Scenario{Agent: payer, Input: []payment{{to, 500}}, Tasks: []agent.TaskKind{payTask()}, Approvals: paying(t)}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		if want := `{"to":"` + to + `","amount":500}`; string(q.Details) != want {
			t.Errorf("the details are %d bytes, want %d", len(q.Details), len(want))
		}
		return &perdure.Answer{Verdict: perdure.VerdictApprove}
	}
	if o := agenttest.Run(t, s); string(o.Output) != `["paid 500 to `+to+`"]` {
		t.Errorf("it has ended with %d bytes, %s", len(o.Output), o.Error)
	}
	agenttest.AllOfSample(t, s)
}

// TestUnansweredTasksAreDenied checks that a task about which a policy asks is denied if nobody
// answers the question.
func TestUnansweredTasksAreDenied(t *testing.T) {
	s := agenttest.Scenario{Agent: payer, Input: []payment{{"bob", 500}}, Tasks: []agent.TaskKind{payTask()}, Approvals: paying(t)}
	o := agenttest.Run(t, s)
	if !strings.Contains(string(o.Output), "nobody answered in time") || o.Ran["pay"] != 0 || o.Elapsed < time.Hour {
		t.Errorf("%s, %s after %s", o.Output, o.Error, o.Elapsed)
	}
	s.Approvals = nil
	if o := agenttest.Run(t, s); string(o.Output) != `["paid 500 to bob"]` || len(o.Questions) != 0 {
		t.Errorf("without a policy: %s, %s", o.Output, o.Error)
	}
}

// TestEqualApprovedTasksAreOne checks that equal tasks of an agent's function are one task with one
// question. In agent.Loop, equal tasks of different calls of the step function are different tasks.
func TestEqualApprovedTasksAreOne(t *testing.T) {
	longtest.Skip(t, "seconds")
	twice := func(ctx agent.Context) error {
		for range 2 {
			f, err := agent.Approved(ctx, "pay", payment{"bob", 500})
			if err != nil {
				return err
			}
			if _, err := agent.Await[string](ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
	s := agenttest.Scenario{Input: 0, Tasks: []agent.TaskKind{payTask()}, Approvals: paying(t)}
	s.Answers = func(perdure.Question) *perdure.Answer { return &perdure.Answer{Verdict: perdure.VerdictApprove} }
	s.Agent = agent.DefineFunc("twice", func(ctx agent.Context, _ int) (int, error) { return 0, twice(ctx) })
	if o := agenttest.Run(t, s); o.Ran["pay"] != 1 || len(o.Questions) != 1 {
		t.Errorf("%d payments after %q, %s", o.Ran["pay"], o.Questions, o.Error)
	}
	s.Agent = agent.DefineFunc("loop", func(ctx agent.Context, n int) (int, error) {
		err := agent.Loop(ctx, &n, func(ctx agent.Context, n *int) (bool, error) {
			*n++
			return *n == 3, twice(ctx)
		})
		return n, err
	})
	if o := agenttest.Run(t, s); o.Ran["pay"] != 3 || len(o.Questions) != 3 {
		t.Errorf("in a loop: %d payments after %q, %s", o.Ran["pay"], o.Questions, o.Error)
	}
	agenttest.AllOfSample(t, s)
}

// TestTasksWithoutClearanceFailTheRun checks that an execution fails if its agent schedules a task
// of a guarded kind without a perdure.Clearance, or with the number of a rule that does not allow
// the task.
func TestTasksWithoutClearanceFailTheRun(t *testing.T) {
	rule := 1
	for name, options := range map[string][]agent.TaskOption{
		"without":        nil,
		"with a lie":     {agent.WithClearance(perdure.Clearance{Rule: &rule})},
		"in another key": {agent.Key("k"), agent.WithClearance(perdure.Clearance{Rule: &rule})},
	} {
		s := agenttest.Scenario{Input: 0, Tasks: []agent.TaskKind{payTask()}, Approvals: paying(t)}
		s.Agent = agent.DefineFunc("liar", func(ctx agent.Context, _ int) (string, error) {
			return agent.Await[string](ctx, ctx.Schedule("pay", payment{"bob", 500}, options...))
		})
		o := agenttest.Run(t, s)
		if o.Status != perdure.StatusFailed || !strings.HasPrefix(o.Error, "permission_denied") || o.Ran["pay"] != 0 {
			t.Errorf("%s: %s, %s", name, o.Status, o.Error)
		}
	}
}

// TestConfinedTasksRunOnlyWhereTheirCodeConfines checks that a task that a policy allows with
// `requires: confined` does not run if its definition does not say that it confines its commands.
func TestConfinedTasksRunOnlyWhereTheirCodeConfines(t *testing.T) {
	payer := agent.DefineFunc("payer", func(ctx agent.Context, p payment) (string, error) {
		f, err := agent.Approved(ctx, "pay", p)
		if err != nil {
			return "", err
		}
		paid, err := agent.Await[string](ctx, f)
		if perdure.IsCode(err, perdure.PermissionDenied) {
			return "refused", nil
		}
		return paid, err
	})
	for confines, want := range map[bool]string{false: `"refused"`, true: `"paid"`} {
		ran := 0
		pay := agent.DefineTask("pay", func(agent.TaskContext, payment) (string, error) { ran++; return "paid", nil })
		pay.Confines = confines
		o := agenttest.Run(t, agenttest.Scenario{
			Agent: payer, Input: payment{"ann", 5}, Tasks: []agent.TaskKind{pay},
			Approvals: perdure.ApprovalPolicy{{Tools: []string{"pay"}, Then: perdure.ApprovalAllow, Requires: perdure.RequiresConfined}},
		})
		if string(o.Output) != want || (ran > 0) != confines {
			t.Errorf("confines %v: the output is %s, the task ran %d times, %s", confines, o.Output, ran, o.Error)
		}
	}
}
