package durablestream

import (
	"strconv"
	"time"
)

// A cursor numbers spans of time, for caches that answer many live readers at
// once: readers give it back with their next request. Its last digits are those of the
// check of the page that it comes with, if that has one.

const (
	cursorSpan = 20 * time.Second
	// checks is how many checks a cursor tells apart. With it a cursor still is
	// a whole number to a client that counts in 64-bit floats.
	checks = 10_000_000
)

// cursor is that of a page; it always is after one that the reader has had.
func (d *reading) cursor(check uint64) string {
	span := time.Now().Unix() / int64(cursorSpan/time.Second)
	had, err := strconv.ParseInt(d.r.URL.Query().Get("cursor"), 10, 64)
	if check == 0 {
		if err == nil && had >= span {
			span = had + 1
		}
		return strconv.FormatInt(span, 10)
	}
	if err == nil && had/checks >= span {
		span = had/checks + 1
	}
	return strconv.FormatInt(span*checks+int64(check%checks), 10)
}

// sameContent refuses an offset that comes with a cursor of another check.
func (d *reading) sameContent(cursor string) error {
	had, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		return nil // a cursor that none of our answers gave says nothing
	}
	check, err := d.Check(d.r.Context(), d.at)
	if err != nil || check == 0 || had%checks == int64(check%checks) {
		return err
	}
	return Gone("the stream has other content here than when the offset was given: the store was restored or put back since")
}
