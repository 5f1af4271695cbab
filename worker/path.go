package worker

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// maxHeldPaths bounds the bytes of entries that a worker holds. Entries are
// immutable, so what is held never has to be checked.
const maxHeldPaths = 128 << 20

// paths holds the entry paths of executions that this worker lately ran, so
// that a turn reads what is new of a conversation and no more.
type paths struct {
	mu    sync.Mutex // guards what follows
	held  map[uuid.UUID]*heldPath
	bytes int
	use   int64
}

// heldPath is a path from the root, as far as it was read or written here.
type heldPath struct {
	entries   []perdure.Entry
	bytes     int
	used      int64
	execution *perdure.Execution
}

// path gives the entries from the root to leaf, reading what is not held.
func (w *Worker) path(ctx context.Context, execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		held := w.paths.get(execution)
		if i := slices.IndexFunc(held, func(e perdure.Entry) bool { return e.ID == leaf }); i >= 0 {
			yieldAll(held[:i+1], yield)
			return
		}
		q := perdure.EntryQuery{ExecutionID: execution, Leaf: leaf}
		if len(held) > 0 {
			q.After = &held[len(held)-1].ID
		}
		read, err := w.read(ctx, q)
		if q.After != nil && perdure.IsCode(err, perdure.NotFound) {
			// What is held is another branch.
			held, q.After = nil, nil
			read, err = w.read(ctx, q)
		}
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		whole := append(slices.Clip(held), read...)
		w.paths.put(execution, whole)
		yieldAll(whole, yield)
	}
}

// read reads entries; where the server goes away in the middle, it begins again.
func (w *Worker) read(ctx context.Context, q perdure.EntryQuery) ([]perdure.Entry, error) {
	var read []perdure.Entry
	err := w.retry(ctx, func() error {
		read = nil
		for e, err := range w.Dispatch.Entries(ctx, q) {
			if err != nil {
				return err
			}
			read = append(read, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return read, nil
}

func yieldAll(entries []perdure.Entry, yield func(perdure.Entry, error) bool) {
	for _, e := range entries {
		if !yield(e, nil) {
			return
		}
	}
}

func (p *paths) get(execution uuid.UUID) []perdure.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[execution]
	if h == nil {
		return nil
	}
	p.use++
	h.used = p.use
	return h.entries
}

// put holds a path, and forgets the ones that were used longest ago if there is
// no room.
func (p *paths) put(execution uuid.UUID, entries []perdure.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(execution)
	h.entries = entries
	p.weigh(execution, h)
}

// weigh counts a held path anew, and forgets others if there is no room; mu is
// held.
func (p *paths) weigh(execution uuid.UUID, h *heldPath) {
	p.bytes -= h.bytes
	h.bytes = 1000
	if h.execution != nil {
		h.bytes += len(h.execution.Input)
	}
	for _, e := range h.entries {
		h.bytes += len(e.Content) + 200
	}
	p.bytes += h.bytes
	for p.bytes > maxHeldPaths && len(p.held) > 1 {
		p.forgetOldest(execution)
	}
}

// at gives the held path, making an empty one; mu is held.
func (p *paths) at(execution uuid.UUID) *heldPath {
	if p.held == nil {
		p.held = map[uuid.UUID]*heldPath{}
	}
	h := p.held[execution]
	if h == nil {
		h = &heldPath{}
		p.held[execution] = h
	}
	p.use++
	h.used = p.use
	return h
}

// size is how many bytes are held of an execution.
func (p *paths) size(execution uuid.UUID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[execution]; h != nil {
		return h.bytes
	}
	return 0
}

// drop forgets what is held of an execution.
func (p *paths) drop(execution uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[execution]; h != nil {
		p.bytes -= h.bytes
		delete(p.held, execution)
	}
}

func (p *paths) forgetOldest(but uuid.UUID) {
	var oldest uuid.UUID
	used := int64(-1)
	for id, h := range p.held {
		if id != but && (used < 0 || h.used < used) {
			oldest, used = id, h.used
		}
	}
	if used < 0 {
		return
	}
	p.bytes -= p.held[oldest].bytes
	delete(p.held, oldest)
}

// add holds entries that were committed here, if they go on from what is held.
func (p *paths) add(execution uuid.UUID, entries []perdure.Entry) {
	if len(entries) == 0 {
		return
	}
	held := p.get(execution)
	parent := entries[0].ParentID
	switch {
	case parent == nil && len(held) == 0:
	case parent != nil && len(held) > 0 && held[len(held)-1].ID == *parent:
	default:
		return
	}
	p.put(execution, append(slices.Clip(held), entries...))
}

// execution gives an execution whose input is wanted, which never changes.
func (p *paths) execution(id uuid.UUID, read func() (*perdure.Execution, error)) (*perdure.Execution, error) {
	p.mu.Lock()
	h := p.held[id]
	p.mu.Unlock()
	if h != nil && h.execution != nil {
		return h.execution, nil
	}
	x, err := read()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h = p.at(id)
	h.execution = x
	p.weigh(id, h)
	return x, nil
}
