package agent_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/worker"
)

// refundsOf runs an agent whose refunds people approve. It returns the output of the agent and the
// number of refunds that were made.
func refundsOf(t *testing.T, answers map[string]client.AnswerRequest, code func(agent.Context) ([]int, error)) (string, int) {
	runs := 0
	refund := agent.DefineTask("refund", func(_ agent.TaskContext, amount int) (int, error) {
		runs++
		return amount, nil
	})
	clerk := agent.DefineFunc("clerk", func(ctx agent.Context, _ any) ([]int, error) { return code(ctx) })
	house := exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(clerk)
		w.RegisterTask(refund)
	})
	defer house.Close()
	id := house.StartWith(client.StartRequest{
		Kind: "clerk", Input: []byte("1"), Approvals: perdure.ApprovalPolicy{{Tools: []string{"refund"}, Then: perdure.ApprovalAsk, Edit: perdure.EditClient}},
	})
	if answers != nil {
		house.Answer(id, answers)
	}
	return exampletest.Outcome(house.Wait(id)), runs
}

// TestAnEditedTaskIsATaskOfItsOwn checks two tasks that run with the same input. One was scheduled
// with this input, and the other has it because a voter changed its input. They are different
// tasks, and each has its own approval.
func TestAnEditedTaskIsATaskOfItsOwn(t *testing.T) {
	key := func(in string) string {
		k, err := perdure.DefaultTaskKey(uuid.Nil, "refund", []byte(in), "")
		if err != nil {
			t.Fatal(err)
		}
		return "approval:" + k
	}
	got, runs := refundsOf(t, map[string]client.AnswerRequest{
		key("7"): {Verdict: perdure.VerdictApprove, Details: []byte("8")},
		key("8"): {Verdict: perdure.VerdictApprove},
	}, func(ctx agent.Context) ([]int, error) {
		var all []int
		for _, amount := range []int{7, 8} {
			f, err := agent.Approved(ctx, "refund", amount)
			if err != nil {
				return all, err
			}
			n, err := agent.Await[int](ctx, f)
			if err != nil {
				return all, err
			}
			all = append(all, n)
		}
		return all, nil
	})
	if got != "[8,8]" || runs != 2 {
		t.Errorf("two approvals: %s, and %d have run", got, runs)
	}
}

// TestAGuardedTaskHasNoKeyTTL checks that a task that a policy guards cannot have a KeyTTL. With a
// KeyTTL, a later task with the same key could run under the approval of the first one.
func TestAGuardedTaskHasNoKeyTTL(t *testing.T) {
	got, runs := refundsOf(t, nil, func(ctx agent.Context) ([]int, error) {
		_, err := agent.Approved(ctx, "refund", 1, agent.Key("daily"), agent.KeyTTL(time.Hour))
		if !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("it is scheduled: %v", err)
		}
		return nil, nil
	})
	if runs != 0 {
		t.Errorf("%s, and %d have run", got, runs)
	}
}
