package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/worker"
)

// Approved schedules a task if the policy of the run permits it: here amounts up to 100.
func ExampleApproved() {
	refund := agent.DefineTask("refund", func(_ agent.TaskContext, amount int) (string, error) {
		return fmt.Sprint("refunded ", amount), nil
	})
	clerk := agent.DefineFunc("clerk", func(ctx agent.Context, amount int) (string, error) {
		f, err := agent.Approved(ctx, "refund", amount)
		if errors.Is(err, agent.ErrDenied) {
			return err.Error(), nil
		}
		if err != nil {
			return "", err
		}
		return agent.Await[string](ctx, f)
	})
	house := exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(clerk)
		w.RegisterTask(refund)
	})
	defer house.Close()
	for _, amount := range []int{70, 700} {
		id := house.StartWith(client.StartRequest{
			Kind: "clerk", Input: json.RawMessage(fmt.Sprint(amount)),
			Approvals: perdure.ApprovalPolicy{
				{Tools: []string{"refund"}, When: json.RawMessage(`{"properties": {"arguments": {"maximum": 100}}}`), Then: perdure.ApprovalAllow},
				{Tools: []string{"refund"}, Then: perdure.ApprovalDeny, Reason: "more than 100"},
			},
		})
		fmt.Println(exampletest.Outcome(house.Wait(id)))
	}
	// Output:
	// refunded 70
	// the answer is no: a rule denies refund: more than 100
}
