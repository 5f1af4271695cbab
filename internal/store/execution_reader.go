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
	// Executions lists executions, newest first, without the contents of inputs and outputs. For one
	// page, it examines at most ListRows executions. So a page may be short or empty, although there
	// is a next page.
	Executions(ctx context.Context, org string, f ExecutionFilter) (Page[*perdure.Execution], error)
	// Outlines returns the outlines of executions; the key of the map is the id of the execution.
	// It reads all outlines with one query; only contents in blobs need further queries. Unknown
	// ids and ids of another org are left out. A content is returned as a reference if it is longer
	// than perdure.ShownLimit, is withheld, or would make the total exceed PageBytes.
	Outlines(ctx context.Context, org string, ids []uuid.UUID) (map[uuid.UUID]Outline, error)

	// Path returns the entries on the path to leaf, in order. It starts after the entry with the id
	// `after`, or at the root if `after` is nil. If newest > 0, it returns only the last `newest`
	// entries, including the leaf. It reads only what it returns, a few entries at a time. If
	// `lazy` is set, a content in a blob is left as a reference. Errors: not_found if the leaf does
	// not exist, or if `after` is not on the path to the leaf.
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	// ContextPath returns, in order, the entries of the path to leaf from which perdure.ContextOf
	// builds the context: the entries in the field Pinned of the newest compaction, and the path
	// from the first entry that this compaction keeps. It reads no other entries. Without a
	// compaction, or if an earlier version of the program has stored the compaction, it returns the
	// whole path. If `after` is the id of an entry on the returned path, only the entries after
	// that entry are returned; any other id, such as one in Pinned, has no effect. Errors:
	// not_found if the leaf does not exist.
	ContextPath(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, lazy bool) iter.Seq2[perdure.Entry, error]
	// LeftOut describes the entries that the model's context at leaf does not contain: those before
	// the first entry that the newest compaction keeps, except the entries in the field Pinned of
	// that compaction. It reads no entries. It returns nil if ContextPath returns the whole path.
	LeftOut(ctx context.Context, execution, leaf uuid.UUID) ([]perdure.LeftOut, error)
	// PathLength returns the number of entries on the path from the root to leaf, without reading
	// them. Errors: not_found if the leaf does not exist.
	PathLength(ctx context.Context, execution, leaf uuid.UUID) (int64, error)
	// CommonAncestor returns the last entry that the paths to the entries a and b have in common.
	// It returns nil if the paths have different roots. It reads as many rows as the two paths have
	// branch points. Errors: not_found if a or b does not exist.
	CommonAncestor(ctx context.Context, execution, a, b uuid.UUID) (*uuid.UUID, error)
	Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error)
	// EntriesOf returns entries by id, in the order of ids. It needs at most two queries. A content
	// in a blob of at most `most` bytes is loaded, even by a reader that [Reader].Lazy has
	// returned. A content in a larger blob, or in a withheld one, is left as a reference. The
	// result ends early at about PageBytes; the caller then calls EntriesOf again for the remaining
	// ids. Errors: not_found if an entry does not exist.
	EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error)
	// AllEntries lists every entry, oldest first.
	AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[perdure.Entry], error)

	// Checkpoint returns the checkpoint with that number; the newest one for 0. Errors: not_found if
	// there is none.
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	Checkpoints(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[*perdure.Checkpoint], error)
	// ListTasks lists tasks, oldest first. If `steps` is set, it also lists the recorded steps.
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (Page[*perdure.Task], error)
	// ListSignals lists signals in any state, oldest first.
	ListSignals(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[*perdure.Signal], error)
}

// ExecutionFilter narrows a list of executions. A field with its zero value selects all executions.
type ExecutionFilter struct {
	Status        []perdure.Status
	Kind          string
	Kinds         []string // one of these kinds of agents; nil selects all
	DefinitionID  *uuid.UUID
	CreatedAfter  *perdure.Time
	CreatedBefore *perdure.Time
	Metadata      map[string]string // top-level members of the metadata, compared as text
	FailedTurn    bool              // only executions for which TurnFailed returns true
	// Query is a text. It selects executions whose id or kind contains the text. It also selects
	// executions whose input contains the text in its first QueryBytes, unless the execution is
	// LOCAL. The case of ASCII letters is ignored.
	Query  string
	Cursor string
	Limit  int
}

// QueryBytes is the number of bytes at the start of an input in which ExecutionFilter.Query is
// searched for.
const QueryBytes = 4 << 10

// Outline contains the fields that a list shows of an execution in addition to its row.
type Outline struct {
	Input     json.RawMessage
	InputBlob *perdure.BlobRef
	State     json.RawMessage // the agent's state in the newest checkpoint; nil if there is none
	StateBlob *perdure.BlobRef
}
