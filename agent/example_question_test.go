package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/worker"
)

// answered runs an agent, answers its questions, and prints its output.
func answered(a agent.Definition, answers map[string]client.AnswerRequest) {
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(a) })
	defer house.Close()
	id := house.Start(a.Spec.Kind, nil)
	house.Answer(id, answers)
	fmt.Println(exampletest.Outcome(house.Wait(id)))
}

// The people who answer see a form with a field for each field of the type.
func ExampleAskFor() {
	type release struct {
		Version string `json:"version"`
		Hosts   int    `json:"hosts"`
	}
	deploy := agent.DefineFunc("deploy", func(ctx agent.Context, _ any) (string, error) {
		r, err := agent.AskFor[release](ctx, "release", "What shall be deployed?")
		return fmt.Sprintf("%s on %d hosts", r.Version, r.Hosts), err
	})
	answered(deploy, map[string]client.AnswerRequest{
		"release": {Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`{"version": "v7", "hosts": 3}`)},
	})
	// Output: v7 on 3 hosts
}

// If a person denies, the error contains the reason.
func ExampleAskChoice() {
	deploy := agent.DefineFunc("deploy", func(ctx agent.Context, _ any) (string, error) {
		where, err := agent.AskChoice(ctx, "where", "Where to?", []string{"staging", "production"})
		if err != nil {
			return "", err
		}
		_, err = agent.AskChoice(ctx, "where", "And then?", []string{"staging", "production"}, agent.AskInstance("2"))
		if errors.Is(err, agent.ErrDenied) {
			return fmt.Sprintf("%s; %v", where, err), nil
		}
		return "", err
	})
	answered(deploy, map[string]client.AnswerRequest{
		"where":   {Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"staging"`)},
		"where#2": {Verdict: perdure.VerdictDeny, Reason: "not on a Friday"},
	})
	// Output: staging; the answer is no: not on a Friday
}

// The details are shown beside the question. An approval counts for exactly these details.
func ExampleConfirm() {
	pay := agent.DefineFunc("pay", func(ctx agent.Context, _ any) (string, error) {
		yes, reason, err := agent.Confirm(ctx, "pay", "Pay this invoice?", map[string]any{"invoice": 17, "amount": "12.00"})
		return fmt.Sprintf("%t: %s", yes, reason), err
	})
	answered(pay, map[string]client.AnswerRequest{"pay": {Verdict: perdure.VerdictApprove, Reason: "within the budget"}})
	// Output: true: within the budget
}

// An agent waits for a decision or a message. If the message comes first, the agent withdraws the
// question.
func ExampleOnQuestion() {
	plan := agent.DefineFunc("plan", func(ctx agent.Context, _ any) (string, error) {
		asked := ctx.OpenQuestion(agent.Question{Name: "plan", Kind: "plan", Prompt: "Is the plan fine?", Details: []string{"test", "deploy"}})
		met, err := ctx.WaitAny(time.Hour, agent.OnQuestion(asked), agent.OnSignal("userMessage"))
		if err != nil {
			return "", err
		}
		if met.Index == 1 {
			ctx.WithdrawQuestion(asked)
			return "changed", nil
		}
		answer, err := agent.Decision(met.Questions[0])
		return string(answer.Verdict) + " by " + answer.By, err
	})
	answered(plan, map[string]client.AnswerRequest{"plan": {Verdict: perdure.VerdictApprove}})
	// Output: approve by token
}

// Each of these questions says what happens if nobody answers it in time. The first one needs two
// approvers, and the one who started the run cannot be one of them.
func ExampleAskDeny() {
	wait := time.Millisecond
	ask := agent.DefineFunc("ask", func(ctx agent.Context, _ any) (string, error) {
		yes, _, err := agent.Confirm(ctx, "strict", "Pay it?", nil, agent.AskVotes(2), agent.AskOthers(), agent.AskBy("approver"), agent.AskDeny(wait))
		if err != nil {
			return "", err
		}
		where, err := agent.AskChoice(ctx, "where", "Where to?", []string{"here", "there"}, agent.AskDefault(wait, "here"))
		if err != nil {
			return "", err
		}
		_, _, err = agent.Confirm(ctx, "open", "Really?", nil, agent.AskFail(wait))
		return fmt.Sprintf("%t, %s, %v", yes, where, err), nil
	})
	fmt.Println(exampletest.Run(ask, nil))
	// Output: false, here, nobody answered the question in time
}
