package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// newsPause returns the minimum pause after a heartbeat that the server has asked for, so that many
// cancels cause few heartbeats. The parameter `interval` is the time between regular heartbeats.
func newsPause(interval time.Duration) time.Duration {
	return min(interval/50, 100*time.Millisecond)
}

// watchLeases lets the server ask this worker for a heartbeat, until ctx ends. The server does so when it
// has news about the worker's claims, such as a cancel. Without watchLeases, the worker would learn the
// news only from the next regular heartbeat.
func (w *Worker) watchLeases(ctx context.Context) {
	w.keepOpen(ctx, "the server cannot tell this worker of cancels at once; heartbeats will", func() error {
		return w.Dispatch.WatchLeases(ctx, w.ID, func() {
			select {
			case w.news <- struct{}{}:
			default: // a heartbeat is already asked for, and its reply has all news
			}
		})
	})
}

// beat sends heartbeats, which renew the worker's leases, until ctx ends: three times per lease duration,
// after each reconnect, and when the server has news about the leases.
func (w *Worker) beat(ctx context.Context) {
	interval := w.settings.Lease / 3
	if interval <= 0 {
		interval = 5 * time.Second
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var again <-chan struct{}
	if line, ok := w.Dispatch.(Line); ok {
		again = line.Reconnected()
	}
	registered := w.Clock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again: // the server may have recorded the worker as lost
			w.beatOnce(ctx, interval)
		case <-w.news:
			w.beatOnce(ctx, interval)
			rest(ctx, newsPause(interval))
		case <-tick.C:
			w.beatOnce(ctx, interval)
			registered = w.registerAgain(ctx, registered, interval)
		}
	}
}

// Line is implemented by a perdure.Dispatch whose connection can break. A worker with such a
// Dispatch sends a heartbeat after each reconnect.
type Line interface {
	// Reconnected returns a channel that receives one value after each reconnect.
	Reconnected() <-chan struct{}
}

// watch ends work whose lease has expired by this worker's clock. It checks the leases regularly
// until ctx ends.
func (w *Worker) watch(ctx context.Context) {
	tick := time.NewTicker(max(w.settings.Lease/20, 5*time.Millisecond))
	defer tick.Stop()
	last := w.Clock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		last = w.checkLeases(ctx, last)
	}
}

// checkLeases ends work whose lease has expired, and returns the time of this check. The parameter
// `last` is the time of the previous check. If that is more than half a lease ago, the machine or
// the process was suspended. Then checkLeases first sends a heartbeat, because the server may have
// been down at the same time and may still accept the leases.
func (w *Worker) checkLeases(ctx context.Context, last time.Duration) time.Duration {
	if w.Clock()-last > w.settings.Lease/2 {
		w.beatOnce(ctx, w.settings.Lease/3)
	}
	now := w.Clock()
	w.expire()
	return now
}

// expire ends work whose lease has expired by this worker's clock, because a server that cannot be
// reached cannot report the loss. It skips a run that has a new claim with a lease of its own. It
// also skips an attempt of a task that may run twice (OnLost is not report): if the server was
// down, it may still accept the lease.
func (w *Worker) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		r.mu.Lock()
		over, lease := r.renew.over(), r.lease
		r.mu.Unlock()
		if over && !r.handed && !r.over() {
			r.drop(agent.ErrLeaseLost)
			w.overdue = append(w.overdue, perdure.AgentRelease{Lease: lease})
		}
	}
	for _, a := range w.attempts {
		if a.renewed().over() && a.claim.Task.Options.OnLost == perdure.OnLostReport {
			a.cancel(agent.ErrLeaseLost)
		}
	}
}

// heldLeases is the work whose leases one heartbeat renews, in the order of the heartbeat's lists.
type heldLeases struct {
	runs     []*run
	attempts []*attempt
	parked   []*run
	beat     perdure.Heartbeat
}

func (w *Worker) heldLeases() heldLeases {
	h := heldLeases{beat: perdure.Heartbeat{WorkerID: w.ID}}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		r.mu.Lock()
		lease := r.lease
		r.mu.Unlock()
		h.runs = append(h.runs, r)
		h.beat.Agents = append(h.beat.Agents, lease)
	}
	for _, a := range w.attempts {
		h.attempts = append(h.attempts, a)
		h.beat.Tasks = append(h.beat.Tasks, a.beat())
	}
	for id, r := range w.parked {
		h.parked = append(h.parked, r)
		h.beat.Parked = append(h.beat.Parked, perdure.ParkedExecution{ExecutionID: id, At: r.parkAt})
	}
	return h
}

func (w *Worker) beatOnce(ctx context.Context, within time.Duration) {
	w.giveOverdueBack(ctx, within)
	h := w.heldLeases()
	if len(h.runs)+len(h.attempts)+len(h.parked) == 0 {
		return
	}
	sent := w.newLease(w.settings.Lease)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	reply, err := w.Dispatch.Heartbeat(ctx, h.beat)
	w.reached(err)
	if err != nil {
		w.Logger.Warn("a heartbeat did not reach the server", "error", err)
		return
	}
	for i, r := range h.runs {
		if i < len(reply.Agents) {
			r.heard(h.beat.Agents[i], reply.Agents[i], sent)
		}
	}
	for i, a := range h.attempts {
		if i < len(reply.Tasks) {
			a.heard(reply.Tasks[i], sent)
		}
	}
	for i, r := range h.parked {
		if i < len(reply.Parked) && reply.Parked[i] != perdure.ParkedKeep {
			w.dropMoved(r, h.beat.Parked[i].At)
		}
	}
}

// giveOverdueBack releases the executions that this worker dropped because their leases had expired
// by its own clock. Otherwise a server that still has these leases would count a crash. Two
// heartbeats may run at once, so each heartbeat first removes the executions that it releases from
// the list w.overdue, and puts an execution back if the release fails.
func (w *Worker) giveOverdueBack(ctx context.Context, within time.Duration) {
	w.mu.Lock()
	overdue := w.overdue
	w.overdue = nil
	w.mu.Unlock()
	if len(overdue) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := w.Dispatch.Release(ctx, perdure.Release{WorkerID: w.ID, Agents: overdue}); err != nil {
		w.mu.Lock()
		w.overdue = append(overdue, w.overdue...)
		w.mu.Unlock()
	}
}

// heard applies what the reply to a heartbeat says about this run. The parameter `lease` is the
// lease that the heartbeat contained, and `sent` is the clock of the renewed lease, which began
// when the heartbeat was sent. If the run has another lease by now, because it was suspended and
// claimed again, the reply is ignored.
func (r *run) heard(lease perdure.Lease, b perdure.AgentHeartbeatReply, sent leaseClock) {
	if b.Lost {
		r.lose(lease, agent.ErrLeaseLost)
		return
	}
	if b.Unknown {
		r.w.lineOf("execution", r.id, "fence", lease.Fence).Warn("the server could not renew the lease; it runs on, and is asked for again")
		return
	}
	r.mu.Lock()
	current := r.lease == lease
	if current {
		r.beat, r.renew = b, sent
	}
	r.mu.Unlock()
	if current && b.CancelRequested {
		r.drop(agent.ErrCancelled)
	}
}

// dropMoved discards the parked goroutine of r, because the server says that another worker has
// continued the execution after the commit `at`. It does nothing if the goroutine did not park
// after the commit `at`.
func (w *Worker) dropMoved(r *run, at perdure.CommitNumber) {
	w.mu.Lock()
	same := r.parkAt == at
	w.mu.Unlock()
	if same {
		w.dropParked(r)
	}
}
