package agenttest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/internal/longtest"
)

// deploy is an agent that asks for a version and for a confirmation, and appends the answers.
func deploy(ctx agent.Context, _ any) (string, error) {
	type version struct {
		Name string `json:"name"`
	}
	v, err := agent.AskFor[version](ctx, "version", "Which version?")
	if err != nil {
		return "", err
	}
	yes, reason, err := agent.Confirm(ctx, "sure", "Deploy?", v)
	if err != nil {
		return "", err
	}
	if _, err := ctx.Append(perdure.UserText(v.Name+" "+reason), agent.WithKey("told")); err != nil {
		return "", err
	}
	where, err := agent.AskChoice(ctx, "where", "Where?", []string{"here", "there"})
	if errors.Is(err, agent.ErrDenied) {
		where = "nowhere"
	} else if err != nil {
		return "", err
	}
	if !yes {
		return "kept back, " + where, nil
	}
	return "deployed " + v.Name + " " + where, nil
}

// told returns the answer to a question of the agent deploy.
func told(q perdure.Question) *perdure.Answer {
	switch q.Key {
	case "version":
		return &perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"name": "v7"}`)}
	case "sure":
		return &perdure.Answer{Verdict: perdure.VerdictApprove, Reason: "tested"}
	}
	return &perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"there"`)}
}

// TestAnAgentAsks checks that an agent gets the answers to questions of each kind, under every fault
// that agenttest injects.
func TestAnAgentAsks(t *testing.T) {
	s := agenttest.Scenario{Agent: agent.DefineFunc("deploy", deploy), Answers: told}
	o := agenttest.Run(t, s)
	if string(o.Output) != `"deployed v7 there"` || o.Text() != "user: v7 tested\n" {
		t.Errorf("%s %s after %q with %q", o.Status, o.Output, o.Text(), o.Error)
	}
	agenttest.AllOfSample(t, s)
}

// TestDeniedAndExpiredQuestions checks questions that are denied, and a question that stays open
// because nobody answers it.
func TestDeniedAndExpiredQuestions(t *testing.T) {
	denied := func(q perdure.Question) *perdure.Answer {
		if q.Key == "version" {
			return told(q)
		}
		return &perdure.Answer{Verdict: perdure.VerdictDeny, Reason: "no"}
	}
	o := agenttest.Run(t, agenttest.Scenario{Agent: agent.DefineFunc("deploy", deploy), Answers: denied})
	if string(o.Output) != `"kept back, nowhere"` {
		t.Errorf("with denials: %s %s", o.Output, o.Error)
	}
	o = agenttest.Run(t, agenttest.Scenario{Agent: agent.DefineFunc("deploy", deploy)})
	if o.Status != perdure.StatusWaiting || len(o.Questions) != 1 || !strings.HasSuffix(o.Questions[0], "open") {
		t.Errorf("without answers: %s, %q", o.Status, o.Questions)
	}
}

// TestQuestionsExpire checks what an agent receives if nobody answers its question in time.
func TestQuestionsExpire(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, c := range map[string]struct {
		option agent.QuestionOption
		want   string
	}{
		"fail":    {agent.AskFail(time.Hour), `"expired"`},
		"deny":    {agent.AskDeny(time.Hour), `"denied"`},
		"default": {agent.AskDefault(time.Hour, "here"), `"here"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.Scenario{Agent: agent.DefineFunc("patient", func(ctx agent.Context, _ any) (string, error) {
				where, err := agent.AskChoice(ctx, "where", "Where?", []string{"here", "there"}, c.option)
				switch {
				case errors.Is(err, agent.ErrExpired):
					return "expired", nil
				case errors.Is(err, agent.ErrDenied):
					return "denied", nil
				}
				return where, err
			})}
			if o := agenttest.Run(t, s); string(o.Output) != c.want || o.Elapsed < time.Hour {
				t.Errorf("%s after %s, %s", o.Output, o.Elapsed, o.Error)
			}
			agenttest.AllOfSample(t, s)
		})
	}
}

// TestQuestionsAmongOtherWaits checks a wait for a question together with a signal and a timer, a
// question that is withdrawn, and a question whose name is used twice.
func TestQuestionsAmongOtherWaits(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("host", func(ctx agent.Context, _ any) (string, error) {
			plan := ctx.OpenQuestion(agent.Question{Name: "plan", Kind: "plan", Prompt: "Fine?", Details: map[string]int{"steps": 3}})
			twice := ctx.OpenQuestion(agent.Question{Name: "plan", Prompt: "Fine?"})
			if !perdure.IsCode(twice.Err(), perdure.QuestionKeyReused) {
				return "", errors.New("a name was used twice")
			}
			other := ctx.OpenQuestion(agent.Question{Name: "plan", Instance: "2", Prompt: "And this?"})
			met, err := ctx.WaitAny(0, agent.OnQuestion(plan), agent.OnSignal("stop"))
			if err != nil {
				return "", err
			}
			ctx.WithdrawQuestion(other)
			gone, err := ctx.AwaitQuestion(other)
			if err != nil {
				return "", err
			}
			if _, err := agent.Decision(gone); !errors.Is(err, agent.ErrWithdrawn) {
				return "", errors.New("the other question was not withdrawn")
			}
			if met.Index == 1 {
				return "stopped", nil
			}
			return string(met.Questions[0].Answer.Verdict), nil
		}),
	}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		if q.Key == "plan" {
			return &perdure.Answer{Verdict: perdure.VerdictApprove}
		}
		return nil
	}
	if o := agenttest.Run(t, s); string(o.Output) != `"approve"` {
		t.Errorf("with an answer: %s %s", o.Output, o.Error)
	}
	agenttest.AllOfSample(t, s)
	s.Answers, s.Signals = nil, []agenttest.Signal{{Name: "stop"}}
	if o := agenttest.Run(t, s); string(o.Output) != `"stopped"` || len(o.Questions) != 2 {
		t.Errorf("with a signal: %s %s %q", o.Output, o.Error, o.Questions)
	}
	agenttest.AllOfSample(t, s)
}

// TestAnswersOfSeveralVoters checks questions that need several votes, and questions that limit who may
// answer.
func TestAnswersOfSeveralVoters(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("pay", func(ctx agent.Context, _ any) (string, error) {
			yes, reason, err := agent.Confirm(ctx, "pay", "Pay it?", nil, agent.AskVotes(3), agent.AskOthers(), agent.AskBy("approver"))
			if err != nil || !yes {
				return "", err
			}
			own, _, err := agent.Confirm(ctx, "own", "Pay it?", nil, agent.AskBy("key:6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
			if !own {
				return "", err
			}
			return reason, err
		}),
		Answers: func(q perdure.Question) *perdure.Answer {
			return &perdure.Answer{Verdict: perdure.VerdictApprove, Reason: q.Key + " " + string(rune('1'+len(q.Votes)))}
		},
	}
	if o := agenttest.Run(t, s); string(o.Output) != `"pay 3"` {
		t.Errorf("%s: %s %s %q", o.Status, o.Output, o.Error, o.Questions)
	}
	agenttest.AllOfSample(t, s)
}

// TestSchemasMayBeWrittenInAnyWay checks that a function that is entered again gets the answer to its
// question, although the stored schema differs from the schema in the code in white space and escapes.
func TestSchemasMayBeWrittenInAnyWay(t *testing.T) {
	longtest.Skip(t, "seconds")
	schema := json.RawMessage(`{ "type": "string", "description": "<b> & more" }`)
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("form", func(ctx agent.Context, _ any) (string, error) {
			a, err := ctx.Ask(agent.Question{Name: "to", Kind: perdure.QuestionInput, Prompt: "To whom?", Schema: schema})
			if err != nil {
				return "", err
			}
			return string(a.Value), ctx.Sleep(time.Hour)
		}),
		Answers: func(perdure.Question) *perdure.Answer {
			return &perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"ann"`)}
		},
	}
	if o := agenttest.Run(t, s); string(o.Output) != `"\"ann\""` {
		t.Errorf("%s: %s %s %q", o.Status, o.Output, o.Error, o.Questions)
	}
	agenttest.RunReentered(t, s)
	agenttest.CrashAtEveryCommit(t, s)
}
