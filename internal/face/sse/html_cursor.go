package sse

import "github.com/perdure/perdure"

// cursorTracker tracks the cursor that is directly before the current item of the log.
type cursorTracker struct {
	last, previous perdure.Cursor // previous is directly before last; zero if unknown
	// at reads the cursor at a position of the log.
	at func(pos int64) (perdure.Cursor, error)
}

// before returns the cursor directly before the cursor now, and records now as the last cursor. It
// reads the log only if needed is true and some positions before now were skipped. If needed is
// false, it returns the zero cursor for a cursor that it would have to read.
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
