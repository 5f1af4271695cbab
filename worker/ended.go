package worker

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

const (
	// maxHeads is how many heads a run holds that were not asked for. A function that
	// asks in another order than before comes to it.
	maxHeads = 10_000
	// fetchBytes is about how many bytes of results a run fetches ahead.
	fetchBytes = 1 << 20
)

// ended is what a run knows of the steps and tasks that had ended when its function
// was entered. A function that is entered again asks for them in about the order in
// which they were recorded, so what follows a record is fetched with it. What was
// asked for is forgotten: a step is not asked for twice, and run.tasks has the tasks.
type ended struct {
	heads   map[uuid.UUID]*perdure.EndedHead
	order   []uuid.UUID // of heads, as recorded; some are forgotten
	fetched map[uuid.UUID]*perdure.Task
	// ahead is how many records the next request fetches at most, batched how many the
	// one before did.
	ahead, batched int
	// from and next are positions of pages: the first, and the next to read.
	from, next int64
	more       bool
	// whole says that what is in no page was not recorded.
	whole bool
	bytes int // about what the heads and what is fetched take in memory
}

// newEnded is what a claim says of what has ended.
func newEnded(c perdure.AgentClaim) ended {
	if c.LastCommit == (perdure.CommitNumber{}) {
		return ended{whole: true}
	}
	if c.Ended == nil { // the server is older, or was not asked
		return ended{}
	}
	e := ended{from: c.Ended.From, whole: c.Ended.Whole}
	e.add(*c.Ended)
	return e
}

// rewound is the same before anything was asked for. What was recorded meanwhile is
// on its pages, or in run.tasks.
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

// giveUp reads no more pages: what is in none of those read has to be asked for.
func (e *ended) giveUp() { e.more, e.whole = false, false }

// take forgets a record that is asked for, or that is not certain any longer.
func (e *ended) take(id uuid.UUID) {
	if h := e.heads[id]; h != nil {
		e.bytes -= weightOf(h)
		h.Result, h.Error = perdure.Payload{}, nil // others keep its page in memory
	}
	delete(e.heads, id)
	delete(e.fetched, id)
	if len(e.heads) == 0 {
		e.order = nil
	}
}

// aim sets how many records the next request fetches: more where those fetched before
// were asked for, fewer where most of them were not.
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

// batch is the record and those after it whose contents are not here: what one
// request fetches.
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

// sizeOf is about how many bytes the record takes.
func sizeOf(h *perdure.EndedHead) int64 { return h.Size + h.InputSize + 500 }

// head returns the head of a record, reading one page more if there is need; nil if
// there is none, or none is known.
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

// recorded returns a step's record; nil if there is none.
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

// lookUp asks for one record.
func (r *run) lookUp(id uuid.UUID) (*perdure.Task, error) {
	found, err := r.w.Dispatch.Tasks(r.live, r.ID(), []uuid.UUID{id})
	if err != nil || len(found) == 0 || found[0] == nil {
		return nil, err
	}
	r.tasks.put(found[0])
	return found[0], nil
}

// fetchEnded returns a record with its contents, and fetches what of those after it
// is likely to be asked for next.
func (r *run) fetchEnded(id uuid.UUID) (*perdure.Task, error) {
	e := &r.ended
	if e.fetched[id] == nil {
		e.aim()
		ids := e.batch(id)
		found, err := r.w.Dispatch.Tasks(r.live, r.ID(), ids)
		if err != nil {
			return nil, err
		}
		// What was fetched before and not asked for is fetched again.
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

// hasEnded reports whether a task that is scheduled is known to have ended. A key of
// the caller's goes to the server, which compares the input and may make the task
// again. It does not block, so it reads no page.
func (r *run) hasEnded(t perdure.NewTask) bool {
	id := perdure.TaskID(t.Key)
	h := r.ended.heads[id]
	if h != nil && t.Options.Key == "" && !h.Step && h.Kind == t.Kind {
		return true
	}
	r.ended.take(id) // the answer to the commit says how it stands
	return false
}

// recall fetches those of the futures' tasks that are known to have ended. It keeps
// heads at hand for the tasks that are scheduled next.
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
