package worker

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/lru"
)

// maxCachedPaths is the maximum number of bytes of the entry paths that a worker caches. Entries
// are immutable, so cached entries never become stale.
const maxCachedPaths = 128 << 20

// paths caches the entry paths of executions that ran recently, so that a turn (a model call and
// its tools) reads only the new entries of its conversation.
type paths struct {
	mu    sync.Mutex                      // guards the fields below
	cache lru.Map[uuid.UUID, *cachedPath] // by execution id
	bytes int
}

// cachedPath is the cached part of an execution's path.
type cachedPath struct {
	heldPath
	asked     bool               // a caller has asked for the whole path, so it stays cached
	path      int                // size of the cached entries in bytes
	bytes     int                // size of everything cached for the execution in bytes
	execution *perdure.Execution // nil until the execution is read
}

// path returns the entries from the root of the conversation to the leaf. It reads those that are not
// cached, and caches them.
func (w *Worker) path(ctx context.Context, execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		held := w.paths.get(execution)
		for i := len(held) - 1; i >= 0; i-- { // the loop begins at the end, because the leaf is usually the newest entry
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
			// The cached entries are on another branch of the conversation than the leaf.
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

// read returns the entries that the query selects. If the server becomes unavailable while it sends
// the entries, read starts again from the first one.
func (w *Worker) read(ctx context.Context, q perdure.EntryQuery) ([]perdure.Entry, error) {
	var read []perdure.Entry
	err := w.retry(ctx, func() error {
		read = nil
		for e, err := range w.Dispatch.Entries(ctx, q) {
			if err != nil {
				return err
			}
			if len(read) == cap(read) { // append alone grows long slices only by a quarter
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

// get returns the cached path of an execution. It returns nil if no path is cached, or if the
// cached path does not begin at the root.
func (p *paths) get(execution uuid.UUID) []perdure.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.cache.Get(execution); h != nil && !h.partial {
		h.asked = true
		return h.entries
	}
	return nil
}

// put caches the path that consists of the entries `held` followed by the entries `more`, and
// returns it. If the cache is full, it evicts the least recently used paths. Cached slices are
// never overwritten, only extended, so callers may still read the slices that they have got.
func (p *paths) put(execution uuid.UUID, held, more []perdure.Entry) []perdure.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(execution)
	if h.partial || len(h.entries) != len(held) || len(held) > 0 && h.entries[len(held)-1].ID != held[len(held)-1].ID {
		// The cached path is no longer the one that the caller passes as `held`, or it does not
		// begin at the root.
		p.replace(h, heldPath{entries: slices.Clip(held)})
	}
	h.asked = true
	p.extend(h, more)
	return slices.Clip(h.entries)
}

// replace replaces the entries of a cached path. The caller has locked p.mu.
func (p *paths) replace(h *cachedPath, held heldPath) {
	bytes := bytesOf(held.pinned) + bytesOf(held.entries)
	h.heldPath = held
	p.grow(h, bytes-h.path)
	h.path = bytes
}

// extend appends entries to a cached path. The caller has locked p.mu.
func (p *paths) extend(h *cachedPath, more []perdure.Entry) {
	h.entries = append(h.entries, more...)
	bytes := bytesOf(more)
	h.path += bytes
	p.grow(h, bytes)
	p.makeRoom()
}

func bytesOf(entries []perdure.Entry) (n int) {
	for i := range entries {
		n += len(entries[i].Content) + 200
	}
	return n
}

// grow adds bytes to the counted size of everything that is cached for an execution. The caller has
// locked p.mu.
func (p *paths) grow(h *cachedPath, bytes int) {
	h.bytes += bytes
	p.bytes += bytes
}

// makeRoom evicts the least recently used paths until the cache is within its limit. It never evicts the
// most recently used one, with which the caller is working. The caller has locked p.mu.
func (p *paths) makeRoom() {
	for p.bytes > maxCachedPaths && p.cache.Len() > 1 {
		p.bytes -= p.cache.RemoveOldest().bytes
	}
}

// at returns the cache's record of an execution, and marks it as the most recently used one. If the
// cache has no record, at adds an empty one. The caller has locked p.mu.
func (p *paths) at(execution uuid.UUID) *cachedPath {
	h := p.cache.Get(execution)
	if h == nil {
		h = &cachedPath{}
		p.cache.Put(execution, h)
		p.grow(h, 1000)
	}
	return h
}

// size returns the number of bytes that the cache has for an execution.
func (p *paths) size(execution uuid.UUID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.cache.Peek(execution); h != nil {
		return h.bytes
	}
	return 0
}

// drop removes an execution from the cache.
func (p *paths) drop(execution uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.cache.Remove(execution); h != nil {
		p.bytes -= h.bytes
	}
}

// add caches entries that this worker has just read or committed, if they continue the cached path.
// Otherwise it does nothing.
func (p *paths) add(execution uuid.UUID, entries []perdure.Entry) {
	if len(entries) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var held []perdure.Entry
	if h := p.cache.Peek(execution); h != nil {
		held = h.entries
	}
	parent, n := entries[0].ParentID, len(held)
	switch {
	case parent == nil && n == 0:
	case parent != nil && n > 0 && held[n-1].ID == *parent:
	default:
		return
	}
	p.extend(p.at(execution), entries)
}

// execution returns the execution with the id from the cache. If the cache does not have it,
// execution calls `read` and caches the result. The status of a cached execution may be out of
// date, so callers use only its input, which never changes.
func (p *paths) execution(id uuid.UUID, read func() (*perdure.Execution, error)) (*perdure.Execution, error) {
	if x := p.knownExecution(id); x != nil {
		return x, nil
	}
	x, err := read()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(id)
	if h.execution == nil {
		p.grow(h, len(x.Input))
	}
	h.execution = x
	p.makeRoom()
	return x, nil
}

func (p *paths) knownExecution(id uuid.UUID) *perdure.Execution {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.cache.Get(id); h != nil {
		return h.execution
	}
	return nil
}
