package worker

import (
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestOutputsOfLocalExecutionsFitTheSchema checks outputs and results that do not fit the schema of
// their kind. The execution fails, and the task fails without another attempt. The worker checks
// the schemas for LOCAL executions, and the server does so for REMOTE ones.
func TestOutputsOfLocalExecutionsFitTheSchema(t *testing.T) {
	text := json.RawMessage(`{"type":"string","maxLength":4}`)
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			b := newBench(t, 0)
			b.mode = mode
			attempts := 0
			b.tasks = append(b.tasks, agent.DefineTask("echo", func(_ agent.TaskContext, in string) (string, error) {
				attempts++
				return in, nil
			}).Output(text))
			b.agents = append(b.agents, agent.DefineFunc("a", func(ctx agent.Context, in string) (string, error) {
				if in == "task" {
					return agent.Call[string](ctx, "echo", "too long")
				}
				return in, nil
			}).Output(text))
			store := b.newStore()
			b.work(func(c *Config) { c.Local = store })
			b.ended(b.startWith("a", "fits"), perdure.StatusCompleted)
			for _, in := range []string{"too long", "task"} {
				x := b.ended(b.startWith("a", in), perdure.StatusFailed)
				if x.ErrorCode == nil || *x.ErrorCode != perdure.InvalidArgument {
					t.Errorf("%s: it fails with %v", in, x.ErrorCode)
				}
			}
			if attempts != 1 {
				t.Errorf("the task has %d attempts", attempts)
			}
		})
	}
}
