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

// drain ends the worker's work in order: no new work, no parked goroutines,
// time for what runs, and then the rest is given back. The error names what did
// not stop.
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
	// What still tries to reach a server that is away is not waited for: its
	// leases run out.
	stop()
	if within(done, w.Grace) {
		return nil
	}
	return w.abandon()
}

// within reports whether done was closed in time.
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

// giveBack cancels everything that still runs; each goroutine returns its own
// claim on its way out.
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

// errShutdown is the cause of contexts that end because the worker does.
var errShutdown = fmt.Errorf("the worker shuts down: %w", agent.ErrDiscarded)

// errNotStored is the cause of a run's end whose commit was given up.
var errNotStored = fmt.Errorf("the server could not store a commit: %w", agent.ErrDiscarded)

// abandon gives back what code holds that ignores that its context has ended:
// nothing that it still does counts. The error names it.
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
