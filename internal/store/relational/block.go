package relational

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// blockRow is a block with its execution.
type blockRow struct {
	execution uuid.UUID
	*store.Block
}

// blocks declares the rows of the table of blocks.
var blocks = newRows("log_block", 4, []field[blockRow]{
	idField("agent_execution_id", func(x *blockRow) *uuid.UUID { return &x.execution }),
	idField("task_id", func(x *blockRow) *uuid.UUID { return &x.Key.TaskID }),
	numberField("attempt", func(x *blockRow) *int64 { return &x.Key.Attempt }),
	numberField("block", func(x *blockRow) *int64 { return &x.Key.Block }),
	numberField("seq", func(x *blockRow) *int64 { return &x.Seq }),
	optTextField("type", func(x *blockRow) *perdure.EventType { return &x.Type }),
	optTextField("stream", func(x *blockRow) *string { return &x.Stream }),
	optTextField("response_id", func(x *blockRow) *string { return &x.Place.ResponseID }),
	optTextField("turn_id", func(x *blockRow) *string { return &x.Place.TurnID }),
	optTextField("message_id", func(x *blockRow) *string { return &x.Place.MessageID }),
	optTextField("tool_call_id", func(x *blockRow) *string { return &x.Place.ToolCallID }),
	timeField("created_at", func(x *blockRow) *perdure.Time { return &x.CreatedAt }),
	flagField("open", func(x *blockRow) *bool { return &x.Open }),
	flagField("event", func(x *blockRow) *bool { return &x.Event }),
	numberField("length", func(x *blockRow) *int64 { return &x.Length }),
	numberField("first_pos", func(x *blockRow) *int64 { return &x.FirstPos }),
	numberField("last_pos", func(x *blockRow) *int64 { return &x.LastPos }),
	bytesField("digest", func(x *blockRow) *[]byte { return &x.Digest }),
	optTextField("reason", func(x *blockRow) *perdure.BlockReason { return &x.Reason }),
	optHashField("sha256", func(x *blockRow) *perdure.Hash { return &x.SHA256 }),
})

var (
	upsertBlock = declare(blocks.upsertStatement())
	blockSelect = "SELECT " + blocks.list("b") + ", b.entry IS NOT NULL FROM log_block b WHERE b.agent_execution_id = ?"
	blockByKey  = read(blockSelect + " AND b.task_id = ? AND b.attempt = ? AND b.block = ?")
	// Blocks that an attempt's source used for events are left out.
	blocksClosed = read(blockSelect + " AND b.task_id = ? AND b.attempt = ? AND b.open = 0 AND b.event = 0 AND b.seq > 0 AND b.reason IS DISTINCT FROM 'superseded' ORDER BY b.seq")
	blocksOpen   = read(blockSelect + " AND b.open = 1 ORDER BY b.seq")
)

var (
	// growBlock touches no indexed column, because it runs for every chunk.
	growBlock = update("log_block", columns("length, last_pos, digest"), columns("agent_execution_id, task_id, attempt, block"))
	nameCall  = update("log_block", columns("argument_call_id"), columns("agent_execution_id, task_id, attempt, block"))
	foldBlock = update("log_block", columns("span, cuts, nonces, content, content_blob, entry, path"), columns("agent_execution_id, task_id, attempt, block"))
	// emptyBlock keeps the length, the cuts and the nonces.
	emptyBlock = update("log_block", Terms{}.fixed("content", "= NULL").fixed("content_blob", "= NULL").fixed("entry", "= NULL").fixed("path", "= NULL"), columns("agent_execution_id, task_id, attempt, block"))
	addChunk   = insert("log_chunk", "agent_execution_id, seq, pos, byte_offset, created_at, content, length, nonce")
	chunksOf   = read("SELECT pos, created_at, content, coalesce(length, length(content)), nonce FROM log_chunk WHERE agent_execution_id = ? AND seq = ? ORDER BY pos")
	dropChunks = remove("log_chunk", columns("agent_execution_id, seq"))
)

func blockKey(execution uuid.UUID, k perdure.BlockKey) []any {
	return []any{execution[:], k.TaskID[:], k.Attempt, k.Block}
}

func loadBlocks(v view, query *Statement, args ...any) ([]*store.Block, error) {
	var found []*store.Block
	err := v.each(query, args, func(row func(...any) error) error {
		b := blockRow{Block: new(store.Block)}
		found = append(found, b.Block)
		return row(append(blocks.scan(nil, &b), flagInto(&b.Named))...)
	})
	return found, err
}

// putBlock inserts or replaces a block's row. before is the previous row, nil if it is not known.
func putBlock(v view, execution uuid.UUID, before, b *store.Block) error {
	key := blockKey(execution, b.Key)
	if before != nil && before.Open && b.Open && before.Seq == b.Seq && before.FirstPos == b.FirstPos {
		err := v.write(growBlock, append([]any{b.Length, b.LastPos, rawBytes(b.Digest)}, key...)...)
		return err
	}
	err := blocks.write(v, upsertBlock, &blockRow{execution, b})
	if err != nil || b.Open || b.Event || b.Seq == 0 {
		return err
	}
	return compact(v, execution, b)
}

// compact moves the chunks of a closed block into its row. The row then holds the content, or a
// reference to an equal text of an entry, and the positions of the cuts, so that readers see the
// same records as before.
func compact(v view, execution uuid.UUID, b *store.Block) error {
	var (
		content = make([]byte, 0, b.Length)
		cuts    cutList
		nonces  nonceList
	)
	err := v.each(chunksOf, []any{execution[:], b.Seq}, func(row func(...any) error) error {
		var (
			pos, created, length int64
			piece                []byte
			nonce                uint32
		)
		if err := row(&pos, &created, &piece, &length, nonceInto(&nonce)); err != nil {
			return err
		}
		content = append(content, piece...)
		cuts.add(pos, length, created)
		nonces.add(nonce)
		return nil
	})
	if err == nil && cuts.n == 0 && b.Reason == perdure.BlockSuperseded { // compacted before
		return v.write(emptyBlock, blockKey(execution, b.Key)...)
	}
	if err != nil || cuts.n == 0 {
		return err
	}
	var named place
	switch {
	case b.Reason == perdure.BlockSuperseded || b.Content != nil:
		content = nil
	default:
		if named, err = findText(v, execution, b.SHA256, b.Length); err != nil {
			return err
		}
		if named.entry != 0 {
			content = nil
		}
	}
	if err := v.write(foldBlock, append([]any{
		spanClass(b.LastPos - b.FirstPos), cuts.raw, []byte(nonces), rawBytes(content), refID(b.Content), optNumber(named.entry), optText(named.path),
	}, blockKey(execution, b.Key)...)...); err != nil {
		return err
	}
	return v.write(dropChunks, execution[:], b.Seq)
}

// spanClass groups blocks by the number of positions that they span, in powers of 16. So a few
// ranges of first_pos find the blocks that span a position, however long the log is.
func spanClass(span int64) int64 { return int64(bits.Len64(uint64(span))+3) / 4 }

// maxSpanClass is the largest possible class: 2^44 positions.
const maxSpanClass = 11

// cutList encodes where a block's content was cut into chunks. It holds the pos, length and time of
// each chunk; pos and time are varint differences to the previous chunk.
type cutList struct {
	raw              []byte
	n                int
	lastPos, lastAge int64
}

func (c *cutList) add(pos, length, created int64) {
	c.raw = binary.AppendUvarint(c.raw, uint64(pos-c.lastPos))
	c.raw = binary.AppendUvarint(c.raw, uint64(length))
	c.raw = binary.AppendVarint(c.raw, created-c.lastAge)
	c.lastPos, c.lastAge = pos, created
	c.n++
}

// cut is one chunk of a closed block.
type cut struct {
	pos, offset, length, created int64
	nonce                        uint32
}

// readCuts returns the cuts whose pos is in (after, upTo], with their nonces.
func readCuts(raw []byte, nonces nonceList, after, upTo int64) ([]cut, error) {
	var (
		cuts []cut
		at   cut
	)
	for i := 0; len(raw) > 0; i++ {
		at.offset += at.length
		step, n := binary.Uvarint(raw)
		length, m := binary.Uvarint(raw[max(n, 0):])
		if n <= 0 || m <= 0 {
			return nil, errCuts
		}
		age, k := binary.Varint(raw[n+m:])
		if k <= 0 {
			return nil, errCuts
		}
		raw = raw[n+m+k:]
		at.pos, at.length, at.created = at.pos+int64(step), int64(length), at.created+age
		if at.pos > upTo {
			break
		}
		if at.pos > after {
			at.nonce = nonces.of(i)
			cuts = append(cuts, at)
		}
	}
	return cuts, nil
}

var errCuts = errors.New("the cuts of a block do not decode")
