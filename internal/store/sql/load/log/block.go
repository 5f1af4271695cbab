// Package log declares the rows of the logs of executions, and reads them: heads, events, blocks and
// their chunks, nonces.
package log

import (
	"encoding/binary"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// BlockRow is a block with its execution.
type BlockRow struct {
	Execution uuid.UUID
	*store.Block
}

// BlockRows declares the rows of the table of blocks.
var BlockRows = row.New("log_block", 4, []row.Field[BlockRow]{
	row.ID("agent_execution_id", func(x *BlockRow) *uuid.UUID { return &x.Execution }),
	row.ID("task_id", func(x *BlockRow) *uuid.UUID { return &x.Key.TaskID }),
	row.Number("attempt", func(x *BlockRow) *int64 { return &x.Key.Attempt }),
	row.Number("block", func(x *BlockRow) *int64 { return &x.Key.Block }),
	row.Number("seq", func(x *BlockRow) *int64 { return &x.Seq }),
	row.OptText("type", func(x *BlockRow) *perdure.EventType { return &x.Type }),
	row.OptText("stream", func(x *BlockRow) *string { return &x.Stream }),
	row.OptText("response_id", func(x *BlockRow) *string { return &x.Place.ResponseID }),
	row.OptText("turn_id", func(x *BlockRow) *string { return &x.Place.TurnID }),
	row.OptText("message_id", func(x *BlockRow) *string { return &x.Place.MessageID }),
	row.OptText("tool_call_id", func(x *BlockRow) *string { return &x.Place.ToolCallID }),
	row.Time("created_at", func(x *BlockRow) *perdure.Time { return &x.CreatedAt }),
	row.Flag("open", func(x *BlockRow) *bool { return &x.Open }),
	row.Flag("event", func(x *BlockRow) *bool { return &x.Event }),
	row.Number("length", func(x *BlockRow) *int64 { return &x.Length }),
	row.Number("first_pos", func(x *BlockRow) *int64 { return &x.FirstPos }),
	row.Number("last_pos", func(x *BlockRow) *int64 { return &x.LastPos }),
	row.Bytes("digest", func(x *BlockRow) *[]byte { return &x.Digest }),
	row.OptText("reason", func(x *BlockRow) *perdure.BlockReason { return &x.Reason }),
	row.OptHash("sha256", func(x *BlockRow) *perdure.Hash { return &x.SHA256 }),
})

var (
	// BlockSelect is the beginning of a query for blocks of an execution.
	BlockSelect = "SELECT " + BlockRows.List("b") + ", b.entry IS NOT NULL FROM log_block b WHERE b.agent_execution_id = ?"
	// BlocksOpen selects the open blocks of an execution.
	BlocksOpen = statement.Read(BlockSelect + " AND b.open = 1 ORDER BY b.seq")
)

// ChunksOf selects the chunks of an open block, in order.
var ChunksOf = statement.Read("SELECT pos, created_at, content, coalesce(length, length(content)), nonce FROM log_chunk WHERE agent_execution_id = ? AND seq = ? ORDER BY pos")

// BlockKey returns the parameters of a statement that selects a block by its key.
func BlockKey(execution uuid.UUID, k perdure.BlockKey) []any {
	return []any{execution[:], k.TaskID[:], k.Attempt, k.Block}
}

// Blocks reads the blocks that a query selects, without their contents.
func Blocks(v statement.View, query *statement.Statement, args ...any) ([]*store.Block, error) {
	var found []*store.Block
	err := v.Each(query, args, func(row func(...any) error) error {
		b := BlockRow{Block: new(store.Block)}
		found = append(found, b.Block)
		return row(append(BlockRows.Scan(nil, &b), column.FlagInto(&b.Named))...)
	})
	return found, err
}

// MaxSpanClass is the highest span class (see SpanClasses). Its blocks have up to 2^44 positions.
const MaxSpanClass = 11

// Cut describes one chunk of a closed block, whose content is stored as a whole.
type Cut struct {
	Pos, Offset, Length, Created int64
	Nonce                        uint32
}

// ReadCuts decodes the list of a block's cuts. It returns the cuts with after < Pos <= upTo, with
// their nonces.
func ReadCuts(raw []byte, nonces NonceList, after, upTo int64) ([]Cut, error) {
	var (
		cuts []Cut
		at   Cut
	)
	for i := 0; len(raw) > 0; i++ {
		at.Offset += at.Length
		step, n := binary.Uvarint(raw)
		length, m := binary.Uvarint(raw[max(n, 0):])
		if n <= 0 || m <= 0 {
			return nil, ErrCuts
		}
		age, k := binary.Varint(raw[n+m:])
		if k <= 0 {
			return nil, ErrCuts
		}
		raw = raw[n+m+k:]
		at.Pos, at.Length, at.Created = at.Pos+int64(step), int64(length), at.Created+age
		if at.Pos > upTo {
			break
		}
		if at.Pos > after {
			at.Nonce = nonces.Of(i)
			cuts = append(cuts, at)
		}
	}
	return cuts, nil
}

// ErrCuts says that the stored cuts of a closed block are damaged.
var ErrCuts = errors.New("the cuts of a block do not decode")

// Piece returns the text of the cut; `content` is the content of the whole block. It returns nil if
// `content` is empty, as for a superseded block.
func (c Cut) Piece(content []byte) []byte {
	if len(content) == 0 {
		return nil
	}
	return content[c.Offset : c.Offset+c.Length]
}

const (
	// SpanClasses begins a query for closed blocks that overlap the positions (?2, ?3], and
	// FromSpans is the FROM clause of that query. A block of span class n has at most 16^n
	// positions. So if it overlaps the range, it begins in the range or less than 16^n positions
	// before it.
	SpanClasses = "WITH RECURSIVE class (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM class WHERE n < ?4)"
	// FromSpans is the FROM clause of a query that begins with SpanClasses.
	FromSpans = " FROM class CROSS JOIN log_block b WHERE b.agent_execution_id = ?1 AND b.span = class.n" +
		" AND b.first_pos > ?2 - (CAST(1 AS BIGINT) << (4 * class.n)) AND b.first_pos <= ?3 AND b.last_pos > ?2"
)
