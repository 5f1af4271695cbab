package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// modes are the persistence modes in which tests run.
var modes = []perdure.PersistenceMode{perdure.Remote, perdure.Local}

// tour is an agent that uses many features of an agent.Context, one after another. It counts
// effects that may occur only once.
type tour struct {
	mu  sync.Mutex // guards the field ran
	ran map[string]int
	*bench
}

func (o *tour) count(what string, id uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ran[id.String()+" "+what]++
}

// big is longer than InlineLimit, so it is stored as a blob.
var big = strings.Repeat("0123456789abcdef", 4<<10)

type tourState struct{ Phase int }

func (o *tour) run(ctx agent.Context) (string, error) {
	var st tourState
	if _, err := ctx.State(&st); err != nil {
		return "", err
	}
	for ; st.Phase < len(phases); st.Phase++ {
		if err := phases[st.Phase](o, ctx); err != nil {
			return "", fmt.Errorf("phase %d: %w", st.Phase, err)
		}
		if err := ctx.Checkpoint(tourState{st.Phase + 1}); err != nil {
			return "", err
		}
	}
	var said []string
	for e, err := range ctx.Messages() {
		if err != nil {
			return "", err
		}
		m, err := e.Message()
		if err != nil {
			return "", err
		}
		said = append(said, short(m.PlainText()))
	}
	return strings.Join(said, "|"), nil
}

func short(s string) string { return fmt.Sprintf("%.12s(%d)", s, len(s)) }

var phases = []func(*tour, agent.Context) error{
	func(o *tour, ctx agent.Context) error {
		ctx.Stream().Text("welcome")
		_, err := ctx.Append(user(big), agent.WithKey("begin"))
		return err
	},
	func(o *tour, ctx agent.Context) error {
		n, err := agent.Step(ctx, "step", func(context.Context) (int, error) { o.count("step", ctx.ID()); return 7, nil })
		if err != nil || n != 7 {
			return fmt.Errorf("the step gave %d, %w", n, err)
		}
		_, err = agent.Step(ctx, "failing step", func(context.Context) (int, error) { return 0, errors.New("no luck") })
		if err == nil || !strings.Contains(err.Error(), "no luck") {
			return fmt.Errorf("the failing step gave %v", err)
		}
		return nil
	},
	func(o *tour, ctx agent.Context) error {
		var futures []agent.Future
		for i := range 4 {
			futures = append(futures, ctx.Schedule("double", i))
		}
		got, err := agent.JoinAll[int](ctx, futures...)
		if err != nil || !slices.Equal(got, []int{0, 2, 4, 6}) {
			return fmt.Errorf("the join gave %v, %w", got, err)
		}
		m := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(fmt.Sprint(got))}}}
		_, err = ctx.Append(m, agent.WithKey("joined"))
		return err
	},
	func(o *tour, ctx agent.Context) error { return ctx.Sleep(time.Millisecond) },
	func(o *tour, ctx agent.Context) error {
		for range 3 {
			s, err := ctx.WaitSignal("say.*", 0)
			if err != nil {
				return err
			}
			if _, err := ctx.Append(user(string(s.Value)), agent.WithKey(s.EntryKey())); err != nil {
				return err
			}
		}
		_, err := ctx.WaitSignal("never", time.Millisecond)
		if !errors.Is(err, agent.ErrTimeout) {
			return fmt.Errorf("the wait gave %v", err)
		}
		return nil
	},
	func(o *tour, ctx agent.Context) error {
		i, v, err := agent.Select[int](ctx, ctx.Schedule("fail", 1), ctx.Schedule("double", 21))
		if i != 1 || v != 42 || err != nil {
			return fmt.Errorf("the select gave %d %d %w", i, v, err)
		}
		if _, err := agent.Call[int](ctx, "fail", 2); err == nil || !strings.Contains(err.Error(), "never works") {
			return fmt.Errorf("the failing task gave %v", err)
		}
		large, err := agent.Call[string](ctx, "large", 3)
		if err != nil || large != big {
			return fmt.Errorf("the large task gave %d bytes, %w", len(large), err)
		}
		return ctx.Emit(map[string]string{"type": "artifact"})
	},
}

// takeTour runs three executions of the agent "tour" on the given number of workers, and checks
// their outputs and streams. Each effect that the tour counts must have occurred exactly once.
// `change` returns a function that edits the configuration of a worker.
func takeTour(t *testing.T, mode perdure.PersistenceMode, lease time.Duration, workers int, change func(b *bench) func(*Config)) {
	b := newBench(t, lease)
	b.mode = mode
	o := &tour{ran: map[string]int{}, bench: b}
	o.define()
	for range workers {
		b.work(change(b))
	}
	var ids []uuid.UUID
	for range 3 {
		id := b.start("tour")
		ids = append(ids, id)
		b.signal(id, "say.one", `"one"`) // before the agent waits for the signal
	}
	for _, id := range ids {
		b.waiting(id, "signal")
		b.signal(id, "say.two", `"two"`)
		b.signal(id, "say.three", `"three"`)
	}
	for _, id := range ids {
		o.check(id)
		o.checkShown(id)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for what, n := range o.ran {
		if n != 1 {
			t.Errorf("%s ran %d times", what, n)
		}
	}
}

// define defines the agent "tour" and its tasks on the bench.
func (o *tour) define() {
	b := o.bench
	b.agent("tour", o.run)
	b.task("double", func(ctx agent.TaskContext, n int) (int, error) {
		o.count(fmt.Sprint("double ", n), ctx.Task().ExecutionID)
		ctx.Stream().Text("doubling ")
		ctx.Stream().Text(fmt.Sprint(n))
		ctx.Stream().Terminal("stdout", []byte("ok"))
		return 2 * n, nil
	})
	b.task("fail", func(agent.TaskContext, int) (int, error) { return 0, agent.Permanent(errors.New("never works")) })
	b.tasks = append(b.tasks, agent.DefineTask("large", func(agent.TaskContext, int) (string, error) { return big, nil }))
}

// check checks the output and the number of events of an execution of the agent "tour".
func (o *tour) check(id uuid.UUID) {
	o.Helper()
	o.output(id, fmt.Sprintf(`%s|[0 2 4 6](9)|"one"(5)|"two"(5)|"three"(7)`, short(big)))
	for what, want := range map[perdure.EventType]int{
		perdure.EventEntry: 5, perdure.EventTaskScheduled: 8, perdure.EventTaskCompleted: 6,
		perdure.EventSignal: 3, perdure.EventCheckpoint: len(phases), perdure.EventData: 1,
	} {
		if n := o.bench.count(id, what); n != want {
			o.Errorf("%d %s events, want %d", n, what, want)
		}
	}
	// The end of the execution cancels the task that Select did not choose, if that task still
	// runs.
	if n := o.bench.count(id, perdure.EventTaskFailed) + o.bench.count(id, perdure.EventTaskCancelled); n != 2 {
		o.Errorf("%d tasks failed or were cancelled, want 2", n)
	}
}

// checkShown checks the streamed text of an execution of the agent "tour". The text is in the log
// or, in mode LOCAL, in the worker's local store.
func (o *tour) checkShown(id uuid.UUID) {
	o.Helper()
	want := []string{"doubling 0", "doubling 1", "doubling 2", "doubling 21", "doubling 3", "ok", "ok", "ok", "ok", "ok", "welcome"}
	if o.mode == perdure.Local {
		for _, text := range want {
			ref := perdure.ContentRef(id, []byte(text))
			if got := o.content(id, nil, &ref); string(got) != text {
				o.Errorf("shown: %q, want %q", got, text)
			}
		}
		return
	}
	var shown []string
	blocks := map[int64]int{}
	for _, r := range o.log(id) {
		if r.Chunk == nil {
			continue
		}
		if _, known := blocks[r.Seq]; !known {
			blocks[r.Seq] = len(shown)
			shown = append(shown, "")
		}
		shown[blocks[r.Seq]] += r.Chunk.Text
	}
	slices.Sort(shown)
	if !slices.Equal(shown, want) {
		o.Errorf("shown: %q, want %q", shown, want)
	}
}

func parked(n int) func(*bench) func(*Config) {
	return func(*bench) func(*Config) { return func(c *Config) { c.Parked = n } }
}

// TestOutcomeIsTheSameHoweverItGoesOn checks that executions of the agent "tour" have the same
// outcome with and without parked goroutines, and with different numbers of workers and slots.
func TestOutcomeIsTheSameHoweverItGoesOn(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, test := range map[string]struct {
		workers int
		change  func(*bench) func(*Config)
	}{
		"in place":            {1, parked(100)},
		"entered again":       {1, parked(-1)},
		"one goroutine kept":  {1, parked(1)},
		"kept for no time":    {1, func(*bench) func(*Config) { return func(c *Config) { c.ParkedFor = time.Nanosecond } }},
		"three workers":       {3, parked(100)},
		"three forgetful":     {3, parked(-1)},
		"one slot of each":    {1, func(*bench) func(*Config) { return func(c *Config) { c.Agents, c.Tasks = 1, 1 } }},
		"one slot, forgetful": {1, func(*bench) func(*Config) { return func(c *Config) { c.Agents, c.Tasks, c.Parked = 1, 1, -1 } }},
	} {
		for _, mode := range modes {
			t.Run(fmt.Sprint(mode, " ", name), func(t *testing.T) { takeTour(t, mode, 5*time.Second, test.workers, test.change) })
		}
	}
}

// TestOutcomeIsTheSameUnderFaults checks that executions of the agent "tour" have the same outcome
// if calls between worker and server are lost or arrive twice.
func TestOutcomeIsTheSameUnderFaults(t *testing.T) {
	longtest.Skip(t, "seconds")
	chosen := longtest.Sample(t, 3)
	for name, plan := range map[string]func(string, int) fault{
		"everything arrives twice":  func(string, int) fault { return twice },
		"every answer is lost once": func(_ string, n int) fault { return []fault{fine, after}[n%2] },
		"every third call fails":    func(_ string, n int) fault { return []fault{before, fine, fine}[n%3] },
		"a mix":                     func(_ string, n int) fault { return []fault{twice, before, after, fine}[n%4] },
	} {
		for _, n := range []int{100, -1} {
			for _, mode := range modes {
				name := fmt.Sprintf("%s %s, parked %d", mode, name, n)
				if !chosen(name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					takeTour(t, mode, 20*time.Second, 1, func(b *bench) func(*Config) {
						over := b.overFaulty(&faulty{plan: plan})
						return func(c *Config) { over(c); c.Parked = n }
					})
				})
			}
		}
	}
}
