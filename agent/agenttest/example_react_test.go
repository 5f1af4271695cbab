package agenttest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/tool"
)

// forecast is a tool that the program defines.
func forecast() tool.Tool {
	type place struct {
		City string `json:"city"`
	}
	return tool.New("forecast", "Look up the weather.", func(_ context.Context, _ *tool.Call, in place) (tool.Result, error) {
		return tool.Text("It rains in " + in.City + "."), nil
	}, tool.WithOnLost(perdure.OnLostRetry))
}

// checkWeather is a test of the react agent with the tool forecast. In the test file of a program,
// its name would be TestWeather.
func checkWeather(t *testing.T) {
	o := agenttest.Run(t, agenttest.Scenario{
		Input: "Do I need an umbrella in Bern?",
		Tools: []tool.Tool{forecast()},
		Model: `turn
  call forecast {"city": "Bern"}
turn
  expect It rains in Bern.
  text Yes.
`,
	})
	if o.Status != perdure.StatusCompleted || o.ModelCalls != 2 || !strings.Contains(o.Text(), "Yes.") {
		t.Errorf("it is %s after %d calls:\n%s", o.Status, o.ModelCalls, o.Text())
	}
}

// The react agent calls a tool. A script plays the model.
func ExampleRun() {
	_ = checkWeather // in your test file: func TestWeather(t *testing.T)
}
