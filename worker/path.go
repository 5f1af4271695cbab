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
	path      int // bytes of the entries
	bytes     int // in all
	used      int64
	execution *perdure.Execution
}

// path returns the entries from the root to leaf, reading what is not held.
func (w *Worker) path(ctx context.Context, execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		held := w.paths.get(execution)
		for i := len(held) - 1; i >= 0; i-- { // mostly it is the newest
			if held[i].ID == leaf {
				yieldAll(held[:i+1], yield)
				return
			}
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
		yieldAll(w.paths.put(execution, held, read), yield)
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
			if len(read) == cap(read) { // append alone grows a long slice by a quarter
				read = slices.Grow(read, max(64, len(read)))
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
	for i := range entries {
		if !yield(entries[i], nil) {
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

// put holds the path that continues from held with more, returns it whole, and forgets
// the paths that were used longest ago if there is no room. What is held is only
// ever added to behind its end, so that others may continue reading it.
func (p *paths) put(execution uuid.UUID, held, more []perdure.Entry) []perdure.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(execution)
	if len(h.entries) != len(held) || len(held) > 0 && h.entries[len(held)-1].ID != held[len(held)-1].ID {
		// Something else is held by now, or nothing.
		h.entries = slices.Clip(held)
		p.grow(h, bytesOf(held)-h.path)
		h.path = bytesOf(held)
	}
	p.extend(execution, h, more)
	return slices.Clip(h.entries)
}

// extend adds to a held path; mu is held.
func (p *paths) extend(execution uuid.UUID, h *heldPath, more []perdure.Entry) {
	h.entries = append(h.entries, more...)
	bytes := bytesOf(more)
	h.path += bytes
	p.grow(h, bytes)
	p.makeRoom(execution)
}

func bytesOf(entries []perdure.Entry) (n int) {
	for i := range entries {
		n += len(entries[i].Content) + 200
	}
	return n
}

// grow counts more bytes of a held path; mu is held.
func (p *paths) grow(h *heldPath, bytes int) {
	h.bytes += bytes
	p.bytes += bytes
}

// makeRoom forgets other paths while there is no room; mu is held.
func (p *paths) makeRoom(but uuid.UUID) {
	for p.bytes > maxHeldPaths && len(p.held) > 1 {
		p.forgetOldest(but)
	}
}

// at returns the held path, making an empty one; mu is held.
func (p *paths) at(execution uuid.UUID) *heldPath {
	if p.held == nil {
		p.held = map[uuid.UUID]*heldPath{}
	}
	h := p.held[execution]
	if h == nil {
		h = &heldPath{}
		p.held[execution] = h
		p.grow(h, 1000)
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

// add holds entries that were committed here, if they continue from what is held.
func (p *paths) add(execution uuid.UUID, entries []perdure.Entry) {
	if len(entries) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var held []perdure.Entry
	if h := p.held[execution]; h != nil {
		held = h.entries
	}
	parent, n := entries[0].ParentID, len(held)
	switch {
	case parent == nil && n == 0:
	case parent != nil && n > 0 && held[n-1].ID == *parent:
	default:
		return
	}
	p.extend(execution, p.at(execution), entries)
}

// execution returns an execution whose input is wanted, which never changes.
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
	if h.execution == nil {
		p.grow(h, len(x.Input))
	}
	h.execution = x
	p.makeRoom(id)
	return x, nil
}
