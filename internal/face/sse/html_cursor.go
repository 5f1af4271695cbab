package sse

import "github.com/perdure/perdure"

// cursorTracker tracks the cursor before the current item.
type cursorTracker struct {
	last, previous perdure.Cursor // previous is directly before last, unless zero
	// at reads the cursor at a position.
	at func(pos int64) (perdure.Cursor, error)
}

// before returns the cursor directly before now, and records now as the last cursor. It reads the
// log only if the cursor is needed and the items did not come one by one.
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
