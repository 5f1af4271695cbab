package worker

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

const (
	// maxHeads is the maximum number of heads (see the type ended) in memory. A run reaches the
	// maximum only if its function requests records in another order than the recorded one, because
	// a head is removed when its record is requested.
	maxHeads = 10_000
	// fetchBytes is the approximate number of bytes of results that a run fetches ahead in one request.
	fetchBytes = 1 << 20
)

// ended contains what a run knows about the steps and tasks that had ended when the function was
// entered. Each of these records has a head: a description without its larger contents. The heads
// are read from the server in pages.
//
// A function that is entered again requests records in roughly the recorded order. A request for
// the contents of one record therefore also fetches those of the records after it. When the
// function has requested a record, its head is removed: a step is requested only once, and the
// tasks are in run.tasks.
type ended struct {
	heads   map[uuid.UUID]*perdure.EndedHead
	order   []uuid.UUID // ids of the heads in the recorded order; some of the heads may be removed
	fetched map[uuid.UUID]*perdure.Task
	// ahead is the maximum number of records in the next request for contents. batched is the
	// number of records in the previous request.
	ahead, batched int
	// from is the position of the first page of heads that a call of the function reads. next is
	// the position of the page to read next.
	from, next int64
	more       bool
	// whole says that the server's pages list every record. A record that is on no page then does not
	// exist.
	whole bool
	bytes int // approximate memory of the heads and the prefetched results
}

// newEnded returns what the claim c contains about steps and tasks that have ended.
func newEnded(c perdure.AgentClaim) ended {
	if c.LastCommit == (perdure.CommitNumber{}) {
		return ended{whole: true}
	}
	if c.Ended == nil { // the server is older, or the poll did not ask for the records
		return ended{}
	}
	e := ended{from: c.Ended.From, whole: c.Ended.Whole}
	e.add(*c.Ended)
	return e
}

// rewound returns e as it was before the function's first request, for a function that is entered
// again. Records that were added since are on the pages of heads or in run.tasks.
func (e *ended) rewound() ended {
	return ended{from: e.from, next: e.from, more: e.from > 0 || e.next > 0, whole: e.whole}
}

func (e *ended) add(p perdure.EndedPage) {
	if e.heads == nil {
		e.heads = map[uuid.UUID]*perdure.EndedHead{}
	}
	for i := range p.Heads {
		h := &p.Heads[i]
		e.heads[h.ID] = h
		e.order = append(e.order, h.ID)
		e.bytes += weightOf(h)
	}
	e.next, e.more = p.Next, p.More
}

func weightOf(h *perdure.EndedHead) int {
	n := len(h.Result.Bytes) + 300
	if h.Error != nil {
		n += len(h.Error.Message)
	}
	return n
}

// giveUp stops the run from reading more pages of heads. Records that are on none of the pages read
// so far must then be requested one by one.
func (e *ended) giveUp() { e.more, e.whole = false, false }

// take removes the head and the prefetched contents of a record. It is called when the function has
// requested the record, or when the record's state may have changed.
func (e *ended) take(id uuid.UUID) {
	if h := e.heads[id]; h != nil {
		e.bytes -= weightOf(h)
		// If h kept its contents, they would stay in memory as long as any head of the same page
		// does.
		h.Result, h.Error = perdure.Payload{}, nil
	}
	delete(e.heads, id)
	delete(e.fetched, id)
	if len(e.heads) == 0 {
		e.order = nil
	}
}

// aim adapts the number of records in the next request for contents. The number grows if at least
// half of the prefetched records were used, and shrinks otherwise.
func (e *ended) aim() {
	switch {
	case e.batched == 0:
		e.ahead = perdure.EndedPageHeads
	case 2*len(e.fetched) > e.batched:
		e.ahead = max(1, e.ahead/4)
	default:
		e.ahead = min(perdure.EndedPageHeads, 4*e.ahead)
	}
}

// batch returns the ids for one request of contents: the given id, and those of the records after
// it whose contents are not in memory.
func (e *ended) batch(id uuid.UUID) []uuid.UUID {
	for len(e.order) > 0 && e.heads[e.order[0]] == nil {
		e.order = e.order[1:]
	}
	ids, bytes, behind := []uuid.UUID{id}, sizeOf(e.heads[id]), false
	for _, other := range e.order {
		h := e.heads[other]
		switch {
		case other == id:
			behind = true
		case !behind || h == nil || h.Step && !h.Partial:
		case len(ids) >= e.ahead || bytes+sizeOf(h) > fetchBytes:
			return ids
		default:
			ids, bytes = append(ids, other), bytes+sizeOf(h)
		}
	}
	return ids
}

// sizeOf returns the approximate number of bytes of the record that the head h (see the type ended)
// describes.
func sizeOf(h *perdure.EndedHead) int64 { return h.Size + h.InputSize + 500 }

// head returns the head of the record with the id (see the type ended). If this head is not in
// memory, the method reads one more page of heads from the server. It returns nil if that page does
// not contain the head either.
func (r *run) head(id uuid.UUID) *perdure.EndedHead {
	if h := r.ended.heads[id]; h != nil || !r.ended.more {
		return h
	}
	r.nextPage()
	return r.ended.heads[id]
}

// nextPage reads the next page of heads (EndedHead) from the server. If the read fails, or maxHeads
// heads are already in memory, it makes the run stop reading pages. If the lease is lost, nextPage ends
// the goroutine of the run and does not return.
func (r *run) nextPage() {
	e := &r.ended
	if len(e.heads) >= maxHeads {
		e.giveUp()
		return
	}
	page, err := r.w.Dispatch.Ended(r.live, perdure.EndedQuery{Lease: r.claim.Lease, After: e.next})
	switch {
	case perdure.IsCode(err, perdure.LeaseLost):
		r.exit(agent.ErrLeaseLost)
	case err != nil:
		r.log().Info("a page of what has ended cannot be read; asking for each record", "error", err)
		e.giveUp()
	default:
		e.add(page)
	}
}

// recorded returns the record of a step with its result or error, or nil if the step has no record.
func (r *run) recorded(id uuid.UUID) (*perdure.Task, error) {
	h := r.head(id)
	switch {
	case h == nil && r.ended.whole && !r.ended.more:
		return nil, nil
	case h == nil:
		return r.lookUp(id)
	case !h.Partial:
		t := &perdure.Task{ID: id, Kind: h.Kind, Step: h.Step, Status: h.Status, Result: h.Result.Bytes, Error: h.Error}
		r.ended.take(id)
		return t, nil
	}
	return r.fetchEnded(id)
}

// lookUp reads one record from the server. It returns nil if the record does not exist.
func (r *run) lookUp(id uuid.UUID) (*perdure.Task, error) {
	found, err := r.w.Dispatch.Tasks(r.live, r.ID(), []uuid.UUID{id})
	if err != nil || len(found) == 0 || found[0] == nil {
		return nil, err
	}
	r.tasks.put(found[0])
	return found[0], nil
}

// fetchEnded returns a record with its contents. The same request fetches the contents of the
// records that the function is likely to request next.
func (r *run) fetchEnded(id uuid.UUID) (*perdure.Task, error) {
	e := &r.ended
	if e.fetched[id] == nil {
		e.aim()
		ids := e.batch(id)
		found, err := r.w.Dispatch.Tasks(r.live, r.ID(), ids)
		if err != nil {
			return nil, err
		}
		// Contents that were fetched ahead but not used are dropped; a later request may fetch them again.
		e.fetched, e.batched = map[uuid.UUID]*perdure.Task{}, len(ids)
		for _, t := range found {
			if t != nil {
				e.fetched[t.ID] = t
			}
		}
	}
	t := e.fetched[id]
	if t == nil {
		return nil, perdure.Errorf(perdure.Internal, "the record %s of execution %s has ended, and cannot be read", id, r.ID())
	}
	e.take(id)
	return t, nil
}

// hasEnded reports whether the task t is known to have ended, so that the next commit need not
// contain it. It returns false if agent code has chosen the task's key, because the server must
// then compare the input and may create a new task. It reads no page of heads, because Schedule
// does not block.
func (r *run) hasEnded(t perdure.NewTask) bool {
	id := perdure.TaskID(t.Key)
	h := r.ended.heads[id]
	if h != nil && t.Options.Key == "" && !h.Step && h.Kind == t.Kind {
		return true
	}
	r.ended.take(id) // the reply to the commit will contain the task's state
	return false
}

// recall reads the contents of those tasks among the futures that have ended. If memory holds few
// heads (ended tasks without their contents), recall first reads the next page of heads from the
// server, because the agent's function will soon schedule these tasks.
func (r *run) recall(futures []agent.Future) error {
	if r.ended.more && len(r.ended.heads) < perdure.EndedPageHeads/2 {
		r.nextPage()
	}
	for _, f := range futures {
		h := r.ended.heads[f.ID]
		if h == nil || r.tasks.get(f.ID) != nil {
			continue
		}
		t, err := r.fetchEnded(f.ID)
		if err != nil {
			return err
		}
		r.tasks.put(t)
	}
	return nil
}
