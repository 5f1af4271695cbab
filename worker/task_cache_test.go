package worker

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestSizeOfKnownTasksIsTrackedIncrementally checks that the counted memory of cached tasks equals
// a full computation after each of 2000 random additions, replacements and removals.
func TestSizeOfKnownTasksIsTrackedIncrementally(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	var k taskCache
	ids := make([]uuid.UUID, 20)
	for i := range ids {
		ids[i] = uuid.New()
	}
	for step := range 2000 {
		id := ids[r.IntN(len(ids))]
		switch r.IntN(3) {
		case 0:
			k.drop(id)
			if k.get(id) != nil {
				t.Fatal("what was forgotten is known")
			}
		default:
			task := &perdure.Task{ID: id, Result: make(json.RawMessage, r.IntN(1000))}
			k.put(task)
			if k.get(id) != task {
				t.Fatal("what was learned is not taskCache")
			}
			task.Input = make(json.RawMessage, 10) // the cache must not count this change
		}
		sum := 0
		for _, one := range k.tasks {
			sum += len(one.task.Result) + 500
		}
		if k.bytes != sum {
			t.Fatalf("step %d: it weighs %d, and counts as %d", step, sum, k.bytes)
		}
	}
}

// TestSizeOfAParkedRunIsItsData checks the weight of a parked run at each of six waits. The weight
// must equal the computed size of the goroutine, input, state, path, tasks and signals. Between the
// waits the run takes signals, calls tasks and, once, commits a checkpoint.
func TestSizeOfAParkedRunIsItsData(t *testing.T) {
	b := newBench(t, time.Minute)
	b.task("t", func(_ agent.TaskContext, n int) (int, error) { return n, nil })
	b.agent("a", func(ctx agent.Context) (string, error) {
		for i := range 6 {
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			future := ctx.Schedule("t", i, agent.Instance(fmt.Sprint(i)))
			if _, err := ctx.Await(agent.All, future); err != nil {
				return "", err
			}
			if i == 3 {
				if err := ctx.Checkpoint(i); err != nil {
					return "", err
				}
			}
		}
		return "fine", nil
	})
	w := b.work()
	id := b.start("a")
	for i := range 6 {
		b.waiting(id, "signal")
		w.parkedNow(t, id)
		w.mu.Lock()
		r := w.parked[id]
		want := goroutineBytes + len(r.claim.Execution.Input) + len(r.state) + w.paths.size(id)
		for _, one := range r.tasks.tasks {
			want += len(one.task.Input) + len(one.task.Result) + 500
		}
		want += bytesOfSignals(r.signals) + bytesOfSignals(r.taken)
		if r.weight != want || w.parkedBytes != want || w.waiting.Len() != 1 {
			t.Errorf("after %d: it weighs %d, and counts as %d, in all %d of %d", i, want, r.weight, w.parkedBytes, w.waiting.Len())
		}
		w.mu.Unlock()
		b.signal(id, "go", fmt.Sprint(i))
	}
	b.output(id, "fine")
	w.stop()
	if w.parkedBytes != 0 || w.waiting.Len() != 0 {
		t.Errorf("%d bytes of %d are counted of nothing", w.parkedBytes, w.waiting.Len())
	}
}
