package worker

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestPeek checks that Peek returns the state of a task without waiting for the task. A function
// that is entered again gets the same state as before.
func TestPeek(t *testing.T) {
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		end := make(chan struct{})
		b.task("slow", func(agent.TaskContext, int) (int, error) {
			<-end
			return 7, nil
		})
		b.agent("a", func(ctx agent.Context) (string, error) {
			slow := ctx.Schedule("slow", 1)
			if err := ctx.Flush(); err != nil {
				return "", err
			}
			before, err := ctx.Peek(slow)
			if err != nil {
				return "", err
			}
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			after, err := ctx.Peek(slow)
			if err != nil || !after.Ended() {
				return "", fmt.Errorf("the task has ended: %t, %w", after.Ended(), err)
			}
			var result int
			if err := json.Unmarshal(after.Task.Result, &result); err != nil {
				return "", err
			}
			return fmt.Sprint(before.Ended(), " ", result), nil
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		close(end)
		b.until(id, "the end of the task", func(*perdure.Execution) bool { return b.count(id, perdure.EventTaskCompleted) == 1 })
		b.signal(id, "go", "1")
		b.output(id, "false 7")
	})
}
