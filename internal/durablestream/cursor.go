package durablestream

import (
	"strconv"
	"time"
)

// A cursor is the number of a time span, for caches that answer many live readers at once. Readers
// send it back with their next request. If the page has a check, the last digits of its cursor are
// the check.

const (
	cursorSpan = 20 * time.Second
	// checks is the number of different checks in a cursor. It keeps a cursor exact for a client
	// that stores integers in 64-bit floats.
	checks = 10_000_000
)

// cursor returns the cursor of a page. It is always greater than the cursor of the request.
func (d *readRequest) cursor(check uint64) string {
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

// sameContent refuses an offset whose cursor has a different check.
func (d *readRequest) sameContent(cursor string) error {
	had, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		return nil // a cursor that this server did not create has no check
	}
	check, err := d.Check(d.r.Context(), d.at)
	if err != nil || check == 0 || had%checks == int64(check%checks) {
		return err
	}
	return Gone("the stream has other content here than when the offset was given: the store was restored or put back since")
}
