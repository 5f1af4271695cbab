package agenttest_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
)

// nurse is an agent that waits for a day, asks a patient a question, and records the answer.
func nurse(ctx agent.Context, patient string) (string, error) {
	if err := ctx.Sleep(24 * time.Hour); err != nil {
		return "", err
	}
	if _, err := agent.Call[string](ctx, "ask", patient); err != nil {
		return "", err
	}
	answer, err := ctx.WaitSignal("answer", 0)
	if err != nil {
		return "", err
	}
	// The key prevents a second entry when the function is entered again.
	_, err = ctx.Append(perdure.UserText(string(answer.Value)), agent.WithKey(answer.EntryKey()))
	return patient + " was asked", err
}

// checkNurse is a test of the agent nurse. In the test file of a program, its name would be
// TestNurse.
func checkNurse(t *testing.T) {
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("nurse", nurse),
		Input: "Ann",
		// A fake replaces the task that would send a message. It fails once.
		Tasks: []agent.TaskKind{agenttest.Fails("ask", 1, agent.ErrTimeout, "sent")},
		// The signal is sent when the agent waits for it.
		Signals: []agenttest.Signal{{Name: "answer", Value: "I am fine."}},
	}
	o := agenttest.Run(t, s)
	if o.Status != perdure.StatusCompleted || o.Text() != "user: \"I am fine.\"\n" {
		t.Errorf("it is %s, having written:\n%s", o.Status, o.Text())
	}
	if o.Elapsed < 24*time.Hour { // virtual time: the test takes milliseconds
		t.Errorf("it asked after %s", o.Elapsed)
	}
	agenttest.All(t, s) // crashes, lost leases, calls that arrive twice
}

// The agent waits for a day, calls a task that may fail, and waits for a signal.
func Example() {
	_ = checkNurse // in your test file: func TestNurse(t *testing.T)
}
