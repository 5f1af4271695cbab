package log_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

var execution = uuid.MustParse("018f0000-0000-7000-8000-000000000001")

const storeEpoch = 7

// memoryLog is a log in memory. It implements the methods of a store that Log calls.
type memoryLog struct {
	store.LogReader // nil: methods that memoryLog does not define panic
	hints           notify.Local
	silent          bool // sends no hints

	mu         sync.Mutex
	records    []perdure.Record
	head       store.Head
	blocks     map[int64]*store.BlockContent
	entries    map[uuid.UUID]*perdure.Entry
	history    uint32 // another number for each history of the log
	nonceReads int
	reads      int
	heads      int
	rounds     int // number of queries that read the heads of many logs
	// eventsAtOnce is the maximum number of events that one read returns.
	eventsAtOnce int
	// entryReads counts the reads of entries. One read returns at most entriesAtOnce entries; if
	// that is 0, all.
	entryReads, entriesAtOnce int
	err                       error
}

func newMemoryLog() *memoryLog {
	return &memoryLog{
		head:   store.Head{Epoch: 99},
		blocks: map[int64]*store.BlockContent{}, entries: map[uuid.UUID]*perdure.Entry{}, eventsAtOnce: 3,
	}
}

// lossyHints is a Notifier whose hints may be lost: notify.Sure returns false for it.
type lossyHints struct{ notify.Notifier }

func (b *memoryLog) log() *eventlog.Log { return eventlog.New(b, storeEpoch, lossyHints{&b.hints}) }

// cursor returns the cursor of a reader that has the record at pos, in the current history.
func (b *memoryLog) cursor(pos int64) string {
	nonces, head, _ := b.Nonces(context.Background(), execution, pos)
	return perdure.Cursor{Epoch: perdure.EpochOf(head.Epoch, storeEpoch), Pos: pos, Nonce: nonces[pos]}.String()
}

// Nonces returns, by position, the nonces of the records at the given positions. It finds the
// records that the log still has, and the one directly before the oldest of them.
func (b *memoryLog) Nonces(_ context.Context, _ uuid.UUID, positions ...int64) (map[int64]uint32, store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nonceReads++
	nonces, pruned := map[int64]uint32{}, int64(0)
	if len(b.records) > 0 {
		pruned = b.records[0].Pos - 1
	}
	for _, pos := range positions {
		switch {
		case pos == 0 && pruned == 0:
			nonces[0] = 0
		case pos == pruned:
			nonces[pos] = b.nonceOf(pos)
		}
		for _, r := range b.records {
			if r.Pos == pos {
				nonces[pos] = r.Nonce
			}
		}
	}
	return nonces, b.head, b.err
}

// nonceOf returns the nonce of the record at pos in the current history of the log.
func (b *memoryLog) nonceOf(pos int64) uint32 { return uint32(pos)<<8 + 1 + b.history }

var noon = perdure.At(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))

// event appends an event and returns its seq.
func (b *memoryLog) event(t perdure.EventType, fields string) int64 {
	b.mu.Lock()
	b.head.LastSeq++
	b.put(perdure.Record{Seq: b.head.LastSeq, Type: t, Fields: json.RawMessage(fields)})
	seq := b.head.LastSeq
	b.mu.Unlock()
	b.hint()
	return seq
}

// chunk appends text to the block with the seq. If seq is 0, it begins a new block. It returns the
// block's seq.
func (b *memoryLog) chunk(seq int64, text string) int64 {
	b.mu.Lock()
	if seq == 0 {
		b.head.LastSeq++
		seq = b.head.LastSeq
		b.blocks[seq] = &store.BlockContent{Block: store.Block{
			Seq: seq, Type: perdure.EventToken, CreatedAt: noon, Open: true, FirstPos: b.head.LastPos + 1,
		}}
	}
	held := b.blocks[seq]
	b.put(perdure.Record{Seq: seq, Type: held.Type, Chunk: &perdure.Chunk{Offset: int64(len(held.Content)), Text: text}})
	held.Content += text
	b.mu.Unlock()
	b.hint()
	return seq
}

func (b *memoryLog) closeBlock(seq int64, reason perdure.BlockReason) {
	b.mu.Lock()
	if reason == perdure.BlockSuperseded {
		for i, r := range b.records {
			if r.Chunk != nil && r.Seq == seq {
				b.records[i].Chunk = &perdure.Chunk{Offset: r.Chunk.Offset}
			}
		}
	}
	length := len(b.blocks[seq].Content)
	delete(b.blocks, seq)
	b.mu.Unlock()
	b.event(perdure.EventBlockClosed, fmt.Sprintf(`{"blockSeq":%d,"length":%d,"reason":"%s"}`, seq, length, reason))
}

// put appends a record at the next pos. The caller must hold b.mu.
func (b *memoryLog) put(r perdure.Record) {
	b.head.LastPos++
	b.head.Nonce = b.nonceOf(b.head.LastPos)
	r.Pos, r.Nonce, r.CreatedAt = b.head.LastPos, b.head.Nonce, noon
	b.records = append(b.records, r)
}

func (b *memoryLog) hint() {
	if !b.silent {
		b.hints.Publish(notify.Log(execution))
	}
}

func (b *memoryLog) Log(ctx context.Context, _ uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	if b.err != nil {
		return nil, store.Head{}, b.err
	}
	var page []perdure.Record
	for _, r := range b.records {
		if r.Pos > after && len(page) < limit {
			page = append(page, r)
		}
	}
	return page, b.head, ctx.Err()
}

// fail makes every read of the store fail with err. If err is nil, reads succeed again.
func (b *memoryLog) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *memoryLog) LogHead(context.Context, uuid.UUID) (store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heads++
	return b.head, b.err
}

func (b *memoryLog) LogHeads(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rounds++
	heads := map[uuid.UUID]store.Head{}
	for _, id := range ids {
		heads[id] = b.head
	}
	return heads, b.err
}

func (b *memoryLog) OpenBlocks(context.Context, uuid.UUID) ([]store.BlockContent, store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []store.BlockContent
	for _, block := range b.blocks {
		open = append(open, *block)
	}
	return open, b.head, b.err
}

// blocksIn assembles the blocks of the records. The caller must hold b.mu.
func (b *memoryLog) blocksIn() map[int64]*store.BlockContent {
	whole := map[int64]*store.BlockContent{}
	for _, r := range b.records {
		if r.Chunk == nil {
			continue
		}
		if whole[r.Seq] == nil {
			whole[r.Seq] = &store.BlockContent{Block: store.Block{Seq: r.Seq, Type: r.Type, CreatedAt: noon, FirstPos: r.Pos}, FirstNonce: r.Nonce}
			_, whole[r.Seq].Open = b.blocks[r.Seq]
		}
		whole[r.Seq].Content += r.Chunk.Text
		whole[r.Seq].Length = r.Chunk.Offset + int64(len(r.Chunk.Text)) + r.Chunk.Length
		if r.Chunk.Length > 0 {
			whole[r.Seq].Pieces = append(whole[r.Seq].Pieces, store.Piece{Pos: r.Pos, Length: r.Chunk.Length})
		}
	}
	return whole
}

func (b *memoryLog) Events(_ context.Context, _ uuid.UUID, after, upTo int64) ([]store.Event, store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	blocks := b.blocksIn()
	var found []store.Event
	for seq := after + 1; seq <= min(upTo, b.head.LastSeq) && len(found) < b.eventsAtOnce; seq++ {
		if block := blocks[seq]; block != nil {
			found = append(found, store.Event{Seq: seq, Block: block})
			continue
		}
		for i, r := range b.records {
			if r.Seq == seq {
				found = append(found, store.Event{Seq: seq, Record: &b.records[i]})
			}
		}
	}
	return found, b.head, b.err
}

func (b *memoryLog) BlocksAcross(_ context.Context, _ uuid.UUID, n int64) ([]store.BlockContent, int64, store.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed, pos := map[int64]int64{}, b.head.LastPos
	for _, r := range slices.Backward(b.records) {
		var fields struct {
			BlockSeq int64 `json:"blockSeq"`
		}
		if r.Seq == n+1 {
			pos = r.Pos - 1
		}
		if r.Type == perdure.EventBlockClosed && json.Unmarshal(r.Fields, &fields) == nil {
			closed[fields.BlockSeq] = r.Seq
		}
	}
	var across []store.BlockContent
	for seq, block := range b.blocksIn() {
		if seq <= n && (block.Open || closed[seq] > n) {
			across = append(across, *block)
		}
	}
	return across, pos, b.head, b.err
}

func (b *memoryLog) EntriesOf(_ context.Context, _ uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entryReads++
	if b.entriesAtOnce > 0 {
		ids = ids[:min(len(ids), b.entriesAtOnce)]
	}
	var found []perdure.Entry
	for _, id := range ids {
		if b.entries[id] == nil {
			return nil, perdure.Errorf(perdure.NotFound, "there is no entry %s", id)
		}
		found = append(found, *b.entries[id])
	}
	return found, nil
}

// chat fills the log with a small run: two blocks that are streamed at the same time, one
// superseded block, events between them, and the end.
func (b *memoryLog) chat() {
	b.event(perdure.EventCreated, `{"kind":"react-agent"}`)
	b.event(perdure.EventTaskScheduled, `{"kind":"llm-request"}`)
	first := b.chunk(0, "Hel")
	second := b.chunk(0, "one ")
	b.chunk(first, "lo ")
	b.event(perdure.EventSignal, `{"signalName":"userMessage"}`)
	lost := b.chunk(0, "for")
	b.chunk(second, "two")
	b.chunk(lost, "gotten")
	b.closeBlock(lost, perdure.BlockSuperseded)
	b.closeBlock(second, perdure.BlockDone)
	b.chunk(first, "wörld")
	b.closeBlock(first, perdure.BlockDone)
	b.event(perdure.EventCompleted, `{"status":"COMPLETED"}`)
}

// all reads items until the log ends.
func all(t *testing.T, l *eventlog.Log, from eventlog.From) []eventlog.Item {
	t.Helper()
	var items []eventlog.Item
	for item, err := range l.Tail(t.Context(), execution, from) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Event != "" {
			items = append(items, item)
		}
	}
	if len(items) == 0 || items[len(items)-1].Event != eventlog.End {
		t.Fatalf("the log gave %d items and no end", len(items))
	}
	return items
}

// lines returns items as a client receives them, one per line.
func lines(items []eventlog.Item) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%d %s %s\n", i.Cursor.Pos, i.Event, i.Data())
	}
	return b.String()
}
