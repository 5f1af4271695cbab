package store

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// ExecutionReader reads executions and their parts, for clients of the API.
type ExecutionReader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	// Executions lists executions, newest first, without input and output contents. It examines at
	// most ListRows of them, so a page may be short or empty and still have a next one.
	Executions(ctx context.Context, org string, f ExecutionFilter) (Page[*perdure.Execution], error)
	// Outlines returns, by id, what lists show of executions in addition to their rows. It reads
	// all in one query round. Ids of another org and unknown ids are left out. Instead of a content
	// it returns the reference if the content is over perdure.ShownLimit, is withheld, or would
	// make the total exceed PageBytes.
	Outlines(ctx context.Context, org string, ids []uuid.UUID) (map[uuid.UUID]Outline, error)

	// Path returns the entries from after (exclusive; nil: the root) to leaf, in order. It reads a
	// few entries at a time, and none that it does not return. newest > 0 limits the result to that
	// many last entries, including the leaf. With lazy, a content in a blob is left as Blob.
	// Errors: not_found if the leaf does not exist, or after is not on its path.
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	// ContextPath returns the entries of the path to leaf from which perdure.ContextOf builds the
	// context, in order: the pinned entries of the newest compaction, and the path from the first
	// entry that it keeps. It reads no others. Without a compaction, or if the row of the
	// compaction is of an earlier build, it returns the whole path. If after is one of these
	// entries, only the entries after it are returned. Otherwise after has no effect. Errors:
	// not_found if the leaf does not exist.
	ContextPath(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, lazy bool) iter.Seq2[perdure.Entry, error]
	// LeftOut returns what the context at leaf leaves out of the path before ContextPath's first kept
	// entry. It reads no entries. It is nil if ContextPath returns the whole path.
	LeftOut(ctx context.Context, execution, leaf uuid.UUID) ([]perdure.LeftOut, error)
	// PathLength counts the entries from the root to leaf, without reading them. Errors: not_found
	// if the leaf does not exist.
	PathLength(ctx context.Context, execution, leaf uuid.UUID) (int64, error)
	// CommonAncestor returns the last entry that is on the paths to both a and b; nil if they have
	// different roots. It reads as many rows as the paths have branch points. Errors: not_found if
	// a or b does not exist.
	CommonAncestor(ctx context.Context, execution, a, b uuid.UUID) (*uuid.UUID, error)
	Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error)
	// EntriesOf returns entries by id, in the order asked, in one query round, also from a lazy
	// reader. It loads contents from blobs whose length is not over most, and leaves other blobs as
	// references. The result ends early at about PageBytes, and the next call continues. Errors:
	// not_found if an entry does not exist.
	EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error)
	// AllEntries lists every entry, oldest first.
	AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[perdure.Entry], error)

	// Checkpoint returns a checkpoint by number, the newest for 0. Errors: not_found if there is
	// none.
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	Checkpoints(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[*perdure.Checkpoint], error)
	// ListTasks lists tasks, oldest first. It includes steps only if steps is set.
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (Page[*perdure.Task], error)
	// ListSignals lists signals in any state, oldest first.
	ListSignals(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[*perdure.Signal], error)
}

// ExecutionFilter narrows a list of executions. Zero fields do not narrow.
type ExecutionFilter struct {
	Status        []perdure.Status
	Kind          string
	Kinds         []string // any of these; nil does not filter
	DefinitionID  *uuid.UUID
	CreatedAfter  *perdure.Time
	CreatedBefore *perdure.Time
	Metadata      map[string]string // top-level members, compared as text
	FailedTurn    bool              // only those of which TurnFailed reports true
	// Query is searched for in the id, in the kind and, unless the execution is LOCAL, in the first
	// QueryBytes of the input. The case of ASCII letters is ignored.
	Query  string
	Cursor string
	Limit  int
}

// QueryBytes is the number of bytes of an input that ExecutionFilter.Query searches.
const QueryBytes = 4 << 10

// Outline contains the fields that a list shows of an execution in addition to its row.
type Outline struct {
	Input     json.RawMessage
	InputBlob *perdure.BlobRef
	State     json.RawMessage // of the newest checkpoint; nil if there is none
	StateBlob *perdure.BlobRef
}
