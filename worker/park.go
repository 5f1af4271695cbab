package worker

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// suspend commits the pending work together with the wait, and parks the goroutine until a
// condition of the wait is met. It returns when the run has the data of its next claim. The result
// is the stored wait, in which met conditions are marked. If the wait is already met at the commit,
// suspend returns without parking. It does not return if the goroutine is discarded.
func (r *run) suspend(wait perdure.Wait) (perdure.Wait, error) {
	r.setParking(true)
	r.pending.Retained = r.kept
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

// setParking sets whether the goroutine of this run may continue with the claim that follows the
// next commit. If so, it also prepares a description of the goroutine, which the commit sends to
// the server.
func (r *run) setParking(parking bool) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.parking = parking
	r.parkAt = perdure.CommitNumber{Fence: r.claim.Lease.Fence, Number: r.number + 1, ClaimID: r.claim.Lease.ClaimID}
	r.kept = nil
	if parking && r.w.Parked >= 0 && !r.w.draining {
		r.kept = &perdure.RetainedState{WorkerID: r.w.ID, At: r.parkAt, Seen: r.seen}
	}
}

// park releases the slot of the suspended run, waits for the run's next claim, and takes over the data of
// that claim. It does not return if the goroutine is discarded.
func (r *run) park() {
	r.w.streams.Close(r.stream)
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
	r.claim.Ended = nil // the goroutine already knows these records
}

// awaitClaim waits for the next claim of a parked run. It does not return if the goroutine is discarded: on
// request, after Config.ParkedFor, or when the worker stops.
func (r *run) awaitClaim() *perdure.AgentClaim {
	patience := time.NewTimer(r.w.ParkedFor)
	defer patience.Stop()
	var m resumption
	select {
	case m = <-r.resume:
	case <-patience.C:
		r.w.dropParked(r)
		m = <-r.resume // dropParked sends nil, unless a claim has arrived first
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

// park moves a run from the running to the parked runs. If the next claim of the run has already
// arrived, park returns it as `early` and does not park the run. The result `kept` is false if the
// goroutine cannot be parked, because the worker parks none or is stopping.
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

// makeRoom discards parked goroutines until the number and the memory of the rest are within the
// worker's limits. It begins with the goroutine that was parked first. The caller has locked w.mu.
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

// unpark removes a run from the list of parked runs. The caller has locked w.mu.
func (w *Worker) unpark(r *run) {
	delete(w.parked, r.id)
	w.waiting.Remove(r.spot)
	w.parkedBytes -= r.weight
}

// ended removes a run from w.begun, because its goroutine is about to end.
func (w *Worker) ended(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, r)
}

// goroutineBytes is the approximate memory of a parked goroutine, without the data of its run.
const goroutineBytes = 16 << 10

// weigh returns the approximate memory that the run occupies while it is parked: the data of its
// claim, the data that arrived since then, and its cached path. It uses sums that were kept up to
// date as the data arrived, so that it need not go through all of the data.
func (r *run) weigh() int {
	return goroutineBytes + len(r.claim.Execution.Input) + len(r.state) + r.w.paths.size(r.id) +
		r.tasks.bytes + r.ended.bytes + bytesOfSignals(r.signals) + r.takenBytes + r.questionBytes
}

// dropParked discards a parked goroutine, unless a claim has already resumed it.
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

// keeps reports whether the goroutine of the run is parked, or will be parked by the commit that
// the run is sending. The caller has locked w.mu.
func (w *Worker) keeps(r *run) bool { return r != nil && (r.parking || w.parked[r.id] == r) }

// goOn hands the claim c to the goroutine of its execution if that goroutine has parked, or is
// about to park, after the execution's last commit. It reports whether it has handed over the
// claim. If the goroutine has parked after another commit, or the worker is stopping, goOn discards
// the goroutine.
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

// lose ends the run because the server reports that the given lease is lost. It does nothing if the
// run has another lease by now, or if the commit that the run is sending may release this lease.
func (r *run) lose(lease perdure.Lease, cause error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lease == lease && !r.parking && !r.handed && r.w.runs[r.id] == r {
		r.drop(cause)
	}
}

// untrack removes the run from the worker's running runs. The result `late` is a claim that was
// handed to the run, but that the run did not take over; nil if there is none. The result
// `overtaken` reports whether a newer run of the same execution has replaced this run.
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
