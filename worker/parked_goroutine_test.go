package worker

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestGoroutineThatIsKeptHasWhatItHad checks that an agent sees the same input, tasks and signals
// whether its goroutine is parked or its function is entered again. For a parked goroutine, the
// claim contains only new data.
func TestGoroutineThatIsKeptHasWhatItHad(t *testing.T) {
	for _, parked := range []int{0, -1} {
		t.Run(fmt.Sprintf("Parked %d", parked), func(t *testing.T) {
			b := newBench(t, 30*time.Second)
			b.task("double", func(_ agent.TaskContext, n int) (int, error) { return 2 * n, nil })
			b.agent("a", func(ctx agent.Context) (string, error) {
				if _, err := ctx.WaitSignal("go", 0); err != nil {
					return "", err
				}
				results, err := ctx.Await(agent.All, ctx.Schedule("double", 21))
				if err != nil {
					return "", err
				}
				task := results[0].Task
				early, err := ctx.WaitSignal("early", 0)
				if err != nil {
					return "", err
				}
				late, err := ctx.WaitSignal("late", 0)
				return fmt.Sprint(string(ctx.Execution().Input), string(task.Input), string(task.Result), string(early.Value), string(late.Value)), err
			})
			b.work(func(c *Config) { c.Parked = parked })
			id := b.start("a")
			b.waiting(id, "signal")
			b.signal(id, "early", `"e"`)
			b.signal(id, "go", `1`)
			b.waiting(id, "signal")
			b.signal(id, "late", `"l"`)
			var got string
			if err := json.Unmarshal(b.ended(id, perdure.StatusCompleted).Output, &got); err != nil {
				t.Fatal(err)
			}
			if want := `null2142"e""l"`; got != want {
				t.Errorf("it saw %s, want %s", got, want)
			}
		})
	}
}
