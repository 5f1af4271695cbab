package store

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// PageBytes is roughly the maximum of content bytes on a page of a list. A page ends early when it
// would exceed that.
const PageBytes = 8 << 20

// ListRows is the maximum number of executions that a page of a list examines. A page may hold
// fewer items than asked for, or none, and still have a next page.
const ListRows = 5_000

// Page is a part of a list. Next is the cursor of the next page, "" at the end.
type Page[T any] struct {
	Items []T
	Next  string
}

// Weight returns the number of bytes that a content adds to a page. A reference counts with the
// length of its content, unless that is over [perdure.ShownLimit]: such a content is never shown on
// a page.
func Weight(content json.RawMessage, ref *perdure.BlobRef) int {
	if ref != nil && ref.Length <= perdure.ShownLimit {
		return len(content) + int(ref.Length)
	}
	return len(content)
}
