package store

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// PageBytes is the approximate maximum of content bytes on a page of a list. A page ends early when
// it would become larger.
const PageBytes = 8 << 20

// ListRows is the maximum number of executions that are examined for one page of a list. So a page
// may have fewer items than the caller asked for, or none, and still have a next page.
const ListRows = 5_000

// Page is a part of a list. Next is the cursor of the next page; it is "" on the last page.
type Page[T any] struct {
	Items []T
	Next  string
}

// Weight returns the number of bytes that a content adds to a page. A content in a blob counts with
// its length. If the length is over [perdure.ShownLimit], it does not count, because such a content
// is never shown on a page.
func Weight(content json.RawMessage, ref *perdure.BlobRef) int {
	if ref != nil && ref.Length <= perdure.ShownLimit {
		return len(content) + int(ref.Length)
	}
	return len(content)
}
