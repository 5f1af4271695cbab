package store

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// ExecutionFilter narrows a list of executions. Zero fields do not narrow.
type ExecutionFilter struct {
	Status        []perdure.Status
	Kind          string
	DefinitionID  *uuid.UUID
	CreatedAfter  *perdure.Time
	CreatedBefore *perdure.Time
	Metadata      map[string]string // top-level members, compared as text
	// Query is searched for in the id, in the kind and, unless the execution is LOCAL, in the first
	// QueryBytes of the input. The case of ASCII letters is ignored.
	Query  string
	Cursor string
	Limit  int
}

// QueryBytes is the number of bytes of an input that ExecutionFilter.Query searches.
const QueryBytes = 4 << 10

// Outline is what a list shows of an execution in addition to its row.
type Outline struct {
	Input     json.RawMessage
	InputBlob *perdure.BlobRef
	State     json.RawMessage // of the newest checkpoint; nil if there is none
	StateBlob *perdure.BlobRef
}

// Reader reads a store. Every method that takes an org returns not_found for what belongs to
// another org. Reads are short transactions that see only committed data and never block a writer.
// Contents are loaded, blobs included, unless a method says otherwise. For a withheld content its
// reference is returned.
type Reader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	// HeldBy returns the executions of the org on which the worker has a lease.
	HeldBy(ctx context.Context, org string, worker uuid.UUID) ([]uuid.UUID, error)
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
	// entry that it keeps. It reads no others. Without a compaction, or if the row of the compaction
	// is of an earlier build, it returns the whole path. after, if it is one of these entries of the
	// path, limits the result to the entries after it; otherwise it has no effect. Errors: not_found
	// if the leaf does not exist.
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

	// Tasks returns tasks by id, in the order asked; nil for a task that does not exist. With lazy,
	// inputs and results in blobs are left as references.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error)
	// Ended returns the heads of ended steps and tasks whose records follow the position after. It
	// returns at most limit heads, with about that many bytes of results and errors, but at least
	// one head if there is any. Whole is not set.
	Ended(ctx context.Context, execution uuid.UUID, after int64, limit, bytes int) (perdure.EndedPage, error)
	// EndedBefore returns the position of the newest step or task that was created
	// before a moment; 0 if there is none.
	EndedBefore(ctx context.Context, execution uuid.UUID, moment perdure.Time) (int64, error)
	// ListTasks lists tasks, oldest first. It includes steps only if steps is set.
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (Page[*perdure.Task], error)

	// PendingSignals returns pending signals with their values, oldest first. It returns those that
	// match any of the patterns (all without patterns) and whose order is greater than after: at
	// most limit, and at most about 1 MiB.
	PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error)
	// Signal returns a signal by its id, with its value. Errors: not_found if there is none.
	Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error)
	// Response returns the row of a response by its id, including hidden ones. Errors: not_found if
	// there is none.
	Response(ctx context.Context, org, id string) (*Response, error)
	// ResponsesOf returns rows of an execution's responses in the order of their inputs, including
	// hidden ones. It leaves out responses that have joined another one.
	ResponsesOf(ctx context.Context, execution uuid.UUID, q ResponseQuery) ([]Response, error)
	// Conversation returns a conversation by its id. ConversationByResponse returns the
	// conversation whose next response gets the given id. Errors: not_found if there is none.
	Conversation(ctx context.Context, org, id string) (*Conversation, error)
	ConversationByResponse(ctx context.Context, org, response string) (*Conversation, error)
	// ConversationItems returns at most limit pending items in order, starting at the index from.
	ConversationItems(ctx context.Context, id string, from, limit int) ([]json.RawMessage, error)
	// ConversationExecutions returns the executions of a conversation that are not
	// deleted, oldest first.
	ConversationExecutions(ctx context.Context, id string) ([]uuid.UUID, error)
	// ResponsesBySaid returns at most limit of an org's responses whose history contains that hash,
	// newest first.
	ResponsesBySaid(ctx context.Context, org string, said perdure.Hash, limit int) ([]Response, error)
	// TakenSignals returns the signals that are taken and not consumed, in the order in which they
	// were taken.
	TakenSignals(ctx context.Context, execution uuid.UUID) ([]perdure.Signal, error)

	// Log returns the records after the position after in order, at most limit and about 1 MiB of
	// them, and the head as of the same moment. The execution's MaxSeq is the head's. The chunks of
	// a superseded block keep their positions and offsets, and have no text. The chunks of a
	// withheld block have no text, but keep their lengths.
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, Head, error)
	LogHead(ctx context.Context, execution uuid.UUID) (Head, error)
	// Nonces returns the nonces of the records at these positions, and the log's head. It leaves
	// out positions after the head, and positions before the last pruned record. The position 0 has
	// the nonce 0.
	Nonces(ctx context.Context, execution uuid.UUID, positions ...int64) (map[int64]uint32, Head, error)
	// LogHeads returns the heads of many logs with one query. Unknown executions are left out.
	LogHeads(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]Head, error)
	// Events returns the events with seq in (after, upTo] in order, and the head as of the same
	// moment. A block is returned as a whole, as it is at the head. The result is shorter if there
	// are fewer events, or if they would exceed about 1 MiB: the next read continues after the last
	// one.
	Events(ctx context.Context, execution uuid.UUID, after, upTo int64) ([]Event, Head, error)
	// BlocksAcross returns the blocks of up to seq n that are open or were closed by an event after
	// n, with their content, oldest first. Blocks that are superseded by now are left out. It also
	// returns the position before the one where event n+1 begins (the head's if there is no such
	// event), and the head.
	BlocksAcross(ctx context.Context, execution uuid.UUID, n int64) ([]BlockContent, int64, Head, error)
	// LastSeqOf returns the seq of the newest event or block of one of the types that begins at a
	// position up to pos; 0 if there is none. It reads no content.
	LastSeqOf(ctx context.Context, execution uuid.UUID, pos int64, types []perdure.EventType) (int64, error)
	// OpenBlocks returns the blocks that are open at the head, with their content.
	OpenBlocks(ctx context.Context, execution uuid.UUID) ([]BlockContent, Head, error)

	// Lazy returns a reader on the same store whose methods always leave contents in blobs as
	// references.
	Lazy() Reader
	// Together calls read with a reader whose reads all see the same moment and cost as much as one
	// read. That reader is valid only during the call.
	Together(ctx context.Context, read func(Reader) error) error

	// Retention returns the org's policy; nil if none is set.
	Retention(ctx context.Context, org string) (*perdure.Retention, error)
	// Orgs lists the orgs that have executions.
	Orgs(ctx context.Context) ([]string, error)
	// Prunable returns a page of executions that hold more than the retention policies allow. It
	// may miss executions that only a more expensive search would find, and leave them to a later
	// query. It never returns too much.
	Prunable(ctx context.Context, q PruneQuery) (Page[Prunable], error)
	// Unused returns the number and the size of the store's unused pages; 0 if the store cannot
	// free them.
	Unused(ctx context.Context) (pages, pageSize int64, err error)

	// Blob reads a blob in pieces.
	Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error)
	// BlobRow returns a blob's row without its digest, complete or not. Errors: not_found if there
	// is none.
	BlobRow(ctx context.Context, execution, id uuid.UUID) (*Blob, error)
	// BlobOf returns the row of a complete blob with that content that a row of the execution
	// refers to. Errors: not_found if there is none.
	BlobOf(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*Blob, error)

	// Stream returns a stream by its path. Errors: not_found if there is none.
	Stream(ctx context.Context, org, path string) (*Stream, error)
	// StreamContent returns the rows of a stream with the content after the position, in order, and
	// the stream as of the same moment. It returns at most that many bytes, but at least one row if
	// there is any, and none for 0 bytes. The first row may begin before the position. Errors:
	// not_found once the stream is deleted.
	StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]StreamPiece, *Stream, error)
	// DeadStreams reports whether rows of deleted streams remain.
	DeadStreams(ctx context.Context) (bool, error)

	Definition(ctx context.Context, org string, id uuid.UUID) (*perdure.Definition, error)
	DefinitionBySlug(ctx context.Context, org, slug string) (*perdure.Definition, error)
	Definitions(ctx context.Context, org string, cursor string, limit int) (Page[*perdure.Definition], error)
	// KeyByHash returns a key that is not revoked. Errors: not_found otherwise.
	KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error)
	// Keys lists the keys of an org with their Use, oldest first, including revoked ones.
	Keys(ctx context.Context, org string) ([]*perdure.APIKey, error)
	// SessionByCookie returns a session by the hash of its cookie's half, even if it has expired.
	// Errors: not_found if there is none.
	SessionByCookie(ctx context.Context, cookie perdure.Hash) (*perdure.Session, error)
	// Sessions lists sessions that have not expired, by id. That is the order in which they began.
	Sessions(ctx context.Context, q SessionQuery) ([]*perdure.Session, error)
	// ExpiredSessions reports whether a stored session has expired.
	ExpiredSessions(ctx context.Context, now perdure.Time) (bool, error)
	// Secret returns a secret of the installation by its name. Errors: not_found if there is none.
	Secret(ctx context.Context, name string) ([]byte, error)
	// OrgByID returns an org by its id. Errors: not_found if there is none.
	OrgByID(ctx context.Context, id string) (*perdure.Org, error)
	// OrgList returns at most limit orgs whose ids are greater than after, by id.
	OrgList(ctx context.Context, after string, limit int) ([]*perdure.Org, error)
	// AuditLog lists the records of the org's audit log, newest first.
	AuditLog(ctx context.Context, org, cursor string, limit int) (Page[perdure.AuditRecord], error)
	AnyKey(ctx context.Context) (bool, error)
	Kinds(ctx context.Context, org string) ([]Kind, error)
	// AgentKind returns one of the org's kinds of agents by its name. Errors: not_found if there is
	// none.
	AgentKind(ctx context.Context, org, kind string) (*Kind, error)
	// Due returns when the next work by time is due. It needs one query.
	Due(ctx context.Context, q DueQuery) (Due, error)
	// Moved returns the executions whose Standing is outdated: those that do not exist in the org,
	// have ended, or have a newer commit. It needs one query for all.
	Moved(ctx context.Context, org string, all []Standing) ([]uuid.UUID, error)
	Counter
}

// DueQuery is a query for [Reader].Due.
type DueQuery struct {
	// Since is the moment after which a NotBefore counts.
	Since perdure.Time
	// Leases includes PickExpiredAgents and PickExpiredTasks. Their cost grows with the number of
	// workers and queues that hold something. All other costs are constant.
	Leases bool
}

// Due lists when work by time is due. An entry does not guarantee that there is work.
type Due struct {
	// At is the moment of each pick's first candidate. Picks without candidates are left out. The
	// moment of PickAttempts does not include a grace period. PickEmbedded and PickPruned do not
	// depend on time.
	At map[PickKind]perdure.Time
	// Ready is the earliest NotBefore after DueQuery.Since of anything PENDING; zero if there is
	// none.
	Ready perdure.Time
}

// Standing is an execution that continues from its newest commit.
type Standing struct {
	Execution     uuid.UUID
	Fence, Number int64 // of that commit
	// Answer is the start of that commit's answer, in ASCII, at most StandingAnswer bytes.
	Answer string
}

// StandingAnswer is the maximum length of Standing.Answer, in bytes.
const StandingAnswer = 64

// Event is an event of a log by its seq: either its record, or a whole block.
type Event struct {
	Seq    int64
	Record *perdure.Record // nil for a block
	Block  *BlockContent
}

// BlockContent is a block with its content. A superseded block has none.
type BlockContent struct {
	Block
	// FirstNonce is the nonce of the record at FirstPos.
	FirstNonce uint32
	Content    string
	// Pieces lists where the pieces of a withheld block are in the log. Content is then empty.
	Pieces []Piece
}

// Piece is the position and length of a piece of a block.
type Piece struct {
	Pos, Length int64
}
