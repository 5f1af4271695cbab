package worker

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

const (
	// maxHeads is the maximum number of unrequested heads that a run holds. Only a function that
	// requests records in another order than before reaches it.
	maxHeads = 10_000
	// fetchBytes is the approximate number of bytes of results that a run prefetches.
	fetchBytes = 1 << 20
)

// ended holds the steps and tasks that had ended when the function was entered. A function that is
// entered again requests them roughly in the order of their records, so the records after a
// requested one are prefetched. A requested record is removed: a step is requested only once, and
// run.tasks holds the tasks.
type ended struct {
	heads   map[uuid.UUID]*perdure.EndedHead
	order   []uuid.UUID // of heads, as recorded; some are removed
	fetched map[uuid.UUID]*perdure.Task
	// ahead is the maximum number of records in the next request, batched the number in the
	// previous request.
	ahead, batched int
	// from is the position of the first page, next that of the next page.
	from, next int64
	more       bool
	// whole reports that a record outside the pages does not exist.
	whole bool
	bytes int // approximate memory of the heads and the prefetched results
}

// newEnded returns the ended records of a claim.
func newEnded(c perdure.AgentClaim) ended {
	if c.LastCommit == (perdure.CommitNumber{}) {
		return ended{whole: true}
	}
	if c.Ended == nil { // an older server, or a poll that did not ask
		return ended{}
	}
	e := ended{from: c.Ended.From, whole: c.Ended.Whole}
	e.add(*c.Ended)
	return e
}

// rewound returns e as it was before the first request. Records made since are on its pages or in
// run.tasks.
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

// giveUp stops reading pages. Records outside the pages read so far must be requested one by one.
func (e *ended) giveUp() { e.more, e.whole = false, false }

// take removes a record that is requested or no longer certain.
func (e *ended) take(id uuid.UUID) {
	if h := e.heads[id]; h != nil {
		e.bytes -= weightOf(h)
		h.Result, h.Error = perdure.Payload{}, nil // releases the memory, because other heads keep the page
	}
	delete(e.heads, id)
	delete(e.fetched, id)
	if len(e.heads) == 0 {
		e.order = nil
	}
}

// aim adjusts the number of records in the next request: up if the prefetched ones were used, down
// if most of them were not.
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

// batch returns the ids for one request: the given record and the following ones whose contents are
// not here.
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

// sizeOf returns the approximate number of bytes of the record.
func sizeOf(h *perdure.EndedHead) int64 { return h.Size + h.InputSize + 500 }

// head returns the head of a record, and reads another page if necessary. It returns nil if there
// is no such record or it is unknown.
func (r *run) head(id uuid.UUID) *perdure.EndedHead {
	if h := r.ended.heads[id]; h != nil || !r.ended.more {
		return h
	}
	r.nextPage()
	return r.ended.heads[id]
}

// nextPage reads a page of heads.
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

// recorded returns a step's record, nil if there is none.
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

// lookUp requests one record.
func (r *run) lookUp(id uuid.UUID) (*perdure.Task, error) {
	found, err := r.w.Dispatch.Tasks(r.live, r.ID(), []uuid.UUID{id})
	if err != nil || len(found) == 0 || found[0] == nil {
		return nil, err
	}
	r.tasks.put(found[0])
	return found[0], nil
}

// fetchEnded returns a record with its contents, and prefetches the records that are likely to be
// requested next.
func (r *run) fetchEnded(id uuid.UUID) (*perdure.Task, error) {
	e := &r.ended
	if e.fetched[id] == nil {
		e.aim()
		ids := e.batch(id)
		found, err := r.w.Dispatch.Tasks(r.live, r.ID(), ids)
		if err != nil {
			return nil, err
		}
		// Prefetched records that were not used may be fetched again.
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

// hasEnded reports whether a task to be scheduled is known to have ended. It returns false for a
// caller's key: the server compares the input and may create the task again. It does not block, so
// it reads no page.
func (r *run) hasEnded(t perdure.NewTask) bool {
	id := perdure.TaskID(t.Key)
	h := r.ended.heads[id]
	if h != nil && t.Options.Key == "" && !h.Step && h.Kind == t.Kind {
		return true
	}
	r.ended.take(id) // the reply to the commit holds its state
	return false
}

// recall fetches the futures' tasks that are known to have ended. It keeps the heads that the next
// scheduled tasks need.
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
