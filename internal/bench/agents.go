package bench

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

// The kinds of the workloads' agents and tasks.
const (
	stepsKind  = "bench-steps"
	signalKind = "bench-signal"
	growKind   = "bench-grow"
	waitKind   = "bench-wait"
	echoKind   = "bench-echo"
)

func (r *recorder) register(w *worker.Worker) {
	w.RegisterAgent(agent.DefineFunc(stepsKind, r.steps))
	w.RegisterAgent(agent.DefineFunc(signalKind, r.signals))
	w.RegisterAgent(agent.DefineFunc(growKind, r.grow))
	w.RegisterAgent(agent.DefineFunc(grownRunKind, r.grownRun))
	w.RegisterAgent(agent.DefineFunc(windowKind, r.windowed))
	w.RegisterAgent(agent.DefineFunc(waitKind, func(ctx agent.Context, _ struct{}) (string, error) {
		_, err := ctx.WaitSignal("never", 0)
		return "", err
	}))
	w.RegisterTask(agent.DefineTask(echoKind, func(_ agent.TaskContext, in echo) (string, error) { return in.Body, nil }))
}

// lookUp is the tool of react agents. It returns a text of 1 KiB.
var lookUp = tool.Tool{
	Name: "look-up", Description: "Looks something up.", Schema: json.RawMessage(`{"type":"object"}`), OnLost: perdure.OnLostRetry,
	Run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(body(1 << 10)), nil },
}

// body returns a random text of n characters. Each character has 6 random bits, so the text cannot
// be compressed below three quarters of its length.
func body(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	text := make([]byte, (n+7)&^7)
	for i := 0; i < len(text); i += 8 {
		bits := rand.Uint64()
		for j := range 8 {
			text[i+j] = letters[bits>>(6*j)&63]
		}
	}
	return string(text[:n])
}

// echo is the input of a task that returns its body.
type echo struct {
	N    int    `json:"n"`
	Body string `json:"body"`
}

// stepsInput requests steps and then tasks, one after another. If Gates is set, the agent waits
// before the steps and before the tasks, at gates that the benchmark opens; after each of the two
// parts, the agent reports to another gate. The names of the four gates are Gates followed by
// "step", "task", "step done" and "task done".
type stepsInput struct {
	Steps int    `json:"steps"`
	Tasks int    `json:"tasks"`
	Size  int    `json:"size"` // bytes of the input and the result of each step and task
	Gates string `json:"gates"`
}

func (r *recorder) steps(ctx agent.Context, in stepsInput) (string, error) {
	text := body(in.Size)
	for _, part := range []struct {
		name string
		n    int
		do   func(i int) (string, error)
	}{
		{"step", in.Steps, func(i int) (string, error) {
			return agent.Step(ctx, "step", func(context.Context) (string, error) { return text, nil }, agent.StepInstance(strconv.Itoa(i)))
		}},
		{"task", in.Tasks, func(i int) (string, error) { return agent.Call[string](ctx, echoKind, echo{i, text}) }},
	} {
		if part.n == 0 {
			continue
		}
		if in.Gates != "" {
			r.pass(in.Gates + part.name)
		}
		for i := range part.n {
			began := time.Now()
			got, err := part.do(i)
			if err != nil {
				return "", err
			}
			r.since(part.name, began)
			if len(got) != in.Size {
				return "", perdure.Errorf(perdure.Internal, "%s %d gave %d bytes, not %d", part.name, i, len(got), in.Size)
			}
		}
		r.reach(in.Gates + part.name + " done")
	}
	return "", nil
}

// signalValue is the value of the signals that workloads send: the time at which the signal was sent or
// due.
type signalValue struct {
	At int64 `json:"at"` // in nanoseconds since 1970
}

// signalsInput asks the agent to wait for N signals.
type signalsInput struct {
	N int `json:"n"`
}

func (r *recorder) signals(ctx agent.Context, in signalsInput) (string, error) {
	for range in.N {
		got, err := ctx.WaitSignal("ping", 0)
		if err != nil {
			return "", err
		}
		var value signalValue
		if err := json.Unmarshal(got.Value, &value); err != nil {
			return "", err
		}
		r.since("signal", time.Unix(0, value.At))
	}
	return "", nil
}

// growInput requests a number of entries, and then steps without end.
type growInput struct {
	Entries int `json:"entries"`
	Size    int `json:"size"` // bytes of each entry
}

// growState is the state of an agent with growInput.
type growState struct {
	Entries int
	Steps   int
}

// entriesAtOnce is the number of entries per commit.
const entriesAtOnce = 32

// stepTime is the duration of each step of the agent whose steps never end.
const stepTime = time.Millisecond

func (r *recorder) grow(ctx agent.Context, in growInput) (string, error) {
	var g growState
	if _, err := ctx.State(&g); err != nil {
		return "", err
	}
	text := body(in.Size)
	for g.Entries < in.Entries {
		for range min(entriesAtOnce, in.Entries-g.Entries) {
			m := perdure.UserText(text)
			if _, err := ctx.Append(m); err != nil {
				return "", err
			}
			g.Entries++
		}
		if err := ctx.Checkpoint(g); err != nil {
			return "", err
		}
	}
	r.reach("grown")
	return "", r.beat(ctx, g)
}

// beat runs steps without end.
func (r *recorder) beat(ctx agent.Context, g growState) error {
	for {
		_, err := agent.Step(ctx, "beat", func(c context.Context) (string, error) {
			r.now("beat")
			return "", pause(c, stepTime)
		}, agent.StepInstance(strconv.Itoa(g.Steps)))
		if err != nil {
			return err
		}
		g.Steps++
		if err := ctx.Checkpoint(g, agent.WithNext()); err != nil {
			return err
		}
	}
}
