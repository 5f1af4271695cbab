package store

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// PageBytes is the approximate maximum number of content bytes on a page of a list. A page that
// would become larger ends early.
const PageBytes = 8 << 20

// ListRows is the maximum number of executions that are examined for one page of a list. So a page
// may have fewer items than the caller asked for, or none, and still have a next page.
const ListRows = 5_000

// Page is a part of a list. Next is the cursor with which the caller reads the next page; it is ""
// on the last page.
type Page[T any] struct {
	Items []T
	Next  string
}

// Weight returns the number of bytes that a content adds to the size of a page. For a content in a
// blob, that is the length of the blob. A blob longer than [perdure.ShownLimit] adds nothing,
// because such a content is never shown on a page.
func Weight(content json.RawMessage, ref *perdure.BlobRef) int {
	if ref != nil && ref.Length <= perdure.ShownLimit {
		return len(content) + int(ref.Length)
	}
	return len(content)
}
