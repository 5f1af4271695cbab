package storetest

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"pgregory.net/rapid"
)

// blockLog writes blocks as the engine does, and keeps a list of all written records.
type blockLog struct {
	*logWriter
	blocks map[perdure.BlockKey]*store.Block
	put    []perdure.BlockKey
}

func (l *blockLog) chunk(now perdure.Time, key perdure.BlockKey, t perdure.EventType, text, call string) {
	b := l.blocks[key]
	if b == nil {
		l.head.LastSeq++
		b = &store.Block{
			Key: key, Seq: l.head.LastSeq, Type: t, Place: perdure.Place{ResponseID: "r", ToolCallID: fmt.Sprint(key.Block)},
			CreatedAt: now, Open: true, FirstPos: l.head.LastPos + 1,
		}
		if t == perdure.EventTerminal {
			b.Stream = "stderr"
		}
		l.blocks[key] = b
	}
	r := perdure.Record{
		Seq: b.Seq, Type: b.Type, CreatedAt: now, Place: b.Place,
		Chunk: &perdure.Chunk{Offset: b.Length, Text: text, Stream: b.Stream, ToolCallID: call},
	}
	if key.TaskID != uuid.Nil {
		r.TaskID, r.Attempt = &key.TaskID, int(key.Attempt)
	}
	l.place(r)
	l.keys = append(l.keys, key)
	h := sha256.New()
	if b.Digest != nil {
		must(h.(encoding.BinaryUnmarshaler).UnmarshalBinary(b.Digest))
	}
	h.Write([]byte(text))
	b.Digest, _ = h.(encoding.BinaryMarshaler).MarshalBinary()
	b.Length += int64(len(text))
	b.LastPos = l.head.LastPos
	l.touch(key)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (l *blockLog) touch(key perdure.BlockKey) {
	if !slices.Contains(l.put, key) {
		l.put = append(l.put, key)
	}
}

func (l *blockLog) close(s *store.State, key perdure.BlockKey, reason perdure.BlockReason) {
	b := l.blocks[key]
	if b.Open {
		h := sha256.New()
		must(h.(encoding.BinaryUnmarshaler).UnmarshalBinary(b.Digest))
		b.Open, b.Digest, b.SHA256 = false, nil, perdure.Hash(h.Sum(nil))
	}
	b.Reason = reason
	r := l.event(s, perdure.EventBlockClosed)
	r.Fields, _ = json.Marshal(map[string]any{"blockSeq": b.Seq, "length": b.Length, "reason": reason, "sha256": b.SHA256})
	l.touch(key)
}

func (l *blockLog) changes() *store.Changes {
	ch := &store.Changes{Head: &l.head, Records: l.records, ChunkKeys: l.keys}
	for _, key := range l.put {
		ch.Blocks = append(ch.Blocks, *l.blocks[key])
	}
	return ch
}

// logProperty writes random commits of events and chunks, and compares the log with a list of the
// written records. Every page of the log must equal that list, whether blocks are open, closed or
// superseded. Chunks of a superseded block must keep their offsets but have no text.
func logProperty(f *fixture) {
	rapid.Check(f, func(t *rapid.T) {
		id := f.start()
		first, _, err := f.s.Log(f.ctx, id, 0, 10)
		f.must(err)
		m := &logModel{f: f, id: id, want: first, blocks: map[perdure.BlockKey]*store.Block{}, tasks: []uuid.UUID{{}, uuid.New(), uuid.New()}}
		for range rapid.IntRange(1, 6).Draw(t, "commits") {
			m.commit(t)
			m.check(t)
		}
	})
}

type logModel struct {
	f      *fixture
	id     uuid.UUID
	want   []perdure.Record
	blocks map[perdure.BlockKey]*store.Block
	tasks  []uuid.UUID
	next   int64
}

func (m *logModel) open() []perdure.BlockKey {
	var keys []perdure.BlockKey
	for key, b := range m.blocks {
		if b.Open {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b perdure.BlockKey) int { return int(a.Block - b.Block) })
	return keys
}

// done returns the keys of the blocks that are closed and not superseded.
func (m *logModel) done() []perdure.BlockKey {
	var keys []perdure.BlockKey
	for key, b := range m.blocks {
		if !b.Open && b.Reason != perdure.BlockSuperseded {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b perdure.BlockKey) int { return int(a.Block - b.Block) })
	return keys
}

func (m *logModel) commit(t *rapid.T) {
	steps := rapid.SliceOfN(rapid.IntRange(0, 10), 1, 40).Draw(t, "steps")
	needs := store.Needs{Blocks: slices.Concat(m.open(), m.done())}
	m.f.do(store.Command{Execution: m.id, Needs: func(*perdure.Execution) store.Needs { return needs }, Decide: func(s *store.State) (*store.Changes, error) {
		l := &blockLog{logWriter: logOf(s), blocks: m.blocks}
		for _, step := range steps {
			m.step(t, s, l, step)
		}
		m.want = append(m.want, l.records...)
		m.forgetSuperseded()
		return l.changes(), nil
	}})
}

func (m *logModel) step(t *rapid.T, s *store.State, l *blockLog, step int) {
	open := m.open()
	switch {
	case step == 0:
		l.event(s, perdure.EventError).Fields = json.RawMessage(fmt.Sprintf(`{"n":%d}`, l.head.LastSeq))
	case step == 1 && len(open) > 0:
		reasons := []perdure.BlockReason{perdure.BlockDone, perdure.BlockSuperseded, perdure.BlockTruncated}
		l.close(s, rapid.SampledFrom(open).Draw(t, "closed"), rapid.SampledFrom(reasons).Draw(t, "reason"))
	case step == 10 && len(m.done()) > 0:
		l.close(s, rapid.SampledFrom(m.done()).Draw(t, "superseded"), perdure.BlockSuperseded)
	case step == 2 || len(open) == 0:
		m.next++
		key := perdure.BlockKey{TaskID: rapid.SampledFrom(m.tasks).Draw(t, "task"), Attempt: 1, Block: m.next}
		l.chunk(s.Now, key, perdure.EventToken, "begin", "")
	default:
		text := strings.Repeat("x", rapid.IntRange(0, 20).Draw(t, "length")) + "é"
		l.chunk(s.Now, rapid.SampledFrom(open).Draw(t, "block"), perdure.EventToken, text, "")
	}
}

func (m *logModel) forgetSuperseded() {
	gone := map[int64]bool{}
	for _, b := range m.blocks {
		if b.Reason == perdure.BlockSuperseded {
			gone[b.Seq] = true
		}
	}
	for i, r := range m.want {
		if r.Chunk != nil && gone[r.Seq] {
			empty := *r.Chunk
			empty.Text = ""
			m.want[i].Chunk = &empty
		}
	}
}

func (m *logModel) check(t *rapid.T) {
	limit := rapid.IntRange(3, 60).Draw(t, "limit")
	var after int64
	var got []perdure.Record
	for {
		page, head, err := m.f.s.Log(m.f.ctx, m.id, after, limit)
		m.f.must(err)
		if len(page) > limit {
			t.Fatalf("a page of %d records, at most %d were asked for", len(page), limit)
		}
		if len(page) == 0 {
			m.f.equal("the head", head.LastPos, m.last())
			break
		}
		got = append(got, page...)
		after = page[len(page)-1].Pos
	}
	m.f.equal("the log", got, m.want)
	if m.f.Failed() {
		t.FailNow()
	}
	m.checkOpen()
	m.checkEvents(t)
	m.checkNonces()
}

// checkEvents compares three reads with results computed from the list of written records: the
// events of a random range of seqs, the newest seq of random types, and the blocks that are open at
// a random seq.
func (m *logModel) checkEvents(t *rapid.T) {
	var lastSeq int64
	for _, r := range m.want {
		lastSeq = max(lastSeq, r.Seq)
	}
	after := rapid.Int64Range(0, lastSeq).Draw(t, "after")
	upTo := after + rapid.Int64Range(0, lastSeq+2).Draw(t, "range")
	got, head, err := m.f.s.Events(m.f.ctx, m.id, after, upTo)
	m.f.must(err)
	m.f.equal("the head of events", head.LastSeq, lastSeq)
	m.f.equal("events by seq", got, m.events(after, upTo))

	pos := rapid.Int64Range(0, m.last()).Draw(t, "up to")
	types := rapid.SliceOfDistinct(rapid.SampledFrom([]perdure.EventType{
		perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, perdure.EventBlockClosed, perdure.EventSignal, perdure.EventCreated,
	}), rapid.ID[perdure.EventType]).Draw(t, "types")
	newest, err := m.f.s.LastSeqOf(m.f.ctx, m.id, pos, types)
	m.f.must(err)
	m.f.equal("the newest seq of some types", newest, m.newest(pos, types))

	n := rapid.Int64Range(0, lastSeq).Draw(t, "across")
	blocks, before, head, err := m.f.s.BlocksAcross(m.f.ctx, m.id, n)
	m.f.must(err)
	m.f.equal("the head of blocks", head.LastPos, m.last())
	want, wantPos := m.across(n)
	m.f.equal("blocks across a seq", blocks, want)
	m.f.equal("the position before the next event", before, wantPos)
	if m.f.Failed() {
		t.FailNow()
	}
}

// newest returns what LastSeqOf must return, computed from the list of records.
func (m *logModel) newest(pos int64, types []perdure.EventType) (seq int64) {
	for _, r := range m.want {
		if r.Pos <= pos && slices.Contains(types, r.Type) {
			seq = max(seq, r.Seq)
		}
	}
	return seq
}

// events returns what Events must return, computed from the list of records.
func (m *logModel) events(after, upTo int64) []store.Event {
	bySeq := map[int64]*store.Event{}
	var found []store.Event
	for i, r := range m.want {
		if r.Seq <= after || r.Seq > upTo {
			continue
		}
		if r.Chunk == nil {
			found = append(found, store.Event{Seq: r.Seq, Record: &m.want[i]})
			continue
		}
		if bySeq[r.Seq] == nil {
			bySeq[r.Seq] = &store.Event{Seq: r.Seq, Block: &store.BlockContent{Block: *m.block(r.Seq), FirstNonce: r.Nonce}}
		}
		bySeq[r.Seq].Block.Content += r.Chunk.Text
	}
	for _, e := range bySeq {
		found = append(found, *e)
	}
	slices.SortFunc(found, func(a, b store.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return found
}

func (m *logModel) block(seq int64) *store.Block {
	for _, b := range m.blocks {
		if b.Seq == seq {
			return b
		}
	}
	return nil
}

// across returns what BlocksAcross must return, computed from the list of records.
func (m *logModel) across(n int64) ([]store.BlockContent, int64) {
	pos, closedBy := m.last(), map[int64]int64{}
	for _, r := range m.want {
		if r.Seq == n+1 {
			pos = min(pos, r.Pos-1)
		}
		if r.Type == perdure.EventBlockClosed {
			var fields struct {
				BlockSeq int64 `json:"blockSeq"`
			}
			must(json.Unmarshal(r.Fields, &fields))
			closedBy[fields.BlockSeq] = r.Seq
		}
	}
	var blocks []store.BlockContent
	for _, e := range m.events(0, n) {
		if e.Block != nil && e.Block.Reason != perdure.BlockSuperseded && (closedBy[e.Seq] == 0 || closedBy[e.Seq] > n) {
			blocks = append(blocks, *e.Block)
		}
	}
	return blocks, pos
}

func (m *logModel) last() int64 {
	var last int64
	for _, r := range m.want {
		last = max(last, r.Pos)
	}
	for _, b := range m.blocks {
		last = max(last, b.LastPos)
	}
	return last
}

func (m *logModel) checkOpen() {
	content, nonces := map[int64]string{}, map[int64]uint32{}
	for _, r := range m.want {
		if r.Chunk != nil {
			content[r.Seq] += r.Chunk.Text
		}
		if _, known := nonces[r.Seq]; !known {
			nonces[r.Seq] = r.Nonce
		}
	}
	open, _, err := m.f.s.OpenBlocks(m.f.ctx, m.id)
	m.f.must(err)
	m.f.equal("how many blocks are open", len(open), len(m.open()))
	for _, b := range open {
		m.f.equal("an open block", b, store.BlockContent{Block: *m.blocks[b.Key], FirstNonce: nonces[b.Seq], Content: content[b.Seq]})
	}
}
