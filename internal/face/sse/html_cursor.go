package sse

import "github.com/perdure/perdure"

// cursorTracker tracks the cursor that is directly before the current item of the log.
type cursorTracker struct {
	last, previous perdure.Cursor // previous is directly before last; zero if unknown
	// at reads the cursor at a position of the log.
	at func(pos int64) (perdure.Cursor, error)
}

// before returns the cursor directly before `now`, the cursor of a new item of the log. It must be
// called for every item, because it returns the cursor of one item when it is called for the next.
// If positions were skipped between two items, before reads the cursor from the log if `needed` is
// true, and otherwise returns the zero cursor.
func (b *cursorTracker) before(now perdure.Cursor, needed bool) (perdure.Cursor, error) {
	switch {
	case now.Epoch == b.last.Epoch && now.Pos == b.last.Pos+1:
		b.previous = b.last
	case now != b.last:
		b.previous = perdure.Cursor{}
	}
	b.last = now
	if !needed || b.previous != (perdure.Cursor{}) || now.Pos == 0 {
		return b.previous, nil
	}
	var err error
	b.previous, err = b.at(now.Pos - 1)
	return b.previous, err
}
