package worker

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/worker/results"
)

// payment is a bench with an agent that calls one expensive task, and with the worker's store for
// results.
type payment struct {
	*bench
	kept          *results.Store
	runs, replays atomic.Int32
	refuse        error // error that the task's Replay function returns
}

func newPayment(t *testing.T, replayable bool) *payment {
	p := &payment{bench: newBench(t, 500*time.Millisecond)}
	p.kept = p.openResults()
	d := agent.DefineTask("pay", func(ctx agent.TaskContext, n int) (int, error) {
		p.runs.Add(1)
		ctx.Stream().Text("forty-two")
		return 42 + n, nil
	})
	if replayable {
		d.Replay = func(ctx agent.TaskContext, result json.RawMessage) error {
			if p.refuse != nil {
				return p.refuse
			}
			p.replays.Add(1)
			ctx.Stream().Text("forty-two")
			return nil
		}
	}
	p.tasks = append(p.tasks, d)
	p.agent("a", func(ctx agent.Context) (string, error) {
		n, err := agent.Call[int](ctx, "pay", 0)
		return map[bool]string{true: "fine"}[n == 42], err
	})
	return p
}

func (p *payment) openResults() *results.Store {
	p.Helper()
	s, err := results.Open(p.TempDir(), results.Options{})
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// lose starts an execution on a worker that computes the task's result, and stops the worker before
// the server receives the result. It returns the execution's id.
func (p *payment) lose() uuid.UUID {
	p.Helper()
	tried := make(chan struct{}, 1)
	first := p.work(func(c *Config) {
		c.Results, c.Grace = p.kept, 100*time.Millisecond
		c.Dispatch = &faulty{Dispatch: c.Dispatch, plan: func(method string, _ int) fault {
			if method != "FinishTask" {
				return fine
			}
			select {
			case tried <- struct{}{}:
			default:
			}
			return before
		}}
	})
	id := p.start("a")
	wait(p.T, "the result to be sent", tried)
	first.stop()
	return id
}

func (p *payment) check(runs, replays int32, kept int) {
	p.Helper()
	if p.runs.Load() != runs || p.replays.Load() != replays {
		p.Errorf("the code ran %d times and was replayed %d times, want %d and %d", p.runs.Load(), p.replays.Load(), runs, replays)
	}
	if n := p.kept.Len(); n != kept {
		p.Errorf("%d results are on disk, want %d", n, kept)
	}
}

func TestAKeptResultIsNotPaidForAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	p := newPayment(t, true)
	id := p.lose()
	p.check(1, 0, 1)
	var replayed atomic.Int32
	w := p.work(func(c *Config) {
		c.Results = p.kept
		c.Observer = &Observer{Replayed: func(string) { replayed.Add(1) }}
	})
	p.output(id, "fine")
	w.stop()
	p.check(1, 1, 0)
	if replayed.Load() != 1 {
		t.Errorf("the observer saw %d replays", replayed.Load())
	}
	if text := p.shown(id); text != "forty-two" {
		t.Errorf("clients were shown %q", text)
	}
}

func TestAnotherWorkerPaysAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	p := newPayment(t, true)
	id := p.lose()
	p.work(func(c *Config) { c.Results = p.openResults() })
	p.output(id, "fine")
	p.check(2, 0, 1)
}

func TestAnUnusableKeptResultIsDiscarded(t *testing.T) {
	longtest.Skip(t, "seconds")
	p := newPayment(t, true)
	id := p.lose()
	p.refuse = errors.New("written by another build")
	w := p.work(func(c *Config) { c.Results = p.kept })
	p.output(id, "fine")
	w.stop()
	p.check(2, 0, 0)
}

func TestOnlyKindsWithAReplayAreKept(t *testing.T) {
	longtest.Skip(t, "seconds")
	p := newPayment(t, false)
	id := p.lose()
	p.check(1, 0, 0)
	w := p.work(func(c *Config) { c.Results = p.kept })
	p.output(id, "fine")
	w.stop()
	p.check(2, 0, 0)
}

// TestAFullDiskCostsOnlyTheProtection checks that a task whose result does not fit into
// Config.Results completes as usual.
func TestAFullDiskCostsOnlyTheProtection(t *testing.T) {
	p := newPayment(t, true)
	tiny, err := results.Open(t.TempDir(), results.Options{Bytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	p.kept = tiny
	w := p.work(func(c *Config) { c.Results = tiny })
	id := p.start("a")
	p.output(id, "fine")
	w.stop()
	p.check(1, 0, 0)
}

// shown returns the streamed text of the execution, without blocks that a newer attempt has
// superseded.
func (p *payment) shown(id uuid.UUID) string {
	p.Helper()
	superseded := map[int64]bool{}
	for _, r := range p.log(id) {
		var closed struct {
			Seq    int64               `json:"blockSeq"`
			Reason perdure.BlockReason `json:"reason"`
		}
		if r.Type == perdure.EventBlockClosed && json.Unmarshal(r.Fields, &closed) == nil && closed.Reason == perdure.BlockSuperseded {
			superseded[closed.Seq] = true
		}
	}
	text := ""
	for _, r := range p.log(id) {
		if r.Chunk != nil && !superseded[r.Seq] {
			text += r.Chunk.Text
		}
	}
	return text
}
