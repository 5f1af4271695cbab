package worker

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/worker/local"
)

// mortal is the dispatch of a worker that is killed at one of its writes (Commit, FinishTask,
// Append). After that, no call arrives at the server and no reply arrives at the worker.
type mortal struct {
	perdure.Dispatch
	at    int  // number of the write at which the worker is killed, from 1; 0 means never
	after bool // the write arrives at the server, and only its reply is lost

	mu     sync.Mutex // guards writes and the closing of dead
	writes int
	dead   chan struct{}
	polls  sync.WaitGroup
}

func newMortal(d perdure.Dispatch, at int, after bool) *mortal {
	return &mortal{Dispatch: d, at: at, after: after, dead: make(chan struct{})}
}

func (m *mortal) isDead() bool {
	select {
	case <-m.dead:
		return true
	default:
		return false
	}
}

// lost returns the error of every call of a killed worker. The worker then ends its work without
// further writes.
func lost() error { return perdure.Errorf(perdure.LeaseLost, "killed") }

func dying[T any](m *mortal, write func() (T, error)) (T, error) {
	var none T
	m.mu.Lock()
	dies := false
	if !m.isDead() {
		m.writes++
		if dies = m.writes == m.at; dies {
			close(m.dead)
		}
	}
	dead := m.isDead()
	m.mu.Unlock()
	if dead && (!dies || !m.after) {
		return none, lost()
	}
	v, err := write()
	if m.isDead() {
		return none, lost()
	}
	return v, err
}

func (m *mortal) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	return dying(m, func() (perdure.CommitReply, error) { return m.Dispatch.Commit(ctx, c) })
}

func (m *mortal) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	return dying(m, func() (perdure.FinishReply, error) { return m.Dispatch.FinishTask(ctx, f) })
}

func (m *mortal) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	replies, err := dying(m, func() ([]perdure.FrameReply, error) { return m.Dispatch.Append(ctx, frames) })
	if err != nil && m.isDead() {
		replies = make([]perdure.FrameReply, len(frames))
		for i := range replies {
			replies[i].Err = perdure.Errorf(perdure.LeaseLost, "killed")
		}
		return replies, nil
	}
	return replies, err
}

func (m *mortal) Release(ctx context.Context, r perdure.Release) error {
	if m.isDead() {
		return lost()
	}
	return m.Dispatch.Release(ctx, r)
}

func (m *mortal) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	if m.isDead() {
		return perdure.HeartbeatReply{}, lost()
	}
	return m.Dispatch.Heartbeat(ctx, h)
}

func (m *mortal) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	if m.isDead() {
		return func(yield func(perdure.Entry, error) bool) { yield(perdure.Entry{}, lost()) }
	}
	return m.Dispatch.Entries(ctx, q)
}

func (m *mortal) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	if m.isDead() {
		return nil, lost()
	}
	return m.Dispatch.Tasks(ctx, execution, ids)
}

func (m *mortal) Questions(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	if m.isDead() {
		return nil, lost()
	}
	return m.Dispatch.Questions(ctx, execution, ids)
}

func (m *mortal) Ended(ctx context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	if m.isDead() {
		return perdure.EndedPage{}, lost()
	}
	return m.Dispatch.Ended(ctx, q)
}

// polled runs a poll until it returns or the worker is killed. Claims that arrive after the kill
// are dropped.
func polled[T any](ctx context.Context, m *mortal, poll func(context.Context) ([]T, error)) ([]T, error) {
	m.mu.Lock()
	if m.isDead() {
		m.mu.Unlock()
		<-ctx.Done()
		return nil, nil
	}
	m.polls.Add(1)
	m.mu.Unlock()
	defer m.polls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	claims, err := poll(ctx)
	if m.isDead() {
		return nil, nil
	}
	return claims, err
}

func (m *mortal) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	return polled(ctx, m, func(ctx context.Context) ([]perdure.AgentClaim, error) { return m.Dispatch.PollAgents(ctx, p) })
}

func (m *mortal) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	return polled(ctx, m, func(ctx context.Context) ([]perdure.TaskClaim, error) { return m.Dispatch.PollTasks(ctx, p) })
}

// supervise runs a worker that is killed at write number `at`, counted from 1. If `after` is true,
// that write still arrives at the server. Then supervise runs another worker on the same store,
// like a restarted process. It returns when the channel `ended` is closed, and reports whether the
// kill happened.
func (b *bench) supervise(at int, after bool, store *local.Store, ended <-chan struct{}, change func(*Config)) bool {
	b.Helper()
	m := newMortal(b.e.Dispatch(org, true), at, after)
	first := b.work(change, func(c *Config) { c.Dispatch, c.Local = m, store })
	select {
	case <-ended:
		first.stop()
		return false
	case <-m.dead:
	}
	m.polls.Wait()
	if err := b.e.ReturnEmbedded(context.WithoutCancel(b.Context())); err != nil {
		b.Error(err)
	}
	second := b.work(change, func(c *Config) { c.Dispatch, c.Local = b.e.Dispatch(org, true), store })
	select {
	case <-ended:
	case <-time.After(patience):
		b.Error("the run did not end after the kill")
	}
	first.stop()
	second.stop()
	return true
}

// TestLocalRunOutlastsAKillAtEveryWrite kills a worker at each of its writes. A worker that parks
// goroutines is killed before the write arrives at the server, and a worker that parks none is
// killed after the write has arrived. The test checks that another worker with the same store ends
// the execution in the same way as without a kill, and that the execution's step runs once.
func TestLocalRunOutlastsAKillAtEveryWrite(t *testing.T) {
	longtest.Skip(t, "seconds")
	first, step := longtest.Stride(t, 4)
	for parked, after := range map[int]bool{100: false, -1: true} {
		for at, came := first, true; came && !t.Failed(); at += step {
			came = false
			t.Run(fmt.Sprintf("parked %d, write %d, arrives %v", parked, at, after), func(t *testing.T) {
				if came = killedTour(t, at, after, func(c *Config) { c.Parked = parked }); !came && at == first {
					t.Error("nothing was killed")
				}
			})
		}
	}
}

// killedTour runs an execution of the agent `tour` whose worker is killed, as in supervise, at
// write number `at`. It checks the result, and reports whether the kill happened.
func killedTour(t *testing.T, at int, after bool, change func(*Config)) bool {
	b := newBench(t, 20*time.Second)
	b.mode = perdure.Local
	o := &tour{ran: map[string]int{}, bench: b}
	o.define()
	b.known("tour")
	store := b.newStore()
	id := b.start("tour")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, what := range []string{"one", "two", "three"} {
			b.signal(id, "say."+what, fmt.Sprintf("%q", what))
		}
		b.until(id, "it to end", func(x *perdure.Execution) bool { return x.Status.Terminal() })
	}()
	came := b.supervise(at, after, store, ended, change)
	<-ended
	o.check(id)
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.ran[id.String()+" step"]; n != 1 {
		t.Errorf("the step ran %d times", n)
	}
	return came
}
