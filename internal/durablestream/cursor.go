package durablestream

import (
	"strconv"
	"time"
)

// A cursor numbers spans of time, for caches that answer many live readers at
// once: readers give it back with their next request. The epoch of a reading
// that has one is its last digits.

const (
	cursorSpan = 20 * time.Second
	// epochs is how many epochs a cursor tells apart. With it a cursor still is
	// a whole number to a client that counts in 64-bit floats.
	epochs = 10_000_000
)

// cursor is that of an answer; it always is after one that the reader has had.
func (d *reading) cursor() string {
	span := time.Now().Unix() / int64(cursorSpan/time.Second)
	had, err := strconv.ParseInt(d.r.URL.Query().Get("cursor"), 10, 64)
	if d.Epoch == 0 {
		if err == nil && had >= span {
			span = had + 1
		}
		return strconv.FormatInt(span, 10)
	}
	if err == nil && had/epochs >= span {
		span = had/epochs + 1
	}
	return strconv.FormatInt(span*epochs+d.epoch(), 10)
}

func (d *reading) epoch() int64 { return int64(d.Epoch % epochs) }

// sameEpoch refuses an offset that comes with a cursor of another epoch.
func (d *reading) sameEpoch(cursor string) error {
	had, err := strconv.ParseInt(cursor, 10, 64)
	if d.Epoch == 0 || err != nil || had%epochs == d.epoch() {
		return nil // a cursor that none of our answers gave says nothing
	}
	return Gone("the store was restored since the offset was given")
}
