package agenttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/tool"

	"github.com/perdure/perdure/internal/longtest"
)

// TestAStoppedTurn checks a turn that a person stops while tool calls wait for their approval, and
// a message that arrives at the same time. Each call gets a result, the agent withdraws the
// questions and takes the message, under every fault that agenttest injects.
func TestAStoppedTurn(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{Input: "Weather?", Tools: []tool.Tool{forecast()}, Model: three, Approvals: cities(t), Normalize: withoutKeys}
	s.Signals = []agenttest.Signal{
		{Name: perdure.InterruptSignal, Value: map[string]string{"reason": "enough"}, After: time.Minute},
		{Name: perdure.UserMessage, Value: map[string]string{"text": "And now?"}, After: time.Minute},
	}
	o := agenttest.Run(t, s)
	// The call about Rome was allowed and had ended before the stop.
	if strings.Count(o.Text(), "forecast = stopped by the user") != 2 || !strings.Contains(o.Text(), "It rains in Rome.") ||
		strings.Count(o.Text(), "user: And now?") != 1 || !strings.Contains(o.Text(), "Done.") || o.Status != perdure.StatusCompleted || o.Elapsed > time.Hour {
		t.Errorf("after %s, %s:\n%s\n%q", o.Elapsed, o.Status, o.Text(), o.Questions)
	}
	for _, line := range o.Questions {
		if !strings.Contains(line, string(perdure.QuestionWithdrawn)) {
			t.Errorf("a question ends as %s", line)
		}
	}
	agenttest.AllOfSample(t, s)
}
