package log

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// logBytes is roughly the maximum number of bytes that one read of a log returns.
const logBytes = 1 << 20

const placeColumns = "response_id, b.turn_id, b.message_id, b.tool_call_id"

const (
	headColumns = log.HeadColumns + ", coalesce(h.first_pos, 0)"
	headOfThese = " LEFT JOIN log_head h ON h.agent_execution_id = x.id WHERE " + load.Hidden
)

var (
	logEvents = statement.Read(recordSelect + " AND pos > ? AND pos <= ? ORDER BY pos")
	// logOpen selects the chunks of the open blocks, from one range of the index for each block.
	logOpen = statement.Read("SELECT b.task_id, b.attempt, b.seq, b.type, b.stream, b." + placeColumns + ", b.argument_call_id," +
		" c.pos, c.byte_offset, c.created_at, c.nonce, c.content, c.length" +
		" FROM log_block b CROSS JOIN log_chunk c" +
		" WHERE b.agent_execution_id = ?1 AND b.open = 1 AND c.agent_execution_id = ?1 AND c.seq = b.seq AND c.pos > ?2 AND c.pos <= ?3 ORDER BY c.pos")
	logClosed = statement.Alone(log.SpanClasses +
		" SELECT b.task_id, b.attempt, b.seq, b.type, b.stream, b." + placeColumns + ", b.argument_call_id, b.block, b.cuts, b.nonces, b.content_blob, b.entry, b.path" + log.FromSpans)
	blockContent = statement.Read("SELECT content FROM log_block WHERE agent_execution_id = ? AND task_id = ? AND attempt = ? AND block = ?")
	headOf       = statement.Read("SELECT " + headColumns + " FROM agent_execution x" +
		" LEFT JOIN log_head h ON h.agent_execution_id = x.id WHERE x.id = ? AND " + load.Hidden)
)

func loadHead(v statement.View, execution uuid.UUID) (h store.Head, err error) {
	found, err := v.One(headOf, []any{execution[:]}, append(log.HeadInto(&h), &h.FirstPos)...)
	if err == nil && !found {
		err = base.NoExecution(execution)
	}
	return h, err
}

// LogHead implements [store.Reader].
func (r *Logs) LogHead(ctx context.Context, execution uuid.UUID) (store.Head, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (store.Head, error) { return loadHead(v, execution) })
}

// LogHeads implements [store.Reader].
func (r *Logs) LogHeads(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]store.Head, error) {
	from, arg, err := r.Dialect.TheseExecutions(executions)
	if err != nil {
		return nil, err
	}
	heads := make(map[uuid.UUID]store.Head, len(executions))
	err = r.Read(ctx, func(v statement.View) error {
		return v.Each(statement.NewAlone("SELECT "+headColumns+", x.id"+from+headOfThese), []any{arg}, func(row func(...any) error) error {
			var (
				id uuid.UUID
				h  store.Head
			)
			err := row(append(log.HeadInto(&h), &h.FirstPos, &id)...)
			heads[id] = h
			return err
		})
	})
	return heads, err
}

// Log implements [store.Reader].
func (r *Logs) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	limit = base.PageLimit(limit)
	var (
		head store.Head
		w    logWindow
	)
	err := r.Read(ctx, func(v statement.View) (err error) {
		if head, err = loadHead(v, execution); err != nil {
			return err
		}
		w = logWindow{View: v, execution: execution, left: logBytes}
		for lo := max(after, head.FirstPos-1, 0); lo < head.LastPos && len(w.records) < limit && w.left > 0; lo = w.upTo {
			w.after, w.upTo = lo, min(lo+int64(limit-len(w.records)), head.LastPos)
			if err := w.read(); err != nil {
				return err
			}
		}
		return nil
	})
	return w.records, head, err
}

// logWindow reads the records of a log with after < pos <= upTo. Positions have no gaps, so these
// are upTo-after records. If a record before upTo reaches the byte limit, upTo becomes the position
// of that record.
type logWindow struct {
	statement.View
	execution   uuid.UUID
	after, upTo int64
	left        int // bytes that the window may still read
	records     []perdure.Record
	texts       contents.EntryTexts
}

func (w *logWindow) read() error {
	events, err := w.events()
	if err != nil {
		return err
	}
	chunks, err := w.openChunks()
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(slices.Concat(events, chunks), func(r perdure.Record) bool { return r.Pos > w.upTo })
	if int64(len(found)) < w.upTo-w.after {
		closed, err := w.closedChunks()
		if err != nil {
			return err
		}
		found = append(found, closed...)
	}
	slices.SortFunc(found, func(a, b perdure.Record) int { return cmp.Compare(a.Pos, b.Pos) })
	for _, rec := range found {
		if rec.Pos > w.upTo {
			break
		}
		w.records = append(w.records, rec)
		if w.left -= size(rec); w.left <= 0 {
			w.upTo = rec.Pos
		}
	}
	return nil
}

// size returns the approximate size of a record, in bytes.
func size(r perdure.Record) int {
	n := 64 + len(r.Fields)
	if r.Chunk != nil {
		n += len(r.Chunk.Text)
	}
	return n
}

// bound returns a function that must be called for each record, in order of the positions. When the
// byte limit is reached, the function ends the window at that record and returns true.
func (w *logWindow) bound() func(pos int64, size int) bool {
	left := w.left
	return func(pos int64, size int) bool {
		if left -= size; left > 0 {
			return false
		}
		w.upTo = min(w.upTo, pos)
		return true
	}
}

func (w *logWindow) events() ([]perdure.Record, error) {
	var events []log.RecordRow
	full := w.bound()
	err := w.Each(logEvents, []any{w.execution[:], w.after, w.upTo}, func(row func(...any) error) error {
		r, err := scanRecord(row)
		if err != nil {
			return err
		}
		events = append(events, r)
		if full(r.Pos, recordSize(&r)) {
			return statement.ErrStop
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fillRecords(w.View, w.execution, events)
}

// source contains the fields that are equal in all records of one block.
type source struct {
	task    uuid.UUID
	attempt int
	record  perdure.Record
	chunk   perdure.Chunk
}

func (s *source) scan() []any {
	return []any{
		&s.task, &s.attempt, &s.record.Seq,
		column.TextInto(&s.record.Type),
		column.TextInto(&s.chunk.Stream),
		column.TextInto(&s.record.Place.ResponseID),
		column.TextInto(&s.record.Place.TurnID),
		column.TextInto(&s.record.Place.MessageID),
		column.TextInto(&s.record.Place.ToolCallID),
		column.TextInto(&s.chunk.ToolCallID),
	}
}

// at returns the record of the chunk that c describes; `content` is the text of that chunk.
func (s *source) at(c log.Cut, content []byte) perdure.Record {
	r, chunk := s.record, s.chunk
	if s.task != uuid.Nil {
		id := s.task
		r.TaskID, r.Attempt = &id, s.attempt
	}
	r.Pos, r.Nonce, r.CreatedAt = c.Pos, c.Nonce, column.FromMillis(c.Created)
	chunk.Offset, chunk.Text = c.Offset, string(content)
	r.Chunk = &chunk
	return r
}

func (w *logWindow) openChunks() ([]perdure.Record, error) {
	var chunks []perdure.Record
	full := w.bound()
	err := w.Each(logOpen, []any{w.execution[:], w.after, w.upTo}, func(row func(...any) error) error {
		var (
			s       source
			c       log.Cut
			content []byte
			length  *int64
		)
		if err := row(append(s.scan(), &c.Pos, &c.Offset, &c.Created, log.NonceInto(&c.Nonce), &content, &length)...); err != nil {
			return err
		}
		if length != nil {
			s.chunk.Length = *length
		}
		chunks = append(chunks, s.at(c, content))
		if full(c.Pos, len(content)+64) {
			return statement.ErrStop
		}
		return nil
	})
	return chunks, err
}

// OpenBlocks implements [store.Reader].
func (r *Logs) OpenBlocks(ctx context.Context, execution uuid.UUID) ([]store.BlockContent, store.Head, error) {
	var (
		open []store.BlockContent
		head store.Head
	)
	err := r.Read(ctx, func(v statement.View) (err error) {
		if head, err = loadHead(v, execution); err != nil {
			return err
		}
		blocks, err := log.Blocks(v, log.BlocksOpen, execution[:])
		if err != nil {
			return err
		}
		open, err = contentsOf(v, execution, blocks)
		return err
	})
	return open, head, err
}

func openContent(v statement.View, execution uuid.UUID, b *store.Block) (store.BlockContent, error) {
	content := make([]byte, 0, b.Length)
	var (
		pieces []store.Piece
		first  uint32
	)
	err := v.Each(log.ChunksOf, []any{execution[:], b.Seq}, func(row func(...any) error) error {
		var (
			created int64
			piece   []byte
			nonce   uint32
			at      store.Piece
		)
		err := row(&at.Pos, &created, &piece, &at.Length, log.NonceInto(&nonce))
		if len(pieces) == 0 {
			first = nonce
		}
		content, pieces = append(content, piece...), append(pieces, at)
		return err
	})
	if int64(len(content)) == b.Length {
		pieces = nil
	}
	return store.BlockContent{Block: *b, FirstNonce: first, Content: string(content), Pieces: pieces}, err
}
