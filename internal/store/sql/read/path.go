package read

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	// firstPiece is the number of entries that the first read of a path loads. Later reads load
	// more, up to lastPiece. Most callers want only one page.
	firstPiece, lastPiece = 32, 512
	// pathBytes is the approximate maximum number of content bytes that one read of a path loads.
	pathBytes = 512 << 10
)

// entriesOfRange selects the entries of one segment whose depths are in a range. Without INDEXED
// BY, SQLite might use another index that begins with the execution's id.
var entriesOfRange = statement.Read("SELECT e.depth, " + load.EntryColumns + " FROM agent_entry e INDEXED BY idx_agent_entry_place" +
	" WHERE e.agent_execution_id = ? AND e.segment = ? AND e.depth > ? AND e.depth <= ? AND e.depth > 0 ORDER BY e.depth")

// route is a list of entries to read, such as a part of a path. It consists of ranges of segments,
// and of single entries after them.
type route struct {
	ranges []load.PathRange // in order from the root
	// beside lists the LLM call entries after the ranges. Such entries are never on a path (see
	// load.TreePlace). The list is empty unless the leaf is such an entry; the last element of the
	// list is then the leaf.
	beside []uuid.UUID
}

// length returns the number of entries of the route.
func (w *route) length() (n int64) {
	for _, r := range w.ranges {
		n += r.Top - r.Bottom
	}
	return n + int64(len(w.beside))
}

// skip removes the first n entries from the route.
func (w *route) skip(n int64) {
	for len(w.ranges) > 0 && n > 0 {
		first := &w.ranges[0]
		drop := min(n, first.Top-first.Bottom)
		first.Bottom, n = first.Bottom+drop, n-drop
		if first.Bottom == first.Top {
			w.ranges = w.ranges[1:]
		}
	}
	w.beside = w.beside[min(n, int64(len(w.beside))):]
}

// take returns the ranges of the first n entries of the route, without removing these entries.
func (w *route) take(n int64) (piece []load.PathRange) {
	for _, r := range w.ranges {
		if n <= 0 {
			break
		}
		r.Top = min(r.Top, r.Bottom+n)
		n -= r.Top - r.Bottom
		piece = append(piece, r)
	}
	return piece
}

// Path implements [store.Reader]. It reads the entries in pieces, without an open transaction
// between two reads. The pieces fit together, because entries never change.
func (r *Reader) Path(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		if after != nil && *after == leaf {
			return
		}
		var way route
		err := r.Read(ctx, func(v statement.View) (err error) {
			way, err = findRoute(v, execution, leaf, after, int64(newest))
			return err
		})
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		r.walk(ctx, execution, way, lazy, yield)
	}
}

// walk reads the entries of a route in pieces, and yields them in order. No transaction is open
// between two reads.
func (r *Reader) walk(ctx context.Context, execution uuid.UUID, way route, lazy bool, yield func(perdure.Entry, error) bool) {
	for n := firstPiece; way.length() > 0; {
		entries, err := r.piece(ctx, execution, &way, int64(n), lazy)
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		n = min(max(2*len(entries), firstPiece), lastPiece)
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		way.skip(int64(len(entries)))
	}
}

// findRoute returns the route that ends with leaf. It begins with the entry that follows `after`,
// or at the root if `after` is nil. If newest > 0, the route contains only the last `newest`
// entries.
func findRoute(v statement.View, execution, leaf uuid.UUID, after *uuid.UUID, newest int64) (way route, err error) {
	top, beside, err := findPlace(v, execution, leaf)
	if err != nil {
		return way, err
	}
	way.beside = beside
	if after != nil && len(beside) > 0 {
		if at := slices.Index(beside, *after); at >= 0 {
			way.beside = beside[at+1:]
			way.skip(way.length() - limited(newest, way.length()))
			return way, nil
		}
	}
	var from load.TreePlace
	if after != nil {
		var found bool
		if from, _, found, err = load.Place(v, execution, *after); err != nil {
			return way, err
		}
		if !found || from.Depth <= 0 {
			return way, notOnPath(*after, leaf)
		}
	}
	floor := from.Depth
	if newest > 0 {
		floor = max(floor, top.Depth-newest)
	}
	down := floor // ranges are read from depth down+1 on; they must include the entry after
	if after != nil {
		down = from.Depth - 1
	}
	if way.ranges, err = load.Ranges(v, execution, top, max(down, 0)); err != nil {
		return way, err
	}
	if after != nil && !slices.ContainsFunc(way.ranges, func(r load.PathRange) bool { return r.Contains(from) }) {
		return way, notOnPath(*after, leaf)
	}
	if len(way.ranges) > 0 {
		way.skip(floor - way.ranges[0].Bottom)
	}
	way.skip(way.length() - limited(newest, way.length()))
	return way, nil
}

// limited returns the smaller one of `newest` and n, or n if `newest` is 0.
func limited(newest, n int64) int64 {
	if newest > 0 {
		return min(newest, n)
	}
	return n
}

func notOnPath(after, leaf uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "entry %s is not on the path to %s", after, leaf)
}

// findPlace returns the place of the leaf. If the leaf is an LLM call entry, which is never on a
// path (see load.TreePlace), findPlace returns the place of its nearest ancestor on a path, and the
// ids of the entries below that ancestor, down to the leaf.
func findPlace(v statement.View, execution, leaf uuid.UUID) (top load.TreePlace, beside []uuid.UUID, err error) {
	for at := &leaf; at != nil; {
		p, parent, found, err := load.Place(v, execution, *at)
		switch {
		case err != nil:
			return top, nil, err
		case !found:
			return top, nil, noEntry(execution, *at)
		case p.None || slices.Contains(beside, *at):
			return top, nil, perdure.Errorf(perdure.Internal, "entry %s of execution %s has no place in the tree; run perdure store check", at, execution)
		case p.Depth > 0:
			top, at = p, nil
		default:
			beside, at = append(beside, *at), parent
		}
	}
	slices.Reverse(beside)
	return top, beside, nil
}

// piece loads the first entries of a route, at most n and at least one of them.
func (r *Reader) piece(ctx context.Context, execution uuid.UUID, way *route, n int64, lazy bool) (entries []perdure.Entry, err error) {
	if len(way.ranges) == 0 {
		e, err := r.one(ctx, execution, way.beside[0], lazy)
		return []perdure.Entry{e}, err
	}
	err = r.Read(ctx, func(v statement.View) error {
		if entries, err = loadPiece(v, execution, way.take(n)); err != nil {
			return err
		}
		bytes := 0
		for i := range entries {
			e := &entries[i]
			if err := r.fillOne(v, execution, e, lazy); err != nil {
				return err
			}
			if bytes += len(e.Content); bytes > pathBytes {
				entries = entries[:i+1]
				break
			}
		}
		return nil
	})
	return entries, err
}

// loadPiece loads the entries of the ranges, without the contents in blobs. It stops early after
// about pathBytes.
func loadPiece(v statement.View, execution uuid.UUID, ranges []load.PathRange) ([]perdure.Entry, error) {
	parts := make([][]perdure.Entry, len(ranges))
	bytes := 0
	err := statement.ForEach(v, statement.Indexes(len(ranges)), func(v statement.View, i int) (err error) {
		if bytes <= pathBytes {
			parts[i], err = loadRange(v, execution, ranges[i], &bytes)
		}
		return err
	})
	return slices.Concat(parts...), err
}

func loadRange(v statement.View, execution uuid.UUID, r load.PathRange, bytes *int) ([]perdure.Entry, error) {
	entries := make([]perdure.Entry, 0, r.Top-r.Bottom)
	at := r.Bottom
	var (
		e     perdure.Entry
		depth int64
	)
	into := load.EntryScan([]any{&depth}, &e) // allocated once for all rows
	err := v.Each(entriesOfRange, []any{execution[:], r.Segment, r.Bottom, r.Top}, func(row func(...any) error) error {
		e = perdure.Entry{} // each entry needs memory of its own
		if err := row(into...); err != nil {
			return err
		}
		if at++; depth != at {
			return hole(execution, r.Segment, at)
		}
		entries = append(entries, e)
		if *bytes += len(e.Content); *bytes > pathBytes {
			return statement.ErrStop
		}
		return nil
	})
	if err == nil && at < r.Top && *bytes <= pathBytes {
		err = hole(execution, r.Segment, at+1) // this also happens if the execution was deleted meanwhile
	}
	return entries, err
}

func hole(execution uuid.UUID, segment, depth int64) error {
	return perdure.Errorf(perdure.NotFound, "there is no entry at depth %d of segment %d in execution %s", depth, segment, execution)
}

// fillOne loads the length and the hash of the blob with an entry's content. Unless `lazy` is set,
// it also loads the content.
func (r *Reader) fillOne(v statement.View, execution uuid.UUID, e *perdure.Entry, lazy bool) (err error) {
	if e.Blob == nil {
		return nil
	}
	if err = contents.CompleteRef(v, execution, e.Blob); err != nil || lazy {
		return err
	}
	return r.joinEntry(v, execution, e)
}

// one loads the entry with that id.
func (r *Reader) one(ctx context.Context, execution, id uuid.UUID, lazy bool) (e perdure.Entry, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		found, err := load.Entry(v, execution, id)
		if err == nil && found == nil {
			err = noEntry(execution, id)
		}
		if err != nil {
			return err
		}
		if e = *found; lazy {
			return nil
		}
		return r.joinEntry(v, execution, &e)
	})
	return e, err
}
