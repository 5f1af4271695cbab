package log

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Page is a part of a log, as [Log.Page] returns it.
type Page struct {
	Items []Item
	// Next is the position after the last item.
	Next perdure.Cursor
	// UpToDate reports that the log had no records after Next.
	UpToDate bool
	// Reset is set if the cursor does not fit the log, or if records after the cursor (or from the
	// start of the log, if there is no cursor) were pruned. Items then begins at the first record
	// that the log still has, and the client must drop its copy of the log.
	Reset *ResetData
}

// Page returns at most `limit` records after the cursor. It may return fewer or none before the end
// of the log; UpToDate reports whether the end was reached. Errors: invalid_argument, not_found.
func (l *Log) Page(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page, error) {
	c, err := perdure.ParseCursor(cursor)
	if err != nil {
		return Page{}, err
	}
	head, err := l.read.LogHead(ctx, execution)
	if err != nil {
		return Page{}, err
	}
	if c == (perdure.Cursor{}) {
		c.Epoch = l.epoch(head)
	} else if reason, err := l.misfit(ctx, execution, c, head); err != nil {
		return Page{}, err
	} else if reason != "" {
		return l.resetPage(ctx, execution, reason, limit)
	}
	p, err := l.pageAt(ctx, execution, c, limit)
	if errors.Is(err, errTruncated) {
		return l.resetPage(ctx, execution, ResetTruncated, limit)
	}
	return p, err
}

func (l *Log) resetPage(ctx context.Context, execution uuid.UUID, reason string, limit int) (Page, error) {
	at, data, err := l.resetTo(ctx, execution, reason)
	if err != nil {
		return Page{}, err
	}
	p, err := l.pageAt(ctx, execution, at, limit)
	p.Reset = &data
	return p, err
}

func (l *Log) pageAt(ctx context.Context, execution uuid.UUID, at perdure.Cursor, limit int) (Page, error) {
	items, head, err := l.page(ctx, execution, at.Pos, limit)
	if err != nil {
		return Page{}, err
	}
	p := Page{Next: at}
	for _, item := range items {
		p.Next = item.Cursor
		if item.Event != "" {
			p.Items = append(p.Items, item)
		}
	}
	p.UpToDate = p.Next.Pos >= head.LastPos
	return p, nil
}

// AtEnd reports whether a reader that begins at a position will never receive an item, because the
// log has ended and has no record after the position. Errors: invalid_argument, not_found.
func (l *Log) AtEnd(ctx context.Context, execution uuid.UUID, from From) (bool, error) {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil {
		return false, err
	}
	if from.AfterSeq != nil && *from.AfterSeq < 0 {
		return false, perdure.FieldErrorf("after_seq", "must not be negative")
	}
	head, err := l.read.LogHead(ctx, execution)
	if err != nil {
		return false, err
	}
	there := c == l.Cursor(head)
	if c == (perdure.Cursor{}) && from.AfterSeq != nil {
		there = *from.AfterSeq == head.LastSeq
	}
	if !there {
		return false, nil
	}
	return l.ended(ctx, execution, head)
}
