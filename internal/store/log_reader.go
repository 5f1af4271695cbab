package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// LogReader reads the log of an execution. Package log uses it.
type LogReader interface {
	// Log returns the records after the position `after`, in order, and the head of the log at the
	// same moment. It returns at most `limit` records and about 1 MiB. The chunks of a superseded
	// block keep their positions and offsets, and have no text. The chunks of a withheld block have
	// no text either, but keep their lengths.
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, Head, error)
	LogHead(ctx context.Context, execution uuid.UUID) (Head, error)
	// LogHeads returns the heads of many logs with one query. Unknown executions are left out.
	LogHeads(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]Head, error)
	// Nonces returns the nonces of the records at these positions, and the head of the log. It
	// leaves out positions after the head, and positions before the last pruned record. The
	// position 0 has the nonce 0.
	Nonces(ctx context.Context, execution uuid.UUID, positions ...int64) (map[int64]uint32, Head, error)

	// Events returns, in order, the events with after < seq <= upTo, and the head of the log at the
	// same moment. A block is returned as a whole, with its content at that moment. The result ends
	// early at about 1 MiB; the next read continues after the last returned event.
	Events(ctx context.Context, execution uuid.UUID, after, upTo int64) ([]Event, Head, error)
	// BlocksAcross returns the blocks with a seq of at most n that are still open after the event
	// n: they are open now, or were closed by a later event. It returns their contents, oldest
	// block first, without superseded blocks. It also returns the position of the record before the
	// event n+1 (the head's position if there is no such event), and the head of the log.
	BlocksAcross(ctx context.Context, execution uuid.UUID, n int64) ([]BlockContent, int64, Head, error)
	// LastSeqOf returns the seq of the newest event or block of one of these types that begins at
	// the position pos or before. It returns 0 if there is none. It reads no content.
	LastSeqOf(ctx context.Context, execution uuid.UUID, pos int64, types []perdure.EventType) (int64, error)
	// OpenBlocks returns the blocks that are open at the end of the log, with their content.
	OpenBlocks(ctx context.Context, execution uuid.UUID) ([]BlockContent, Head, error)

	// TextsOf returns the text blocks of one attempt of a task, in order and with their content.
	// Superseded blocks are left out. The result ends before the total length of the contents
	// exceeds `most` bytes.
	TextsOf(ctx context.Context, execution, task uuid.UUID, attempt int, most int64) ([]BlockContent, error)

	// EntriesOf is described in [ExecutionReader].

	EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error)
}

// Event is an event of a log with its seq: either the event's record, or a whole block.
type Event struct {
	Seq    int64
	Record *perdure.Record // nil if this is a block
	Block  *BlockContent
}

// BlockContent is a block with its content. The content of a superseded block is empty.
type BlockContent struct {
	Block
	// FirstNonce is the nonce of the record at FirstPos.
	FirstNonce uint32
	Content    string
	// Pieces describes where the log contains the pieces of a withheld block, whose Content is
	// empty. It is nil for other blocks.
	Pieces []Piece
}

// Piece is the position and the length of one piece of a block's content in the log.
type Piece struct {
	Pos, Length int64
}
