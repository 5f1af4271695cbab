package eventlog

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// beginAfterSeq gives, whole, every block of up to seq n that is open or was
// closed after n, and goes to the first event after n.
func (t *tail) beginAfterSeq(ctx context.Context, n int64) error {
	blocks, head, err := t.log.read.OpenBlocks(ctx, t.execution)
	if err != nil {
		return err
	}
	pos := head.LastPos
	if head.LastSeq != n {
		if blocks, pos, err = t.log.blocksAfter(ctx, t.execution, n, head.LastPos); err != nil {
			return err
		}
	}
	t.coveredSeq, t.coveredPos = n, head.LastPos
	if err := t.giveBlocks(blocks, pos); err != nil {
		return err
	}
	t.at.Pos, t.shown = pos, true
	return t.endedAt(ctx, head)
}

// giveBlocks gives the blocks, oldest first. While some are still to come, the
// cursor is before the first of them, so that a reader that is cut off in
// between is given them again.
func (t *tail) giveBlocks(blocks []store.BlockContent, pos int64) error {
	slices.SortFunc(blocks, func(a, b store.BlockContent) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, b := range blocks {
		data, err := BlockData(b, t.execution)
		if err != nil {
			return err
		}
		at := perdure.Cursor{Epoch: t.at.Epoch, Pos: pos}
		for _, later := range blocks[i+1:] {
			at.Pos = min(at.Pos, later.FirstPos-1)
		}
		if err := t.give(Item{Event: Snapshot, Type: b.Type, Cursor: at, Seq: b.Seq, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// blocksAfter reads the log up to the position last, and gives the blocks of up
// to seq n that are not closed by then or were closed after n, and the position
// of the last record before event n+1.
func (l *Log) blocksAfter(ctx context.Context, execution uuid.UUID, n, last int64) ([]store.BlockContent, int64, error) {
	s := scan{n: n, last: last, open: map[int64]*growing{}}
	for pos := int64(0); pos < last; {
		records, _, err := l.read.Log(ctx, execution, pos, pageRecords)
		if err != nil {
			return nil, 0, err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			if err := s.see(r); err != nil {
				return nil, 0, err
			}
		}
		pos = records[len(records)-1].Pos
	}
	return s.blocks(), s.pos, nil
}

// scan gathers the content of blocks, letting go of those that closed in time.
type scan struct {
	n, last int64
	pos     int64 // of the last record before event n+1
	past    bool  // event n+1 has been seen
	open    map[int64]*growing
}

type growing struct {
	block  store.Block
	text   strings.Builder
	pieces []store.Piece // in a block of which something is withheld
}

func (s *scan) see(r perdure.Record) error {
	if r.Pos > s.last {
		return nil
	}
	if r.Seq > s.n {
		s.past = true
		return nil
	}
	if !s.past {
		s.pos = r.Pos
	}
	if r.Chunk != nil {
		s.grow(r)
		return nil
	}
	if r.Type != perdure.EventBlockClosed {
		return nil
	}
	var closed struct {
		BlockSeq int64 `json:"blockSeq"`
	}
	if err := json.Unmarshal(r.Fields, &closed); err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "a block.closed does not parse", Err: err}
	}
	delete(s.open, closed.BlockSeq)
	return nil
}

func (s *scan) grow(r perdure.Record) {
	b := s.open[r.Seq]
	if b == nil {
		b = &growing{block: store.Block{
			Seq: r.Seq, Type: r.Type, Place: r.Place, Stream: r.Chunk.Stream, CreatedAt: r.CreatedAt, FirstPos: r.Pos,
		}}
		if r.TaskID != nil {
			b.block.Key = perdure.BlockKey{TaskID: *r.TaskID, Attempt: int64(r.Attempt)}
		}
		if r.Chunk.ToolCallID != "" {
			b.block.Place.ToolCallID = r.Chunk.ToolCallID
		}
		s.open[r.Seq] = b
	}
	b.text.WriteString(r.Chunk.Text)
	b.block.Length = r.Chunk.Offset + int64(len(r.Chunk.Text)) + r.Chunk.Length
	if r.Chunk.Length > 0 {
		b.pieces = append(b.pieces, store.Piece{Pos: r.Pos, Length: r.Chunk.Length})
	}
}

func (s *scan) blocks() []store.BlockContent {
	var all []store.BlockContent
	for _, b := range s.open {
		all = append(all, store.BlockContent{Block: b.block, Content: b.text.String(), Pieces: b.pieces})
	}
	return all
}
