package client

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Context contains the messages that the next model call of an execution will send, without the system
// prompt and the tools.
type Context struct {
	// LeafEntryID is the id of the last entry on the path whose messages form the context. It is nil
	// if the execution has no entry.
	LeafEntryID *uuid.UUID `json:"leafEntryId"`
	// Compaction is the newest compaction on the path; nil if there is none.
	Compaction *ContextCompaction `json:"compaction"`
	// Entries are in the order in which a model sees them.
	Entries []ContextEntry `json:"entries"`
	// LeftOut are the ranges of the path that a model does not see, oldest first.
	LeftOut []perdure.LeftOut `json:"leftOut"`
}

// ContextCompaction is a compaction entry with its decoded metadata.
type ContextCompaction struct {
	Entry  perdure.Entry            `json:"entry"`
	Record perdure.CompactionRecord `json:"record"`
}

// ContextEntry is an entry as a model sees it; see [perdure.ContextEntry].
type ContextEntry struct {
	EntryID     uuid.UUID     `json:"entryId"`
	Rewritten   bool          `json:"rewritten"`
	ResultBytes int           `json:"resultBytes"`
	Entry       perdure.Entry `json:"entry"`
}

// contextPage is one page of a Context.
type contextPage struct {
	Context
	NextCursor *string `json:"nextCursor"`
}

// Context returns the messages that the next model call of the execution will send. The server
// leaves out contents over 256 KiB; Entry returns them. Errors: not_found, unavailable (only the
// worker of a LOCAL execution has the messages, and it is not connected).
func (c *Client) Context(ctx context.Context, id uuid.UUID) (*Context, error) {
	var whole *Context
	for o := (PageOptions{Limit: 1000}); ; {
		page, err := get[contextPage](ctx, c, o.query(), executions, id.String(), "context")
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = &page.Context
		} else {
			whole.Entries = append(whole.Entries, page.Entries...)
		}
		if page.NextCursor == nil {
			return whole, nil
		}
		o.Cursor = *page.NextCursor
	}
}
