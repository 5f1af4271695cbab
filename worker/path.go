package worker

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// maxHeldPaths is the maximum number of bytes of entries that a worker caches. Entries are
// immutable, so the cache needs no validation.
const maxHeldPaths = 128 << 20

// paths caches the entry paths of recently run executions, so that a turn reads only the new
// entries of a conversation.
type paths struct {
	mu    sync.Mutex // guards the fields below
	held  map[uuid.UUID]*heldPath
	bytes int
	use   int64
}

// heldPath is the cached part of a path, beginning at the root.
type heldPath struct {
	entries   []perdure.Entry
	path      int // bytes of the entries
	bytes     int // total
	used      int64
	execution *perdure.Execution
}

// path returns the entries from the root to leaf, and reads those that are not cached.
func (w *Worker) path(ctx context.Context, execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		held := w.paths.get(execution)
		for i := len(held) - 1; i >= 0; i-- { // usually the newest
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
			// The cache has another branch.
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

// read reads entries. If the server becomes unavailable during the read, it starts again.
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

// put caches the path that continues held with more, returns the whole path, and evicts the least
// recently used paths if necessary. A cached path is only appended to, so that others may continue
// to read it.
func (p *paths) put(execution uuid.UUID, held, more []perdure.Entry) []perdure.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(execution)
	if len(h.entries) != len(held) || len(held) > 0 && h.entries[len(held)-1].ID != held[len(held)-1].ID {
		// The cache has changed in the meantime.
		h.entries = slices.Clip(held)
		p.grow(h, bytesOf(held)-h.path)
		h.path = bytesOf(held)
	}
	p.extend(execution, h, more)
	return slices.Clip(h.entries)
}

// extend appends to a cached path; mu is held.
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

// grow adds to the size of a cached path; mu is held.
func (p *paths) grow(h *heldPath, bytes int) {
	h.bytes += bytes
	p.bytes += bytes
}

// makeRoom evicts other paths until there is room; mu is held.
func (p *paths) makeRoom(but uuid.UUID) {
	for p.bytes > maxHeldPaths && len(p.held) > 1 {
		p.forgetOldest(but)
	}
}

// at returns the cached path, an empty one if there is none; mu is held.
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

// size returns the number of cached bytes of an execution.
func (p *paths) size(execution uuid.UUID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[execution]; h != nil {
		return h.bytes
	}
	return 0
}

// drop removes an execution from the cache.
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

// add caches entries that were committed here, if they continue the cached path.
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

// execution returns an execution from the cache, or reads it. It is for the input, which never
// changes.
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
