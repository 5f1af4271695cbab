package log

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// RecordItem returns the item of a record that refers to no entry.
func RecordItem(r perdure.Record, execution uuid.UUID) (Item, error) {
	return entries(nil).item(execution, r)
}

// BlockItem returns an item with a snapshot of a block.
func BlockItem(b store.BlockContent, execution uuid.UUID) Item { return snapshotItem(b, execution) }
