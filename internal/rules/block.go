package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"hash"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// chunk appends text to an open block, as a record in the log with the block's seq. The first chunk
// gives the block its seq.
func (d *draft) chunk(b *store.Block, text, toolCallID string, sum perdure.Hash) error {
	d.s.Head.LastPos++
	d.s.Head.Nonce = d.s.Nonce
	pos := d.s.Head.LastPos
	if b.Length == 0 && b.FirstPos == 0 {
		d.s.Head.LastSeq++
		b.Seq, b.FirstPos = d.s.Head.LastSeq, pos
	}
	id, attempt := blockSource(b.Key)
	chunk := &perdure.Chunk{Offset: b.Length, Text: text, Stream: b.Stream, ToolCallID: toolCallID}
	if d.local() {
		d.show([]byte(text))
		chunk.Text, chunk.Length = "", int64(len(text))
	}
	d.c.Records = append(d.c.Records, perdure.Record{
		Pos: pos, Seq: b.Seq, Nonce: d.s.Nonce, Type: b.Type, CreatedAt: d.s.Now, Place: b.Place, TaskID: id, Attempt: attempt, Chunk: chunk,
	})
	d.c.ChunkKeys = append(d.c.ChunkKeys, b.Key)
	b.Length += int64(len(text))
	b.LastPos = pos
	return d.hash(b, text, sum)
}

// hash adds text to the running SHA-256 of a block. In a LOCAL execution it stores `sum` instead,
// the hash that the worker has reported, because the stored state of a running SHA-256 would
// contain the last bytes of the text.
func (d *draft) hash(b *store.Block, text string, sum perdure.Hash) error {
	if d.local() {
		b.Digest = sum[:]
		return nil
	}
	h, err := digest(b.Digest)
	if err != nil {
		return err
	}
	h.Write([]byte(text))
	b.Digest, err = h.(encoding.BinaryMarshaler).MarshalBinary()
	return err
}

// sumOf returns the SHA-256 of a block.
func (d *draft) sumOf(b *store.Block) (sum perdure.Hash, err error) {
	if d.local() {
		copy(sum[:], b.Digest)
		return sum, nil
	}
	h, err := digest(b.Digest)
	if err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// closeBlock closes an open block and appends a block.closed event.
func (d *draft) closeBlock(b *store.Block, reason perdure.BlockReason) error {
	if !b.Open {
		return nil
	}
	sum, err := d.sumOf(b)
	if err != nil {
		return err
	}
	b.Open, b.Reason, b.Digest, b.SHA256 = false, reason, nil, sum
	if d.local() && reason != perdure.BlockSuperseded {
		b.Content = &perdure.BlobRef{ID: perdure.ContentID(d.x.ID, sum), Length: b.Length, SHA256: sum}
		d.c.Withhold = append(d.c.Withhold, *b.Content)
	}
	d.sayClosed(b)
	return nil
}

// takeBack marks the closed blocks of a task's attempt as superseded, because the attempt is
// repeated or its worker is lost. It does not change blocks to which an entry refers and, if
// keepTerminal is true, blocks of terminal output. The state must contain the attempt's blocks.
func (d *draft) takeBack(t *perdure.Task, keepTerminal bool) {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != t.ID || b.Open || b.Event || b.Named || b.Reason == perdure.BlockSuperseded {
			continue
		}
		if keepTerminal && b.Type == perdure.EventTerminal {
			continue
		}
		b.Reason = perdure.BlockSuperseded
		d.sayClosed(b)
	}
}

// sayClosed adds the row of a closed block to the changes, and a block.closed event to the log.
func (d *draft) sayClosed(b *store.Block) {
	id, attempt := blockSource(b.Key)
	d.record(perdure.Record{
		Type: perdure.EventBlockClosed, Place: b.Place, TaskID: id, Attempt: attempt,
		Fields: fields(map[string]any{"blockSeq": b.Seq, "length": b.Length, "sha256": b.SHA256, "reason": b.Reason}),
	})
	d.putBlock(b)
}

// putBlock adds a block's row to the changes. It replaces an earlier version of the row.
func (d *draft) putBlock(b *store.Block) {
	for i := range d.c.Blocks {
		if d.c.Blocks[i].Key == b.Key {
			d.c.Blocks[i] = *b
			return
		}
	}
	d.c.Blocks = append(d.c.Blocks, *b)
}

// digest restores a running SHA-256 from its stored state.
func digest(state []byte) (hash.Hash, error) {
	h := sha256.New()
	if state == nil {
		return h, nil
	}
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a block's digest does not restore", Err: err}
	}
	return h, nil
}

// blockSource returns the task and the attempt that wrote a block; nil and 0 if the agent wrote it.
func blockSource(key perdure.BlockKey) (*uuid.UUID, int) {
	if key.TaskID == uuid.Nil {
		return nil, 0
	}
	id := key.TaskID
	return &id, int(key.Attempt)
}

// endBlocks closes blocks at the lengths that the worker reports. Error: conflict, if the stored
// length of a block differs. The worker then sends the missing bytes.
func (d *draft) endBlocks(ends []perdure.BlockEnd) error {
	for _, end := range ends {
		b, ok := d.s.Blocks[end.Key]
		held := int64(0)
		if ok {
			held = b.Length
		}
		if ok && !b.Open {
			continue
		}
		if held != end.Length {
			return perdure.Errorf(perdure.Conflict, "block %d of this source has %d bytes here, not %d; send the rest", end.Key.Block, held, end.Length)
		}
		if ok {
			if err := d.closeBlock(b, perdure.BlockDone); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeOpenBlocks closes all open blocks. Blocks of the agent and terminal output get the reason
// done. Other blocks of tasks get the reason truncated: clients keep the text that they have
// received.
func (d *draft) closeOpenBlocks() error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		reason := perdure.BlockTruncated
		if task, _ := blockSource(b.Key); task == nil || b.Type == perdure.EventTerminal {
			reason = perdure.BlockDone
		}
		if err := d.closeBlock(b, reason); err != nil {
			return err
		}
	}
	return nil
}

// closeAgentBlocks closes the agent's open blocks as superseded, because the next worker of the
// execution writes their content again.
func (d *draft) closeAgentBlocks() error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != uuid.Nil {
			continue
		}
		if err := d.closeBlock(b, perdure.BlockSuperseded); err != nil {
			return err
		}
	}
	return nil
}

// closeBlocksOf closes the open blocks of a task with the given reason. If the task has ended,
// terminal output gets the reason done instead, because the tool has really written it.
func (d *draft) closeBlocksOf(t *perdure.Task, reason perdure.BlockReason) error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != t.ID {
			continue
		}
		why := reason
		if b.Type == perdure.EventTerminal && t.Status.Terminal() {
			why = perdure.BlockDone
		}
		if err := d.closeBlock(b, why); err != nil {
			return err
		}
	}
	return nil
}

// keepText closes a task's open blocks of text with the reason done.
func (d *draft) keepText(t *perdure.Task) error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != t.ID || b.Type != perdure.EventToken {
			continue
		}
		if err := d.closeBlock(b, perdure.BlockDone); err != nil {
			return err
		}
	}
	return nil
}

// sortedBlocks returns the blocks in the order of their seqs, so that a repeated call makes the
// same changes.
func sortedBlocks(blocks map[perdure.BlockKey]*store.Block) []*store.Block {
	all := make([]*store.Block, 0, len(blocks))
	for _, b := range blocks {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *store.Block) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
