package log

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var recordSelect = "SELECT " + log.RecordRows.List("") + " FROM log_record WHERE agent_execution_id = ?"

// ofBlocks is an SQL condition that leaves out those rows of the table of blocks that describe
// events (see store.Block.Event). It must equal the condition of the partial index by seq, so that
// the index can be used.
const ofBlocks = " AND b.event = 0 AND b.seq > 0"

var (
	recordsBySeq = statement.Read(recordSelect + " AND seq > ? AND seq <= ? ORDER BY seq")
	recordsFrom  = statement.Read(recordSelect + " AND pos >= ? ORDER BY pos")
	closesAfter  = statement.Read("SELECT fields FROM log_record WHERE agent_execution_id = ? AND seq > ? AND type = 'block.closed'")
	closesFrom   = statement.Read("SELECT fields FROM log_record WHERE agent_execution_id = ? AND pos >= ? AND type = 'block.closed'")
	firstRecord  = statement.Read("SELECT pos FROM log_record WHERE agent_execution_id = ? AND seq >= ? ORDER BY seq LIMIT 1")
	firstBlock   = statement.Read("SELECT b.first_pos FROM log_block b WHERE b.agent_execution_id = ? AND b.seq >= ?" + ofBlocks + " ORDER BY b.seq LIMIT 1")
)

var (
	blocksBySeq = statement.Read(log.BlockSelect + ofBlocks + " AND b.seq > ? AND b.seq <= ? ORDER BY b.seq")
	blockBySeq  = statement.Read(log.BlockSelect + ofBlocks + " AND b.seq = ?")
)

// scanRecord scans a row of recordSelect.
func scanRecord(row func(...any) error) (r log.RecordRow, err error) {
	err = row(log.RecordRows.Scan(nil, &r)...)
	return r, err
}

// Events implements [store.Reader].
func (r *Logs) Events(ctx context.Context, execution uuid.UUID, after, upTo int64) ([]store.Event, store.Head, error) {
	var (
		found []store.Event
		head  store.Head
	)
	err := r.Read(ctx, func(v statement.View) (err error) {
		if head, err = loadHead(v, execution); err != nil {
			return err
		}
		found, err = eventsIn(v, execution, after, min(upTo, head.LastSeq))
		return err
	})
	return found, head, err
}

// eventsIn reads events with after < seq <= upTo. It stops early after about logBytes.
func eventsIn(v statement.View, execution uuid.UUID, after, upTo int64) ([]store.Event, error) {
	records, err := recordsIn(v, execution, after, upTo)
	if err != nil {
		return nil, err
	}
	var found []store.Event
	for i := range records {
		found = append(found, store.Event{Seq: records[i].Seq, Record: &records[i]})
	}
	blocks, err := log.Blocks(v, blocksBySeq, execution[:], after, upTo)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		found = append(found, store.Event{Seq: b.Seq, Block: &store.BlockContent{Block: *b}})
	}
	slices.SortFunc(found, func(a, b store.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	left := logBytes
	for i, e := range found {
		left -= eventSize(e)
		if left < 0 && i > 0 {
			return found[:i], nil
		}
		if e.Block != nil {
			if *e.Block, err = contentOf(v, execution, &e.Block.Block); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func eventSize(e store.Event) int {
	if e.Block != nil {
		return 64 + int(e.Block.Length)
	}
	return size(*e.Record)
}

// recordsIn reads the records of the events with after < seq <= upTo.
func recordsIn(v statement.View, execution uuid.UUID, after, upTo int64) ([]perdure.Record, error) {
	query, args := recordsBySeq, []any{execution[:], after, upTo}
	if !v.Dialect.RecordsBySeq {
		pos, found, err := posOf(v, execution, after+1)
		if err != nil || !found {
			return nil, err
		}
		query, args = recordsFrom, []any{execution[:], pos}
	}
	var rows []log.RecordRow
	err := v.Each(query, args, func(row func(...any) error) error {
		r, err := scanRecord(row)
		if err == nil && r.Seq > upTo {
			return statement.ErrStop
		}
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return fillRecords(v, execution, rows)
}

var closedContent = statement.Read("SELECT content, content_blob, cuts, nonces, entry, path FROM log_block WHERE agent_execution_id = ? AND task_id = ? AND attempt = ? AND block = ?")

// contentOf returns the content of a block. For a withheld block, it returns the positions of the
// block's pieces in the log instead.
func contentOf(v statement.View, execution uuid.UUID, b *store.Block) (store.BlockContent, error) {
	if b.Open {
		return openContent(v, execution, b)
	}
	var (
		content, cuts, nonces []byte
		blob                  *uuid.UUID
		named                 contents.TextPlace
		whole                 = store.BlockContent{Block: *b}
	)
	_, err := v.One(closedContent, log.BlockKey(execution, b.Key), append([]any{&content, column.OptIDInto(&blob), &cuts, &nonces}, named.Scan()...)...)
	whole.FirstNonce = log.NonceList(nonces).Of(0)
	if err == nil && named.Entry != 0 {
		var texts contents.EntryTexts
		content, err = texts.At(v, execution, named)
	}
	if err != nil || blob == nil {
		whole.Content = string(content)
		return whole, err
	}
	ref, err := contents.Ref(v, execution, blob)
	if err != nil {
		return whole, err
	}
	loaded, err := contents.Whole(v, execution, ref)
	if err != nil || loaded != nil {
		whole.Content = string(loaded)
		return whole, err
	}
	pieces, err := log.ReadCuts(cuts, nil, 0, b.LastPos)
	for _, c := range pieces {
		whole.Pieces = append(whole.Pieces, store.Piece{Pos: c.Pos, Length: c.Length})
	}
	return whole, err
}

// contentsOf returns the contents of blocks.
func contentsOf(v statement.View, execution uuid.UUID, blocks []*store.Block) (all []store.BlockContent, err error) {
	for _, b := range blocks {
		content, err := contentOf(v, execution, b)
		if err != nil {
			return nil, err
		}
		all = append(all, content)
	}
	return all, nil
}

// BlocksAcross implements [store.Reader].
func (r *Logs) BlocksAcross(ctx context.Context, execution uuid.UUID, n int64) ([]store.BlockContent, int64, store.Head, error) {
	var (
		across []store.BlockContent
		pos    int64
		head   store.Head
	)
	err := r.Read(ctx, func(v statement.View) (err error) {
		if head, err = loadHead(v, execution); err != nil {
			return err
		}
		blocks, err := blocksAcross(v, execution, n)
		if err != nil {
			return err
		}
		if across, err = contentsOf(v, execution, blocks); err != nil {
			return err
		}
		pos, err = posBefore(v, execution, n+1, head)
		return err
	})
	return across, pos, head, err
}

// blocksAcross returns the blocks for BlocksAcross without their content. Superseded blocks are
// left out.
func blocksAcross(v statement.View, execution uuid.UUID, n int64) ([]*store.Block, error) {
	blocks, err := log.Blocks(v, log.BlocksOpen, execution[:])
	if err != nil {
		return nil, err
	}
	blocks = slices.DeleteFunc(blocks, func(b *store.Block) bool { return b.Seq > n })
	closed, err := closedAfter(v, execution, n)
	if err != nil {
		return nil, err
	}
	for _, seq := range closed {
		found, err := log.Blocks(v, blockBySeq, execution[:], seq)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, found...)
	}
	blocks = slices.DeleteFunc(blocks, func(b *store.Block) bool { return b.Reason == perdure.BlockSuperseded })
	slices.SortFunc(blocks, func(a, b *store.Block) int { return cmp.Compare(a.Seq, b.Seq) })
	return blocks, nil
}

// closedAfter returns the seqs of blocks that were open at the event n and were closed by a later
// event.
func closedAfter(v statement.View, execution uuid.UUID, n int64) (closed []int64, err error) {
	query, args := closesAfter, []any{execution[:], n}
	if !v.Dialect.RecordsBySeq {
		pos, found, err := posOf(v, execution, n+1)
		if err != nil || !found {
			return nil, err
		}
		query, args = closesFrom, []any{execution[:], pos}
	}
	err = v.Each(query, args, func(row func(...any) error) error {
		var (
			fields json.RawMessage
			named  struct {
				BlockSeq int64 `json:"blockSeq"`
			}
		)
		if err := row(column.RawInto(&fields)); err != nil {
			return err
		}
		if err := json.Unmarshal(fields, &named); err != nil {
			return err
		}
		if named.BlockSeq <= n {
			closed = append(closed, named.BlockSeq)
		}
		return nil
	})
	return closed, err
}

// posBefore returns the position of the record before the first record with that seq. If no record
// with that seq is stored, the next greater stored seq is used.
func posBefore(v statement.View, execution uuid.UUID, seq int64, head store.Head) (int64, error) {
	before := head.LastPos
	pos, found, err := posOf(v, execution, seq)
	if err == nil && found {
		before = min(before, pos-1)
	}
	if err == nil {
		found, err = v.One(firstBlock, []any{execution[:], seq}, &pos)
	}
	if err == nil && found {
		before = min(before, pos-1)
	}
	return before, err
}
