package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Entries returns the entries of the path from the root to the leaf. It also loads large contents,
// which the server leaves out of a page.
func (c *Client) Entries(ctx context.Context, id uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return c.entries(ctx, id, false)
}

// AllEntries returns all entries, oldest first, including those that are not on the path. It loads
// large contents like Entries.
func (c *Client) AllEntries(ctx context.Context, id uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return c.entries(ctx, id, true)
}

func (c *Client) entries(ctx context.Context, id uuid.UUID, all bool) iter.Seq2[perdure.Entry, error] {
	items := c.entryPages(ctx, id, all)
	return func(yield func(perdure.Entry, error) bool) {
		for e, err := range items {
			if err == nil && leftOut(e.Content, e.ContentBytes) {
				var whole *perdure.Entry
				if whole, err = c.Entry(ctx, id, e.ID); err == nil {
					e = *whole
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Entry returns one entry with its content. Errors: not_found.
func (c *Client) Entry(ctx context.Context, id, entry uuid.UUID) (*perdure.Entry, error) {
	return get[perdure.Entry](ctx, c, nil, executions, id.String(), "entries", entry.String())
}

// Checkpoints returns the checkpoints of an execution, oldest first. The server leaves out large
// states; Fetch loads them.
func (c *Client) Checkpoints(ctx context.Context, id uuid.UUID) iter.Seq2[*perdure.Checkpoint, error] {
	return pages(func(o PageOptions) (Page[*perdure.Checkpoint], error) {
		return page[*perdure.Checkpoint](ctx, c, o.query(), executions, id.String(), "checkpoints")
	})
}

// Checkpoint returns the checkpoint with the number seq, or the newest checkpoint if seq is 0. Errors:
// not_found, also if there is no checkpoint yet.
func (c *Client) Checkpoint(ctx context.Context, id uuid.UUID, seq int64) (*perdure.Checkpoint, error) {
	which := "latest"
	if seq > 0 {
		which = strconv.FormatInt(seq, 10)
	}
	return get[perdure.Checkpoint](ctx, c, nil, executions, id.String(), "checkpoints", which)
}

// Tasks returns the tasks of an execution, oldest first, without the records of steps. The server
// leaves out large inputs and results; Fetch loads them.
func (c *Client) Tasks(ctx context.Context, id uuid.UUID) iter.Seq2[*perdure.Task, error] {
	return pages(func(o PageOptions) (Page[*perdure.Task], error) {
		return page[*perdure.Task](ctx, c, o.query(), executions, id.String(), "tasks")
	})
}

// AllTasks returns the tasks of an execution and the records of its steps, oldest first. The server
// leaves out large inputs and results; Fetch loads them.
func (c *Client) AllTasks(ctx context.Context, id uuid.UUID) iter.Seq2[*perdure.Task, error] {
	return pages(func(o PageOptions) (Page[*perdure.Task], error) { return c.AllTasksPage(ctx, id, o) })
}

// AllTasksPage returns one page of the list that AllTasks returns.
func (c *Client) AllTasksPage(ctx context.Context, id uuid.UUID, o PageOptions) (Page[*perdure.Task], error) {
	q := o.query()
	q.Set("steps", "true")
	return page[*perdure.Task](ctx, c, q, executions, id.String(), "tasks")
}

// Signals returns the signals of an execution in any state, oldest first. The server leaves out
// large values; Fetch loads them. It always leaves out the values of a LOCAL execution. Errors:
// not_found, also from a server of an earlier version.
func (c *Client) Signals(ctx context.Context, id uuid.UUID) iter.Seq2[*perdure.Signal, error] {
	return pages(func(o PageOptions) (Page[*perdure.Signal], error) {
		return page[*perdure.Signal](ctx, c, o.query(), executions, id.String(), "signals")
	})
}

// Snapshot is the state of an execution at one position of its log. The first event after Cursor is the
// next change of this state.
type Snapshot struct {
	Execution *perdure.Execution `json:"execution"`
	// Entries are the newest entries of the path, in the order from root to leaf. EntriesBefore is the
	// number of entries of the path before them.
	Entries       []perdure.Entry `json:"entries"`
	EntriesBefore int             `json:"entriesBefore"`
	// OpenBlocks are the blocks that still grow. Each has the form of the data in an event of type
	// snapshot.
	OpenBlocks []json.RawMessage `json:"openBlocks"`
	Cursor     string            `json:"cursor"`
}

// Snapshot returns the state of an execution with the given number of newest entries, at most 1000.
// Errors: not_found.
func (c *Client) Snapshot(ctx context.Context, id uuid.UUID, entries int) (*Snapshot, error) {
	q := url.Values{"entries": {strconv.Itoa(entries)}}
	return get[Snapshot](ctx, c, q, executions, id.String(), "snapshot")
}

// EventPage is one page of the log.
type EventPage struct {
	Items []Event `json:"items"`
	// NextCursor is the position after the last item. It is set even if there are no items.
	NextCursor string `json:"nextCursor"`
	// UpToDate reports that the log had no records after NextCursor.
	UpToDate bool `json:"upToDate"`
	// Reset is set if the cursor does not match the log. The caller must discard earlier events; the
	// items begin at the first record of the log.
	Reset *Reset `json:"reset,omitempty"`
}

// Events returns one page of the log after the cursor. The cursor "" is the start of the log. Errors:
// invalid_argument, not_found.
func (c *Client) Events(ctx context.Context, id uuid.UUID, after string, limit int) (*EventPage, error) {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return get[EventPage](ctx, c, q, executions, id.String(), "events")
}
