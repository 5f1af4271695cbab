package worker

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// suspend commits what is pending with the wait, and parks the goroutine until
// the wait is met. It returns with what is new learned, and returns the wait with
// the leaves marked that are met; it does not return if the goroutine is
// discarded.
func (r *run) suspend(wait perdure.Wait) (perdure.Wait, error) {
	r.setParking(true)
	r.pending.Keeps = r.kept
	reply, err := r.commit(perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait})
	if err != nil || !reply.Suspended {
		r.setParking(false)
		return markedOf(reply.Wait), err
	}
	r.park()
	return markedOf(r.claim.Execution.Wait), r.check()
}

func markedOf(w *perdure.Wait) perdure.Wait {
	if w == nil {
		return perdure.Wait{}
	}
	return *w
}

// setParking says that the claim that answers the next commit may be handed to
// this goroutine.
func (r *run) setParking(parking bool) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.parking = parking
	r.parkAt = perdure.CommitNumber{Fence: r.claim.Lease.Fence, Number: r.number + 1, ClaimID: r.claim.Lease.ClaimID}
	r.kept = nil
	if parking && r.w.Parked >= 0 && !r.w.draining {
		r.kept = &perdure.Kept{WorkerID: r.w.ID, At: r.parkAt, Seen: r.seen}
	}
}

// park gives up slot and lease, and waits for the next claim.
func (r *run) park() {
	r.w.streams.close(r.stream)
	r.endSpan()
	r.ended.fetched = nil
	early, kept := r.w.park(r)
	r.w.agentSlots.release(1)
	r.holding = false
	r.w.work.Done()
	if early == nil {
		if !kept {
			r.exit(agent.ErrDiscarded)
		}
		early = r.awaitClaim()
	}
	r.holding = true
	r.w.Observer.resumed(r.claim.Execution.Kind)
	r.adopt(*early)
	r.claim.Ended = nil // what the function knows is as good
}

// awaitClaim waits for a claim, and discards the goroutine when it is told to
// or has waited too long.
func (r *run) awaitClaim() *perdure.AgentClaim {
	patience := time.NewTimer(r.w.ParkedFor)
	defer patience.Stop()
	var m resumption
	select {
	case m = <-r.resume:
	case <-patience.C:
		r.w.dropParked(r)
		m = <-r.resume // from dropParked, or a claim that was quicker
	case <-r.live.Done():
		r.w.dropParked(r)
		m = <-r.resume
	}
	if m.claim == nil {
		r.w.tellDiscarded(r)
		r.exit(agent.ErrDiscarded)
	}
	return m.claim
}

// park moves a run from those held to those parked, unless its next claim has
// come already, or no goroutine may be kept.
func (w *Worker) park(r *run) (early *perdure.AgentClaim, kept bool) {
	weight := r.weigh()
	w.mu.Lock()
	select {
	case m := <-r.resume:
		w.mu.Unlock()
		return m.claim, true
	default:
	}
	if w.runs[r.id] == r {
		delete(w.runs, r.id)
	}
	r.parking = false
	if w.Parked < 0 || w.draining {
		w.mu.Unlock()
		return nil, false
	}
	r.weight, r.spot = weight, w.waiting.PushBack(r)
	w.parked[r.id] = r
	w.parkedBytes += weight
	w.makeRoom()
	w.mu.Unlock()
	return nil, true
}

// makeRoom discards the goroutines that have waited longest while there are too
// many, or they hold too much; w.mu is held.
func (w *Worker) makeRoom() {
	for len(w.parked) > w.Parked || len(w.parked) > 0 && w.parkedBytes > w.ParkedBytes {
		victim := w.waiting.Front().Value.(*run)
		if w.parkedBytes > w.ParkedBytes {
			w.paths.drop(victim.id)
		}
		w.unpark(victim)
		victim.resume <- resumption{}
	}
}

// unpark takes a run off the list of those parked; w.mu is held.
func (w *Worker) unpark(r *run) {
	delete(w.parked, r.id)
	w.waiting.Remove(r.spot)
	w.parkedBytes -= r.weight
}

// ended forgets a run whose goroutine is about to end.
func (w *Worker) ended(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, r)
}

// goroutineBytes is about what a goroutine and its run take by themselves.
const goroutineBytes = 16 << 10

// weigh returns about how many bytes stay in memory while the run is parked: what
// its claim brought, what it learned since, and the path of its entries. It takes no
// longer for a run that has learned much: that is counted as it is learned.
func (r *run) weigh() int {
	return goroutineBytes + len(r.claim.Execution.Input) + len(r.state) + r.w.paths.size(r.id) +
		r.tasks.bytes + r.ended.bytes + bytesOfSignals(r.signals) + r.takenBytes
}

// dropParked discards a parked goroutine, unless a claim took it up first.
func (w *Worker) dropParked(r *run) {
	w.mu.Lock()
	mine := w.parked[r.id] == r
	if mine {
		w.unpark(r)
	}
	w.mu.Unlock()
	if mine {
		r.resume <- resumption{}
	}
}

// keeps reports whether this worker has the goroutine of the execution waiting,
// or about to.
func (w *Worker) keeps(r *run) bool { return r != nil && (r.parking || w.parked[r.id] == r) }

// goOn hands the claim to the goroutine that waits for it, if there is one that
// stands where the claim does. One that stands elsewhere is discarded.
func (w *Worker) goOn(c perdure.AgentClaim) bool {
	id := c.Lease.ExecutionID
	w.mu.Lock()
	defer w.mu.Unlock()
	r, isParked := w.parked[id]
	if isParked {
		w.unpark(r)
	} else if r = w.runs[id]; r == nil || !r.parking {
		return false
	}
	inPlace := r.parkAt.Same(c.LastCommit) && !w.draining
	switch {
	case inPlace:
		w.runs[id] = r
		r.parking, r.handed = false, true
		r.resume <- resumption{claim: &c}
	case isParked:
		r.resume <- resumption{}
	}
	return inPlace
}

// lose drops the run because the server says that its lease is over. One that
// the run has given up, or may just have, by a suspending commit is what it
// wanted.
func (r *run) lose(lease perdure.Lease, cause error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lease == lease && !r.parking && !r.handed && r.w.runs[r.id] == r {
		r.drop(cause)
	}
}

// untrack takes the run off the list of what the worker holds. It returns the
// claim that was handed to the run and that it did not come to adopt, if any,
// and whether a later claim has taken the run's place meanwhile.
func (w *Worker) untrack(r *run) (late *perdure.AgentClaim, overtaken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if overtaken = w.runs[r.id] != nil && w.runs[r.id] != r; !overtaken {
		delete(w.runs, r.id)
	}
	select {
	case m := <-r.resume:
		late = m.claim
	default:
	}
	return late, overtaken
}
