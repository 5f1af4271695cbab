package agenttest_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
)

// transfer is an agent that withdraws money from one account and deposits it into another.
func transfer(ctx agent.Context, cents int) (string, error) {
	for _, kind := range []string{"withdraw", "deposit"} {
		if _, err := agent.Call[int](ctx, kind, cents); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d cents are transferred", cents), nil
}

// checkTransfer is a test of the agent transfer. In the test file of a program, its name would be
// TestTransfer.
func checkTransfer(t *testing.T) {
	double := func(cents int) (int, error) { return 2 * cents, nil }
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("transfer", transfer),
		Input: 250,
		Tasks: []agent.TaskKind{agenttest.Task("withdraw", double), agenttest.Task("deposit", double)},
	}
	o := agenttest.Run(t, s)
	if string(o.Output) != `"250 cents are transferred"` || o.Ran["withdraw"] != 1 || o.Ran["deposit"] != 1 {
		t.Errorf("the output is %s after %v", o.Output, o.Ran)
	}
	agenttest.CrashAtEveryCommit(t, s)
}

// The transfer ends with the same outcome wherever its worker dies.
func ExampleCrashAtEveryCommit() {
	_ = checkTransfer // in your test file: func TestTransfer(t *testing.T)
}
