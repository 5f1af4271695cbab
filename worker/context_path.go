package worker

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// heldPath is what a worker caches of the path of an execution's conversation: all its entries, or
// only those that a context needs after a compaction. The entries are immutable.
type heldPath struct {
	// pinned are the entries in the list Pinned of the compaction. They are older than those in
	// `entries`, and come first in the context. If `entries` begins at the root of the conversation,
	// pinned is empty.
	pinned  []perdure.Entry
	entries []perdure.Entry
	partial bool // the path does not begin at the root
}

// contextPath returns those entries of the path to `leaf` that perdure.ContextOf needs to build the
// context of a model call. It takes cached entries from memory, reads the others from the server,
// and caches them.
func (w *Worker) contextPath(ctx context.Context, execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		path, err := w.readContextPath(ctx, execution, leaf)
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		yieldAll(path, yield)
	}
}

func (w *Worker) readContextPath(ctx context.Context, execution, leaf uuid.UUID) ([]perdure.Entry, error) {
	held := w.paths.held(execution)
	if path, ok := held.contextAt(leaf); ok {
		w.paths.trim(execution, held, path)
		return path.all(), nil
	}
	q := perdure.EntryQuery{ExecutionID: execution, Leaf: leaf, Context: true}
	if n := len(held.entries); n > 0 {
		q.After = &held.entries[n-1].ID
	}
	read, err := w.read(ctx, q)
	if err == nil && held.continues(read) {
		if path, ok := held.with(read).contextAt(leaf); ok {
			w.paths.add(execution, read)
			return path.all(), nil
		}
		err = errOtherPath
	}
	if err == nil && len(read) == 0 { // there is nothing new: the leaf is the last cached entry
		err = errOtherPath
	}
	// An older server returns not_found if the cached entries are on another branch of the
	// conversation. The worker then repeats the query without After, as it does after errOtherPath.
	if q.After != nil && perdure.IsCode(err, perdure.NotFound) {
		q.After = nil
		read, err = w.read(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	w.paths.begin(execution, read)
	return read, nil
}

// errOtherPath means that the entries that the server has sent do not fit the cached entries, so
// that the whole path must be read.
var errOtherPath = perdure.Errorf(perdure.NotFound, "the cached entries lack a pinned entry")

// all returns the entries of the cached path, the pinned ones first.
func (p heldPath) all() []perdure.Entry {
	if len(p.pinned) == 0 {
		return p.entries
	}
	return slices.Concat(p.pinned, p.entries)
}

// continues reports whether the entries `read`, which came from the server, directly follow the
// last cached entry.
func (p heldPath) continues(read []perdure.Entry) bool {
	n := len(p.entries)
	return n > 0 && len(read) > 0 && isChild(&read[0], &p.entries[n-1]) && tail(read) == 0
}

// with returns a copy of the path to which the entries `read` are appended.
func (p heldPath) with(read []perdure.Entry) heldPath {
	p.entries = slices.Concat(p.entries, read)
	return p
}

func isChild(e, of *perdure.Entry) bool { return e.ParentID != nil && *e.ParentID == of.ID }

// tail returns the index of the first entry of the unbroken chain at the end of `entries`. In a
// chain, each entry is the parent of the entry after it.
func tail(entries []perdure.Entry) int {
	i := max(len(entries)-1, 0)
	for i > 0 && isChild(&entries[i], &entries[i-1]) {
		i--
	}
	return i
}

// contextAt returns the part of the cached path that is needed for the context at the entry `leaf`.
// The bool reports whether the cache has all entries of that part.
func (p heldPath) contextAt(leaf uuid.UUID) (heldPath, bool) {
	i := lastOf(p.entries, func(e *perdure.Entry) bool { return e.ID == leaf })
	if i < 0 {
		return heldPath{}, false
	}
	whole := heldPath{pinned: p.pinned, entries: p.entries[: i+1 : i+1], partial: p.partial}
	at := lastOf(whole.entries, func(e *perdure.Entry) bool { return e.Type == perdure.EntryCompaction })
	if at < 0 {
		return whole, !p.partial
	}
	c, err := whole.entries[at].Compaction()
	if err != nil {
		return whole, !p.partial // ContextOf, which the caller uses next, reports the error
	}
	from := at
	if c.KeepFrom != nil {
		if from = lastOf(whole.entries[:at], func(e *perdure.Entry) bool { return e.ID == *c.KeepFrom }); from < 0 {
			return whole, !p.partial
		}
	}
	if from == 0 && !p.partial {
		return whole, true
	}
	before := slices.Concat(p.pinned, whole.entries[:from])
	pinned := slices.DeleteFunc(before, func(e perdure.Entry) bool { return !slices.Contains(c.Pinned, e.ID) })
	rest := whole.entries[from:]
	if p.partial && slices.ContainsFunc(c.Pinned, func(id uuid.UUID) bool {
		is := func(e perdure.Entry) bool { return e.ID == id }
		return !slices.ContainsFunc(pinned, is) && !slices.ContainsFunc(rest, is)
	}) {
		return heldPath{}, false
	}
	return heldPath{pinned: pinned, entries: rest, partial: true}, true
}

// lastOf returns the index of the last entry for which the function `is` returns true, or -1 if
// there is none.
func lastOf(entries []perdure.Entry, is func(*perdure.Entry) bool) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if is(&entries[i]) {
			return i
		}
	}
	return -1
}

// held returns the cached path of an execution; it is empty if none is cached.
func (p *paths) held(execution uuid.UUID) heldPath {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.cache.Get(execution); h != nil {
		return h.heldPath
	}
	return heldPath{}
}

// begin replaces the cached path of an execution by `read`, which are all entries of a context.
func (p *paths) begin(execution uuid.UUID, read []perdure.Entry) {
	if len(read) == 0 {
		return
	}
	at := tail(read)
	held := heldPath{pinned: read[:at:at], entries: slices.Clip(read[at:]), partial: at > 0 || read[0].ParentID != nil}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replace(p.at(execution), held)
	p.makeRoom()
}

// trim drops the beginning of the cached path of an execution, if no later context needs it. `held`
// is the cached path, and `context` is the part of it that later contexts need. trim drops nothing
// if a caller has asked for the whole path. It copies the entries that stay, so it waits until it
// can drop at least half of all entries.
func (p *paths) trim(execution uuid.UUID, held, context heldPath) {
	n := len(held.entries)
	if !context.partial || n == 0 || n < 2*len(context.entries) || context.entries[len(context.entries)-1].ID != held.entries[n-1].ID {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.cache.Peek(execution)
	if h == nil || h.asked || len(h.entries) != n || h.entries[n-1].ID != held.entries[n-1].ID {
		return
	}
	p.replace(h, heldPath{pinned: context.pinned, entries: slices.Clone(context.entries), partial: true})
}
