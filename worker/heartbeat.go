package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// beat renews the worker's leases three times per lease duration, until ctx ends.
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-again: // the server may consider the worker lost
			w.beatOnce(ctx, interval)
		case <-tick.C:
			w.beatOnce(ctx, interval)
		}
	}
}

// Line is a Dispatch over a connection that may break and reconnect.
type Line interface {
	// Reconnected returns a channel that receives one token after a reconnect.
	Reconnected() <-chan struct{}
}

// watch ends the work whose lease has expired by this worker's clock, until ctx ends.
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

// checkLeases ends the work whose lease has expired, and returns the time of the check. After a
// sleep of the machine or a stop of the process, it asks the server first. The server may have been
// down for as long and still hold the leases.
func (w *Worker) checkLeases(ctx context.Context, last time.Duration) time.Duration {
	if w.Clock()-last > w.settings.Lease/2 {
		w.beatOnce(ctx, w.settings.Lease/3)
	}
	now := w.Clock()
	w.expire()
	return now
}

// expire ends the work whose lease has expired by this worker's clock, because the server cannot
// report it while there is no connection. A claim that a run is about to adopt has its own lease.
// An attempt that may run twice continues until the server replies: perhaps the server was down and
// still holds the lease.
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

// held holds the items of one heartbeat.
type held struct {
	runs     []*run
	attempts []*attempt
	parked   []*run
	beat     perdure.Heartbeat
}

func (w *Worker) held() held {
	h := held{beat: perdure.Heartbeat{WorkerID: w.ID}}
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
		h.beat.Parked = append(h.beat.Parked, perdure.Parked{ExecutionID: id, At: r.parkAt})
	}
	return h
}

func (w *Worker) beatOnce(ctx context.Context, within time.Duration) {
	w.giveOverdueBack(ctx, within)
	h := w.held()
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

// giveOverdueBack releases executions that this worker dropped because their lease had expired by
// its own clock. The server may still hold the leases, and would count a crash. Two heartbeats may
// run at once. Each removes the executions that it releases from the list, and puts them back if
// the release fails.
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

// heard processes the part of the heartbeat's reply about a run. A reply about an earlier claim
// does not apply: the run may have suspended and been claimed again in between.
func (r *run) heard(lease perdure.Lease, b perdure.AgentBeat, sent leaseClock) {
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

// dropMoved discards a goroutine if the server reports that another worker has continued from its
// commit.
func (w *Worker) dropMoved(r *run, at perdure.CommitNumber) {
	w.mu.Lock()
	same := r.parkAt == at
	w.mu.Unlock()
	if same {
		w.dropParked(r)
	}
}
