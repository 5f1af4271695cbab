package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// drain stops the worker. The worker accepts no new work, discards parked goroutines, and waits at
// most Config.Drain for running work. After that, drain cancels the work that still runs and
// releases its claims. The error names code that did not end after its context was cancelled.
func (w *Worker) drain(stop context.CancelFunc, loops *sync.WaitGroup) error {
	w.mu.Lock()
	w.draining = true
	parked := make([]*run, 0, len(w.parked))
	for _, r := range w.parked {
		parked = append(parked, r)
	}
	w.mu.Unlock()
	for _, r := range parked {
		w.dropParked(r)
	}
	loops.Wait()
	done := make(chan struct{})
	go func() {
		w.work.Wait()
		w.goroutines.Wait()
		close(done)
	}()
	if within(done, max(w.Drain, 0)) {
		return nil
	}
	w.giveBack()
	if within(done, w.Grace) {
		return nil
	}
	// The function `stop` cancels requests to which the server has not replied yet. Code that
	// returns after that does not release its claim; the lease expires.
	stop()
	if within(done, w.Grace) {
		return nil
	}
	return w.abandon()
}

// within reports whether the channel `done` is closed before the duration d has passed.
func within(done <-chan struct{}, d time.Duration) bool {
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
		return false
	}
}

// giveBack cancels all running work with errShutdown. Each goroutine releases its own claim when it
// ends.
func (w *Worker) giveBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		r.drop(errShutdown)
	}
	for _, a := range w.attempts {
		a.cancel(errShutdown)
	}
}

// errShutdown is the cause with which the contexts of runs and attempts end when the worker stops.
var errShutdown = fmt.Errorf("the worker shuts down: %w", agent.ErrDiscarded)

// errNotStored is the cause with which a run's context ends if the server could not store a commit
// of the run.
var errNotStored = fmt.Errorf("the server could not store a commit: %w", agent.ErrDiscarded)

// abandon releases the claims of code that still runs although its context has ended. From then on,
// the server refuses requests of that code. The error names the code.
func (w *Worker) abandon() error {
	back := perdure.Release{WorkerID: w.ID}
	var names []string
	w.mu.Lock()
	for r := range w.begun {
		names = append(names, fmt.Sprintf("agent %s of execution %s", r.def.Spec.Kind, r.id))
		if w.runs[r.id] == r {
			r.mu.Lock()
			back.Agents = append(back.Agents, perdure.AgentRelease{Lease: r.lease})
			r.mu.Unlock()
		}
	}
	for _, a := range w.attempts {
		names = append(names, fmt.Sprintf("task %s (%s) of execution %s", a.claim.Task.Kind, a.claim.Task.ID, a.claim.Lease.ExecutionID))
		back.Tasks = append(back.Tasks, perdure.TaskRelease{Lease: a.claim.Lease, Started: true})
	}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	err := w.retry(ctx, func() error { return w.Dispatch.Release(ctx, back) })
	if err != nil {
		w.Logger.Warn("could not give back what did not stop; its leases will run out", "error", err)
	}
	slices.Sort(names)
	return fmt.Errorf("worker: code ignored that its context had ended and was left behind: %s", strings.Join(names, "; "))
}
