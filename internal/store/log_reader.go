package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// LogReader reads the log of an execution, for package log.
type LogReader interface {
	// Log returns the records after the position after in order, at most limit and about 1 MiB of
	// them, and the head as of the same moment. The execution's MaxSeq is the head's. The chunks of
	// a superseded block keep their positions and offsets, and have no text. The chunks of a
	// withheld block have no text, but keep their lengths.
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, Head, error)
	LogHead(ctx context.Context, execution uuid.UUID) (Head, error)
	// LogHeads returns the heads of many logs with one query. Unknown executions are left out.
	LogHeads(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]Head, error)
	// Nonces returns the nonces of the records at these positions, and the log's head. It leaves
	// out positions after the head, and positions before the last pruned record. The position 0 has
	// the nonce 0.
	Nonces(ctx context.Context, execution uuid.UUID, positions ...int64) (map[int64]uint32, Head, error)

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

	// TextsOf returns the blocks of text of a task's attempt that are not superseded, in order, with their
	// content. It ends before the block that makes them longer than most bytes.
	TextsOf(ctx context.Context, execution, task uuid.UUID, attempt int, most int64) ([]BlockContent, error)

	// EntriesOf is described in [ExecutionReader].

	EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error)
}

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
