package read

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// ContextPath implements [store.Reader].
func (r *Reader) ContextPath(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, lazy bool) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		var (
			way     route
			barrier *load.Barrier
		)
		err := r.Read(ctx, func(v statement.View) (err error) {
			way, barrier, err = findContext(v, execution, leaf, after)
			return err
		})
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		if barrier != nil {
			for _, id := range barrier.Pinned {
				e, err := r.one(ctx, execution, id, lazy)
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
		r.walk(ctx, execution, way, lazy, yield)
	}
}

// LeftOut implements [store.Reader].
func (r *Reader) LeftOut(ctx context.Context, execution, leaf uuid.UUID) (left []perdure.LeftOut, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		left = nil
		top, _, err := findPlace(v, execution, leaf)
		if err != nil {
			return err
		}
		barrier, err := load.NewestBarrier(v, execution, top)
		if err == nil && barrier != nil {
			left = barrier.LeftOut
		}
		return err
	})
	return left, err
}

// findContext returns the entries that must be read for the context at leaf, and the barrier (see
// load.Barrier) of the newest compaction before leaf. The entries begin with the first one that
// this compaction keeps, or with the root if there is no barrier. If the entry `after` is one of
// these entries, findContext returns only the entries that follow `after`, and no barrier.
func findContext(v statement.View, execution, leaf uuid.UUID, after *uuid.UUID) (way route, barrier *load.Barrier, err error) {
	top, beside, err := findPlace(v, execution, leaf)
	if err != nil {
		return way, nil, err
	}
	if barrier, err = load.NewestBarrier(v, execution, top); err != nil {
		return way, nil, err
	}
	above := int64(0)
	if barrier != nil {
		above = barrier.Keep.Depth - 1
	}
	way.beside = beside
	if way.ranges, err = load.Ranges(v, execution, top, above); err == nil && len(way.ranges) > 0 {
		way.skip(above - way.ranges[0].Bottom)
	}
	if err != nil || after == nil {
		return way, barrier, err
	}
	at, _, found, err := load.Place(v, execution, *after)
	if err == nil && found && slices.ContainsFunc(way.ranges, func(r load.PathRange) bool { return r.Contains(at) }) {
		way.skip(at.Depth - way.ranges[0].Bottom)
		barrier = nil
	}
	return way, barrier, err
}
