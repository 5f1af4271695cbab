package storetest

import (
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

var logTests = map[string]func(*fixture){
	"every field of an event comes back":               eventFields,
	"every field of a chunk comes back":                chunkFields,
	"every field of a block comes back":                blockFields,
	"a log reads the same before and after compaction": logProperty,
	"a page of a log is bounded in bytes":              logBytes,
	"a source's number spent on an event":              eventBlocks,
	"a log of no execution is not found":               noLog,
}

func noLog(f *fixture) {
	_, err := f.s.LogHead(f.ctx, uuid.New())
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.Log(f.ctx, uuid.New(), 0, 10)
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.OpenBlocks(f.ctx, uuid.New())
	f.wantCode(err, perdure.NotFound)
}

func eventFields(f *fixture) {
	id := f.start()
	task := uuid.New()
	want := perdure.Record{
		Pos: 2, Seq: 2, Type: perdure.EventTaskStarted, CreatedAt: milestone(5),
		Place:  perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"},
		TaskID: &task, Attempt: 3, Fields: json.RawMessage(`{"b": 1, "a":"é"}`),
	}
	f.change(id, func(s *store.State) *store.Changes {
		l := logOf(s.Head)
		*l.event(s, want.Type) = want
		l.event(s, perdure.EventError)
		return &store.Changes{Head: &l.head, Records: l.records}
	})
	got, head, err := f.s.Log(f.ctx, id, 1, 1)
	f.must(err)
	f.equal("the event", got, []perdure.Record{want})
	f.equal("the head", head, store.Head{LastSeq: 3, LastPos: 3, Epoch: 7})
	again, err := f.s.LogHead(f.ctx, id)
	f.must(err)
	f.equal("the head alone", again, head)
}

// blockLog writes blocks as the rules do, and remembers what it wrote.
type blockLog struct {
	*logWriter
	blocks map[perdure.BlockKey]*store.Block
	put    []perdure.BlockKey
}

func (l *blockLog) chunk(now perdure.Time, key perdure.BlockKey, t perdure.EventType, text, call string) {
	b := l.blocks[key]
	l.head.LastPos++
	if b == nil {
		l.head.LastSeq++
		b = &store.Block{
			Key: key, Seq: l.head.LastSeq, Type: t, Place: perdure.Place{ResponseID: "r", ToolCallID: fmt.Sprint(key.Block)},
			CreatedAt: now, Open: true, FirstPos: l.head.LastPos,
		}
		if t == perdure.EventTerminal {
			b.Stream = "stderr"
		}
		l.blocks[key] = b
	}
	r := perdure.Record{
		Pos: l.head.LastPos, Seq: b.Seq, Type: b.Type, CreatedAt: now, Place: b.Place,
		Chunk: &perdure.Chunk{Offset: b.Length, Text: text, Stream: b.Stream, ToolCallID: call},
	}
	if key.TaskID != uuid.Nil {
		r.TaskID, r.Attempt = &key.TaskID, int(key.Attempt)
	}
	l.records, l.keys = append(l.records, r), append(l.keys, key)
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
	b.Open, b.Reason = false, reason
	h := sha256.New()
	must(h.(encoding.BinaryUnmarshaler).UnmarshalBinary(b.Digest))
	r := l.event(s, perdure.EventBlockClosed)
	r.Fields, _ = json.Marshal(map[string]any{"blockSeq": b.Seq, "length": b.Length, "reason": reason, "sha256": perdure.Hash(h.Sum(nil))})
	l.touch(key)
}

func (l *blockLog) changes() *store.Changes {
	ch := &store.Changes{Head: &l.head, Records: l.records, ChunkKeys: l.keys}
	for _, key := range l.put {
		ch.Blocks = append(ch.Blocks, *l.blocks[key])
	}
	return ch
}

func chunkFields(f *fixture) {
	id := f.start()
	task := perdure.BlockKey{TaskID: uuid.New(), Attempt: 2, Block: 1}
	own := perdure.BlockKey{Attempt: 4, Block: 0}
	args := perdure.BlockKey{TaskID: task.TaskID, Attempt: 2, Block: 3}
	var want []perdure.Record
	blocks := map[perdure.BlockKey]*store.Block{}
	write := func(step func(s *store.State, l *blockLog)) {
		f.change(id, func(s *store.State) *store.Changes {
			l := &blockLog{logWriter: logOf(s.Head), blocks: blocks}
			step(s, l)
			want = append(want, l.records...)
			return l.changes()
		})
	}
	check := func(when string) {
		got, _, err := f.s.Log(f.ctx, id, 1, 100)
		f.must(err)
		f.equal("the log "+when, got, want)
	}
	write(func(s *store.State, l *blockLog) {
		l.chunk(milestone(1), task, perdure.EventTerminal, "one\x00", "")
		l.chunk(milestone(9), own, perdure.EventToken, "é", "")
		l.chunk(milestone(2), args, perdure.EventData, `{"`, "call-1")
	})
	write(func(s *store.State, l *blockLog) {
		l.chunk(milestone(3), args, perdure.EventData, `a"`, "call-1")
		l.chunk(milestone(2), task, perdure.EventTerminal, "two", "")
	})
	check("while the blocks are open")
	write(func(s *store.State, l *blockLog) {
		l.close(s, task, perdure.BlockTruncated)
		l.chunk(milestone(3), args, perdure.EventData, `}`, "call-1")
		l.close(s, args, perdure.BlockDone)
		l.close(s, own, perdure.BlockDone)
	})
	check("after the blocks closed")
}

func blockFields(f *fixture) {
	id := f.start()
	task, other := uuid.New(), uuid.New()
	blocks := []store.Block{
		{Key: perdure.BlockKey{TaskID: task, Attempt: 1, Block: 0}, Open: true, Stream: "stdout", Type: perdure.EventTerminal},
		{Key: perdure.BlockKey{TaskID: other, Attempt: 1, Block: 0}, Open: true, Type: perdure.EventToken},
		{Key: perdure.BlockKey{Attempt: 9, Block: 2}, Open: true, Type: perdure.EventThinking},
	}
	f.change(id, func(s *store.State) *store.Changes {
		l := logOf(s.Head)
		for i := range blocks {
			b := &blocks[i]
			l.head.LastSeq++
			l.head.LastPos++
			b.Seq, b.FirstPos, b.LastPos, b.Length, b.Digest, b.CreatedAt = l.head.LastSeq, l.head.LastPos, l.head.LastPos, 1, []byte{1, 2}, milestone(int64(i))
			b.Place = perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"}
			l.records = append(l.records, perdure.Record{Pos: b.LastPos, Seq: b.Seq, Chunk: &perdure.Chunk{Text: "x"}})
			l.keys = append(l.keys, b.Key)
		}
		return &store.Changes{Head: &l.head, Records: l.records, ChunkKeys: l.keys, Blocks: blocks}
	})
	all := map[perdure.BlockKey]*store.Block{}
	for i := range blocks {
		all[blocks[i].Key] = &blocks[i]
	}
	only := func(i int) map[perdure.BlockKey]*store.Block {
		return map[perdure.BlockKey]*store.Block{blocks[i].Key: &blocks[i]}
	}
	f.equal("all open blocks", f.look(id, store.Needs{OpenBlocks: true}).Blocks, all)
	f.equal("a task's open blocks", f.look(id, store.Needs{TaskBlocks: []uuid.UUID{task}}).Blocks, only(0))
	f.equal("a block by key", f.look(id, store.Needs{Blocks: []perdure.BlockKey{blocks[2].Key, {Attempt: 8}}}).Blocks, only(2))
	open, head, err := f.s.OpenBlocks(f.ctx, id)
	f.must(err)
	f.equal("the head", head.LastPos, int64(4))
	for i, b := range open {
		f.equal("an open block", b, store.BlockContent{Block: blocks[i], Content: "x"})
	}
	f.equal("how many are open", len(open), 3)
}

func eventBlocks(f *fixture) {
	id := f.start()
	spent := store.Block{Key: perdure.BlockKey{Attempt: 1, Block: 0}, Event: true, CreatedAt: milestone(1)}
	second := store.Block{Key: perdure.BlockKey{Attempt: 1, Block: 1}, Event: true, CreatedAt: milestone(1)}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Blocks: []store.Block{spent, second}} })
	f.equal("the numbers", f.look(id, store.Needs{Blocks: []perdure.BlockKey{spent.Key, second.Key}}).Blocks,
		map[perdure.BlockKey]*store.Block{spent.Key: &spent, second.Key: &second})
}

// logProperty runs random commits of events and chunks against a list of what
// was written: whatever is open, closed or superseded, every page of the log is
// that list, but for the chunks that were superseded.
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

func (m *logModel) commit(t *rapid.T) {
	steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(t, "steps")
	needs := store.Needs{Blocks: m.open()}
	m.f.do(store.Command{Execution: m.id, Needs: func(*perdure.Execution) store.Needs { return needs }, Decide: func(s *store.State) (*store.Changes, error) {
		l := &blockLog{logWriter: logOf(s.Head), blocks: m.blocks}
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
	m.want = slices.DeleteFunc(m.want, func(r perdure.Record) bool { return r.Chunk != nil && gone[r.Seq] })
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
	content := map[int64]string{}
	for _, r := range m.want {
		if r.Chunk != nil {
			content[r.Seq] += r.Chunk.Text
		}
	}
	open, _, err := m.f.s.OpenBlocks(m.f.ctx, m.id)
	m.f.must(err)
	m.f.equal("how many blocks are open", len(open), len(m.open()))
	for _, b := range open {
		m.f.equal("an open block", b, store.BlockContent{Block: *m.blocks[b.Key], Content: content[b.Seq]})
	}
}

func logBytes(f *fixture) {
	id := f.start()
	key := perdure.BlockKey{Attempt: 1}
	blocks := map[perdure.BlockKey]*store.Block{}
	step := func(n int, closing bool) {
		f.do(store.Command{Execution: id, Needs: func(*perdure.Execution) store.Needs { return store.Needs{OpenBlocks: true} }, Decide: func(s *store.State) (*store.Changes, error) {
			l := &blockLog{logWriter: logOf(s.Head), blocks: blocks}
			for range n {
				l.event(s, perdure.EventError).Fields = json.RawMessage(`"` + strings.Repeat("e", 200<<10) + `"`)
				l.chunk(s.Now, key, perdure.EventToken, strings.Repeat("c", 200<<10), "")
			}
			if closing {
				l.close(s, key, perdure.BlockDone)
			}
			return l.changes(), nil
		}})
	}
	check := func() {
		count := 0
		for after := int64(0); ; {
			page, head, err := f.s.Log(f.ctx, id, after, 1000)
			f.must(err)
			bytes := 0
			for i, r := range page {
				if r.Pos != after+int64(i)+1 {
					f.Fatalf("record %d after %d has pos %d", i, after, r.Pos)
				}
				if r.Chunk != nil {
					bytes += len(r.Chunk.Text)
				}
				bytes += len(r.Fields)
			}
			if bytes > 3<<19 {
				f.Errorf("a page holds %d bytes", bytes)
			}
			count += len(page)
			if len(page) == 0 {
				f.equal("how many records", int64(count), head.LastPos)
				return
			}
			after += int64(len(page))
		}
	}
	step(10, false)
	check()
	step(1, true)
	check()
}
