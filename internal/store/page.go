package store

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// PageBytes is about the most bytes of content on a page of a list: a page ends
// early rather than hold more.
const PageBytes = 8 << 20

// ListRows is the most executions that a page of a list examines. A page on which
// fewer fit than asked, or none, has a next one if there is more to examine.
const ListRows = 5_000

// Page is a part of a list, with the cursor of the next, "" at the end.
type Page[T any] struct {
	Items []T
	Next  string
}

// Weight is what a content adds to a page: that of a reference, too, unless it
// is over [perdure.ShownLimit] and never shown on one.
func Weight(content json.RawMessage, ref *perdure.BlobRef) int {
	if ref != nil && ref.Length <= perdure.ShownLimit {
		return len(content) + int(ref.Length)
	}
	return len(content)
}
