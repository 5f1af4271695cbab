package agenttest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/tool"

	"github.com/perdure/perdure/internal/longtest"
)

// TestAChosenModel checks that a choice of the model applies from the next turn on, within a
// response and between two responses, under every fault that agenttest injects. Each text of a
// script contains the name of its model.
func TestAChosenModel(t *testing.T) {
	longtest.Skip(t, "seconds")
	script := func(name string) string {
		return "turn\n  call forecast {\"city\": \"Bern\"}\nturn\n  text Second of " + name + ".\nturn\n  text Third of " + name + ".\n"
	}
	choose := func(id string, after time.Duration) agenttest.Signal {
		return agenttest.Signal{Name: perdure.ModelSignal, Value: perdure.ModelChoice{Provider: "scripted", ModelID: id}, After: after}
	}
	say := func(after time.Duration) agenttest.Signal {
		return agenttest.Signal{Name: perdure.UserMessage, Value: map[string]string{"text": "go on"}, After: after}
	}
	slow := tool.New("forecast", "Look up the weather.", func(ctx context.Context, _ *tool.Call, _ struct {
		City string `json:"city"`
	},
	) (tool.Result, error) {
		select {
		case <-time.After(10 * time.Minute): // of virtual time
			return tool.Text("It rains."), nil
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}, tool.WithOnLost(perdure.OnLostRetry))
	s := agenttest.Scenario{
		Input: "x", Tools: []tool.Tool{slow}, Chat: true, CancelAfter: 10 * time.Hour,
		Model: script("one"), Models: map[string]string{"two": script("two"), "three": script("three")},
		Signals: []agenttest.Signal{choose("three", time.Minute), choose("two", 2*time.Minute), choose("three", 5*time.Hour), say(6 * time.Hour)},
	}
	o := agenttest.Run(t, s)
	if !strings.Contains(o.Text(), "Second of two.") || !strings.Contains(o.Text(), "Third of three.") {
		t.Errorf("the models are not those that were chosen:\n%s", o.Text())
	}
	agenttest.AllOfSample(t, s)
}
