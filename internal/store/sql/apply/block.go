package apply

import (
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertBlock = statement.Declare(log.BlockRows.UpsertStatement())
	// blocksClosed selects the blocks that an attempt of a task has closed. It leaves out
	// superseded blocks, and rows with store.Block.Event set, which describe events and not blocks.
	blocksClosed = statement.Read(log.BlockSelect + " AND b.task_id = ? AND b.attempt = ? AND b.open = 0 AND " + column.UnindexedNumber("b.event") + " = 0 AND b.seq > 0 AND b.reason IS DISTINCT FROM 'superseded'")
)

var (
	// growBlock updates the row of an open block after a chunk was added. It runs for every chunk,
	// so it must be cheap and change no column of an index.
	growBlock = statement.Update("log_block", statement.Columns("length, last_pos, digest"), statement.Columns("agent_execution_id, task_id, attempt, block"))
	nameCall  = statement.Update("log_block", statement.Columns("argument_call_id"), statement.Columns("agent_execution_id, task_id, attempt, block"))
	foldBlock = statement.Update("log_block", statement.Columns("span, cuts, nonces, content, content_blob, entry, path"), statement.Columns("agent_execution_id, task_id, attempt, block"))
	// emptyBlock deletes the content of a block. It keeps the length, the list of the chunks and
	// their nonces.
	emptyBlock = statement.Update("log_block", statement.Terms{}.Fixed("content", "= NULL").Fixed("content_blob", "= NULL").Fixed("entry", "= NULL").Fixed("path", "= NULL"), statement.Columns("agent_execution_id, task_id, attempt, block"))
	addChunk   = statement.Declare(chunkRows.InsertStatement())
	dropChunks = statement.Remove("log_chunk", statement.Columns("agent_execution_id, seq"))
)

// chunkRow is the row of a chunk of an open block.
type chunkRow struct {
	execution uuid.UUID
	*perdure.Record
}

var chunkRows = row.New("log_chunk", 3, []row.Field[chunkRow]{
	row.ID("agent_execution_id", func(c *chunkRow) *uuid.UUID { return &c.execution }),
	row.Number("seq", func(c *chunkRow) *int64 { return &c.Seq }),
	row.Number("pos", func(c *chunkRow) *int64 { return &c.Pos }),
	row.Number("byte_offset", func(c *chunkRow) *int64 { return &c.Chunk.Offset }),
	row.Time("created_at", func(c *chunkRow) *perdure.Time { return &c.CreatedAt }),
	row.Derived("content", func(c *chunkRow) any { return []byte(c.Chunk.Text) }),
	row.Derived("length", func(c *chunkRow) any { return withheldLength(c.Chunk) }),
	row.Derived("nonce", func(c *chunkRow) any { return log.StoredNonce(c.Nonce) }),
})

// putBlock inserts or replaces the row of a block. The parameter `before` is the block as it was
// loaded; nil if it was not loaded.
func putBlock(v statement.View, execution uuid.UUID, before, b *store.Block) error {
	key := log.BlockKey(execution, b.Key)
	if before != nil && before.Open && b.Open && before.Seq == b.Seq && before.FirstPos == b.FirstPos {
		err := v.Write(growBlock, append([]any{b.Length, b.LastPos, column.RawBytes(b.Digest)}, key...)...)
		return err
	}
	err := log.BlockRows.Write(v, upsertBlock, &log.BlockRow{Execution: execution, Block: b})
	if err != nil || b.Open || b.Event || b.Seq == 0 {
		return err
	}
	return compact(v, execution, b)
}

// compact moves the chunks of a closed block into the block's row: their texts, or a reference to
// an entry that contains the same text, and the list of the chunks (see cutList). Readers see the
// same records as before.
func compact(v statement.View, execution uuid.UUID, b *store.Block) error {
	var (
		content = make([]byte, 0, b.Length)
		cuts    cutList
		nonces  log.NonceList
	)
	err := v.Each(log.ChunksOf, []any{execution[:], b.Seq}, func(row func(...any) error) error {
		var (
			pos, created, length int64
			piece                []byte
			nonce                uint32
		)
		if err := row(&pos, &created, &piece, &length, log.NonceInto(&nonce)); err != nil {
			return err
		}
		content = append(content, piece...)
		cuts.add(pos, length, created)
		nonces.Add(nonce)
		return nil
	})
	if err == nil && cuts.n == 0 && b.Reason == perdure.BlockSuperseded { // the block was compacted before
		return v.Write(emptyBlock, log.BlockKey(execution, b.Key)...)
	}
	if err != nil || cuts.n == 0 {
		return err
	}
	var named contents.TextPlace
	switch {
	case b.Reason == perdure.BlockSuperseded || b.Content != nil:
		content = nil
	default:
		if named, err = findText(v, execution, b.SHA256, b.Length); err != nil {
			return err
		}
		if named.Entry != 0 {
			content = nil
		}
	}
	if err := v.Write(foldBlock, append([]any{
		spanClass(b.LastPos - b.FirstPos), cuts.raw, []byte(nonces), column.RawBytes(content), column.RefID(b.Content), column.OptNumber(named.Entry), column.OptText(named.Path),
	}, log.BlockKey(execution, b.Key)...)...); err != nil {
		return err
	}
	return v.Write(dropChunks, execution[:], b.Seq)
}

// spanClass returns the class of a block by its span, which is its last position minus its first
// one. The limits of the classes are powers of 16. With the classes, a query needs only a few
// ranges of first_pos to find the blocks that contain a position, however long the log is.
func spanClass(span int64) int64 { return int64(bits.Len64(uint64(span))+3) / 4 }

// cutList encodes where a block's content was cut into chunks. It contains the position, length and
// time of each chunk. Positions and times are varint differences to the previous chunk.
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
