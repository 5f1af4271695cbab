package durablestream

import (
	"strconv"
	"time"
)

// A cursor is the value of the header Stream-Cursor, which a reader sends back with its next request.
// The cursor is the number of the current interval of time, so that a cache can serve one response to
// many live readers. If the returned page has a check, the last digits of the cursor are that check:
// a number that stands for the content before the page (see Page.Check). With it the server notices
// that content which the reader has received is gone.

const (
	cursorSpan = 20 * time.Second
	// checks is the number of possible values of the check in a cursor. The number is small enough
	// that a cursor is exact in the 64-bit float of a JavaScript client.
	checks = 10_000_000
)

// cursor returns the cursor of a page. It is always greater than the cursor in the request.
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

// sameContent returns the refusal Gone if the check in a client's cursor differs from the stream's
// check at the requested offset. In that case the stream no longer has some content that the client
// has read before that offset.
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
