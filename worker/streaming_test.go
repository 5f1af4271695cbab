package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestStreamIsFlushedBeforeTheCommit checks that streamed text is stored before the next commit or
// end of a task, although some calls and replies are lost.
func TestStreamIsFlushedBeforeTheCommit(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 20*time.Second)
	b.task("talk", func(ctx agent.TaskContext, n int) (int, error) {
		ctx.Stream().Text(strings.Repeat("t", 200<<10))
		return n, nil
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		ctx.Stream().Text(strings.Repeat("a", 200<<10))
		if err := ctx.Emit(map[string]string{"type": "mark"}); err != nil {
			return "", err
		}
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		_, err := agent.Call[int](ctx, "talk", 1)
		return "fine", err
	})
	b.work(b.overFaulty(&faulty{plan: func(method string, n int) fault {
		if method == "Append" {
			return []fault{fine, before, after}[n%3]
		}
		return fine
	}}))
	id := b.start("a")
	b.output(id, "fine")
	held := map[string]int{}
	for _, r := range b.log(id) {
		switch {
		case r.Chunk != nil:
			held[r.Chunk.Text[:1]] += len(r.Chunk.Text)
		case r.Type == perdure.EventData && held["a"] != 200<<10:
			t.Errorf("the commit came after %d bytes", held["a"])
		case r.Type == perdure.EventTaskCompleted && held["t"] != 200<<10:
			t.Errorf("the task's end came after %d bytes", held["t"])
		}
	}
	if held["a"] != 200<<10 || held["t"] != 200<<10 {
		t.Errorf("held: %v", held)
	}
}

// TestStreamingAcrossAWait checks an agent with a goroutine of its own that streams during five
// waits of the agent. The execution completes, and its function is entered once.
func TestStreamingAcrossAWait(t *testing.T) {
	b := newBench(t, 20*time.Second)
	b.agent("a", func(ctx agent.Context) (string, error) {
		stop, over := make(chan struct{}), make(chan struct{})
		stream := ctx.Stream()
		go func() {
			defer close(over)
			for {
				select {
				case <-stop:
					return
				default:
					stream.Text("x")
				}
			}
		}()
		defer func() { close(stop); <-over }()
		for range 5 {
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			if err := context.Cause(ctx); err != nil {
				return "", errors.Join(errors.New("the context ended"), err)
			}
		}
		return "fine", nil
	})
	var entered int
	run := b.agents[0].Run
	b.agents[0].Run = func(ctx agent.Context, in json.RawMessage) (json.RawMessage, error) {
		entered++
		return run(ctx, in)
	}
	w := b.work()
	id := b.start("a")
	for range 5 {
		b.waiting(id, "signal")
		b.signal(id, "go", "1")
	}
	b.output(id, "fine")
	w.stop()
	if entered != 1 {
		t.Errorf("the function was entered %d times, want once", entered)
	}
}
