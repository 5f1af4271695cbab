package worker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// lines is a writer for log lines, safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}

// TestManyRecordsAreOneWarning checks that an execution with ManyRecords records since its
// checkpoint causes one warning in the log, even if its function is entered again. It also checks
// the number of records in the execution, which a checkpoint resets.
func TestManyRecordsAreOneWarning(t *testing.T) {
	longtest.Skip(t, "seconds")
	eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
		b.task("double", func(_ agent.TaskContext, n int) (int, error) { return 2 * n, nil })
		b.agent("a", func(ctx agent.Context) (string, error) {
			steps := func(name string, n int) error {
				for i := range n {
					if _, err := agent.Step(ctx, name, func(context.Context) (int, error) { return i, nil }, agent.StepInstance(fmt.Sprint(i)), agent.Lazy()); err != nil {
						return err
					}
				}
				return ctx.Flush()
			}
			if ctx.CheckpointSeq() == 0 {
				if err := steps("one", perdure.ManyRecords-2); err != nil {
					return "", err
				}
				if _, err := agent.Call[int](ctx, "double", 1); err != nil {
					return "", err
				}
				// The number of records is now one below the limit.
				if _, err := ctx.WaitSignal("go", 0); err != nil {
					return "", err
				}
				if err := steps("two", 5); err != nil {
					return "", err
				}
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return "", err
				}
				if _, err := ctx.WaitSignal("on", 0); err != nil {
					return "", err
				}
				if err := ctx.Checkpoint("done"); err != nil {
					return "", err
				}
			}
			if err := steps("three", 7); err != nil {
				return "", err
			}
			_, err := ctx.WaitSignal("end", 0)
			return "fine", err
		})
		log := &lines{}
		b.work(way, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		id := b.start("a")
		counted := func(want int64) {
			b.Helper()
			b.until(id, fmt.Sprint("it to count ", want), func(x *perdure.Execution) bool {
				return x.RecordsSinceCheckpoint == want && x.Status == perdure.StatusWaiting && x.WaitReason == "signal"
			})
		}
		counted(perdure.ManyRecords - 1)
		if n := log.count("many records"); n != 0 {
			b.Errorf("%d warnings of fewer records", n)
		}
		b.signal(id, "go", "1")
		counted(perdure.ManyRecords + 4)
		b.signal(id, "on", "1")
		counted(7)
		b.signal(id, "end", "1")
		b.output(id, "fine")
		if n := log.count("many records"); n != 1 {
			b.Errorf("%d warnings", n)
		}
	})
}
