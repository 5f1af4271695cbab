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
	// Query is in the id, in the kind or, unless the execution is LOCAL, in the first
	// QueryBytes of the input, whatever the case of ASCII letters.
	Query  string
	Cursor string
	Limit  int
}

// QueryBytes is how much of an input ExecutionFilter.Query looks into.
const QueryBytes = 4 << 10

// Outline is what a list shows of an execution beside its row.
type Outline struct {
	Input     json.RawMessage
	InputBlob *perdure.BlobRef
	State     json.RawMessage // of the newest checkpoint; nil if there is none
	StateBlob *perdure.BlobRef
}

// Reader reads. Every method that takes an org answers not_found for what is
// another org's. Reads are short transactions that see only what is committed
// and never block a writer. Contents are loaded, blobs joined in, unless said
// otherwise. In the place of a content that is withheld its reference is given.
type Reader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	// HeldBy returns the executions of the org on which the worker has a lease.
	HeldBy(ctx context.Context, org string, worker uuid.UUID) ([]uuid.UUID, error)
	// Executions lists newest first, without input and output contents. It examines at
	// most ListRows of them: a page may be short, or empty, and have a next one.
	Executions(ctx context.Context, org string, f ExecutionFilter) (Page[*perdure.Execution], error)
	// Outlines returns what lists show of executions beside their rows, by id, in
	// one go for all; ids of another org, or of none, are left out. Of a content of
	// more than perdure.ShownLimit, one that is withheld, and what is over
	// PageBytes together, the reference is given.
	Outlines(ctx context.Context, org string, ids []uuid.UUID) (map[uuid.UUID]Outline, error)

	// Path returns the entries from after (exclusive; nil: the root) to leaf, in
	// order, reading a few at a time and none that it does not give; newest > 0 bounds it to the last that many,
	// the leaf included. A content that is a blob is left as Blob if lazy is set.
	// not_found if the leaf is none, or after is not on its path.
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	// PathLength counts the entries from the root to leaf, without reading them.
	// not_found if the leaf is none.
	PathLength(ctx context.Context, execution, leaf uuid.UUID) (int64, error)
	// CommonAncestor returns the last entry that is on the paths to both; nil if they
	// have different roots. It reads as many rows as the paths have branch points.
	// not_found if one of them is none.
	CommonAncestor(ctx context.Context, execution, a, b uuid.UUID) (*uuid.UUID, error)
	Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error)
	// EntriesOf returns entries by id, in the order asked, in one go for all, also
	// from a lazy reader. Contents in blobs of at most that many bytes are joined
	// in, others left as references. It ends early rather than give more than
	// about PageBytes: the next call continues. not_found if there is no such entry.
	EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error)
	// AllEntries lists every entry, oldest first.
	AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[perdure.Entry], error)

	// Checkpoint returns one by number, the newest for 0; not_found if none.
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	Checkpoints(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[*perdure.Checkpoint], error)

	// Tasks returns tasks by id, in the order asked; nil where there is none. With
	// lazy, inputs and results that are blobs are left as references.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error)
	// Ended returns heads of the steps and tasks that have ended whose records come
	// after a position: at most limit, and about bytes of results and errors, but at
	// least one if there is any. Whole is not set.
	Ended(ctx context.Context, execution uuid.UUID, after int64, limit, bytes int) (perdure.EndedPage, error)
	// EndedBefore returns the position of the newest step or task that was created
	// before a moment; 0 if there is none.
	EndedBefore(ctx context.Context, execution uuid.UUID, moment perdure.Time) (int64, error)
	// ListTasks lists oldest first, steps left out unless asked for.
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (Page[*perdure.Task], error)

	// PendingSignals returns those that match any pattern (all for none) and whose
	// order is over after, oldest first, with values: at most limit, and about
	// 1 MiB, of them.
	PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error)
	// Signal returns one by its id, with its value; not_found if none.
	Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error)
	// Response returns the row of a response by its id, hidden ones too; not_found
	// if none.
	Response(ctx context.Context, org, id string) (*Response, error)
	// ResponsesOf returns rows of an execution's responses in the order of their
	// inputs, hidden ones too. It leaves out those that have joined another.
	ResponsesOf(ctx context.Context, execution uuid.UUID, q ResponseQuery) ([]Response, error)
	// Conversation returns a conversation, and ConversationByResponse the one whose
	// next response gets that id; not_found if there is none.
	Conversation(ctx context.Context, org, id string) (*Conversation, error)
	ConversationByResponse(ctx context.Context, org, response string) (*Conversation, error)
	// ConversationItems returns at most limit pending items, in their order, from the
	// one with the index from on.
	ConversationItems(ctx context.Context, id string, from, limit int) ([]json.RawMessage, error)
	// ConversationExecutions returns the executions of a conversation that are not
	// deleted, oldest first.
	ConversationExecutions(ctx context.Context, id string) ([]uuid.UUID, error)
	// ResponsesBySaid returns an org's responses with that hash in their history, the
	// newest first, at most limit.
	ResponsesBySaid(ctx context.Context, org string, said perdure.Hash, limit int) ([]Response, error)
	// TakenSignals returns those taken and not consumed, in the order taken.
	TakenSignals(ctx context.Context, execution uuid.UUID) ([]perdure.Signal, error)

	// Log gives the records after pos in order, at most limit (and about 1 MiB)
	// of them, and the head as of the same moment. The chunks of a superseded
	// block keep their positions and offsets, and have no text. The execution's MaxSeq is that of the head.
	// Those of a block that is withheld have no text, and their length.
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, Head, error)
	LogHead(ctx context.Context, execution uuid.UUID) (Head, error)
	// Nonces returns the nonces of the records at these positions, and the log's
	// head. It leaves out positions beyond the head, and those before the last record
	// that was pruned. The position 0 has the nonce 0.
	Nonces(ctx context.Context, execution uuid.UUID, positions ...int64) (map[int64]uint32, Head, error)
	// LogHeads returns the heads of many logs with one query; executions that are
	// none have none.
	LogHeads(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]Head, error)
	// Events returns the events of the log with seq in (after, upTo], in order, and
	// the head as of the same moment. A block is given whole, as it is at the
	// head. It returns fewer where there are not so many, or where they would be
	// over about 1 MiB: the next read continues after the last.
	Events(ctx context.Context, execution uuid.UUID, after, upTo int64) ([]Event, Head, error)
	// BlocksAcross returns, with their content, the blocks of up to seq n that are
	// open or were closed by an event after n, oldest first, without those that
	// are superseded by now, the position before event n+1 begins (the head's if
	// there is none), and the head.
	BlocksAcross(ctx context.Context, execution uuid.UUID, n int64) ([]BlockContent, int64, Head, error)
	// LastSeqOf returns the seq of the newest event or block that is of one of the
	// types and begins at a position up to pos; 0 for none. It reads no content.
	LastSeqOf(ctx context.Context, execution uuid.UUID, pos int64, types []perdure.EventType) (int64, error)
	// OpenBlocks returns the blocks that are open at the head, with their content.
	OpenBlocks(ctx context.Context, execution uuid.UUID) ([]BlockContent, Head, error)

	// Lazy returns the same reader, but contents that rest in blobs are left as
	// references by all its methods, whatever they are asked.
	Lazy() Reader
	// Together lets several reads see one moment, for the cost of one: what it
	// gives is a reader for the time of the call.
	Together(ctx context.Context, read func(Reader) error) error

	// Retention returns the org's policy; nil if none was set.
	Retention(ctx context.Context, org string) (*perdure.Retention, error)
	// Orgs lists the orgs that have executions.
	Orgs(ctx context.Context) ([]string, error)
	// Prunable returns a page of executions of which the policies keep something
	// no longer. Those that only a longer look would find may be left to a later
	// query, never the other way round.
	Prunable(ctx context.Context, q PruneQuery) (Page[Prunable], error)
	// Unused returns the number of pages that the store holds without need, and
	// their size; 0 where they cannot be given back.
	Unused(ctx context.Context) (pages, pageSize int64, err error)

	// Blob reads a blob in pieces.
	Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error)
	// BlobRow returns a blob's row without its digest, whole or not; not_found if
	// there is none.
	BlobRow(ctx context.Context, execution, id uuid.UUID) (*Blob, error)
	// BlobOf returns the row of a whole blob with that content, named by a row of
	// the execution; not_found if there is none.
	BlobOf(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*Blob, error)

	// Stream returns a stream by its path; not_found if there is none.
	Stream(ctx context.Context, org, path string) (*Stream, error)
	// StreamContent returns the rows of a stream that hold what follows the
	// position, in order, and the stream as of the same moment: at most that
	// many bytes, but at least one row if there is any; none for 0 bytes. The
	// first may begin before the position. not_found once the stream is deleted.
	StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]StreamPiece, *Stream, error)
	// DeadStreams reports whether rows of deleted streams are left.
	DeadStreams(ctx context.Context) (bool, error)

	Definition(ctx context.Context, org string, id uuid.UUID) (*perdure.Definition, error)
	DefinitionBySlug(ctx context.Context, org, slug string) (*perdure.Definition, error)
	Definitions(ctx context.Context, org string, cursor string, limit int) (Page[*perdure.Definition], error)
	// KeyByHash returns a key that is not revoked; not_found otherwise.
	KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error)
	// Keys lists those of an org, oldest first, revoked ones too, with their Use.
	Keys(ctx context.Context, org string) ([]*perdure.APIKey, error)
	// SessionByCookie returns a session by the hash of its cookie's half, expired or
	// not; not_found if there is none.
	SessionByCookie(ctx context.Context, cookie perdure.Hash) (*perdure.Session, error)
	// Sessions lists sessions that have not expired, by id, which is the order in
	// which they began.
	Sessions(ctx context.Context, q SessionQuery) ([]*perdure.Session, error)
	// ExpiredSessions reports whether a session has expired and is still stored.
	ExpiredSessions(ctx context.Context, now perdure.Time) (bool, error)
	// Secret returns a secret of the installation; not_found if there is none of that
	// name.
	Secret(ctx context.Context, name string) ([]byte, error)
	// OrgByID returns an org; not_found if there is none of that id.
	OrgByID(ctx context.Context, id string) (*perdure.Org, error)
	// OrgList returns at most limit orgs whose ids come after the given one, by id.
	OrgList(ctx context.Context, after string, limit int) ([]*perdure.Org, error)
	// AuditLog lists what the org's audit log holds, newest first.
	AuditLog(ctx context.Context, org, cursor string, limit int) (Page[perdure.AuditRecord], error)
	AnyKey(ctx context.Context) (bool, error)
	Kinds(ctx context.Context, org string) ([]Kind, error)
	// AgentKind returns one of the org's kinds of agents; not_found if none has that
	// name.
	AgentKind(ctx context.Context, org, kind string) (*Kind, error)
	// Due tells what time brings, in one query.
	Due(ctx context.Context, q DueQuery) (Due, error)
	// Moved returns those that do not stand as is said: that are no execution of the
	// org's, have ended, or whose newest commit is another. It is one query for
	// all.
	Moved(ctx context.Context, org string, all []Standing) ([]uuid.UUID, error)
	Counter
}

// DueQuery says what [Reader].Due is about.
type DueQuery struct {
	// Since is the moment after which a NotBefore counts.
	Since perdure.Time
	// Leases asks for PickExpiredAgents and PickExpiredTasks, too. What they cost
	// grows with the number of workers, and of queues, that hold something; all
	// else costs the same however much there is.
	Leases bool
}

// Due is what time brings. It may have.
type Due struct {
	// At is when each pick by time has its first candidate; what has none is not
	// in it. Of PickAttempts it is without a grace. PickEmbedded and PickPruned go
	// by no time.
	At map[PickKind]perdure.Time
	// Ready is the earliest NotBefore after DueQuery.Since of what is PENDING; zero
	// if there is none.
	Ready perdure.Time
}

// Standing is an execution that continues from its newest commit.
type Standing struct {
	Execution     uuid.UUID
	Fence, Number int64 // that commit's
	// Answer is what its answer begins with, in ASCII, StandingAnswer bytes at most.
	Answer string
}

// StandingAnswer bounds Standing.Answer.
const StandingAnswer = 64

// Event is an event of a log by its seq: its record, or a block whole.
type Event struct {
	Seq    int64
	Record *perdure.Record // nil for a block
	Block  *BlockContent
}

// BlockContent is a block and what it holds: nothing, once it is superseded.
type BlockContent struct {
	Block
	// FirstNonce is that of the record at FirstPos.
	FirstNonce uint32
	Content    string
	// Pieces says, of a block that is withheld, where its pieces are in the log:
	// Content is empty.
	Pieces []Piece
}

// Piece is the place of a piece of a block.
type Piece struct {
	Pos, Length int64
}
