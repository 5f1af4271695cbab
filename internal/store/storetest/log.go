package storetest

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var logTests = map[string]func(*fixture){
	"every field of an event comes back":               eventFields,
	"every field of a chunk comes back":                chunkFields,
	"every field of a block comes back":                blockFields,
	"a log reads the same before and after compaction": logProperty,
	"a page of a log is bounded in bytes":              logBytes,
	"a source's number spent on an event":              eventBlocks,
	"a log of no execution is not found":               noLog,
	"many heads come with one query":                   manyHeads,
}

func noLog(f *fixture) {
	_, err := f.s.LogHead(f.ctx, uuid.New())
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.Log(f.ctx, uuid.New(), 0, 10)
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.OpenBlocks(f.ctx, uuid.New())
	f.wantCode(err, perdure.NotFound)
}

func manyHeads(f *fixture) {
	want := map[uuid.UUID]store.Head{}
	ids := []uuid.UUID{uuid.New()} // this id is unknown to the store
	for n := range 300 {
		id := f.start()
		ids = append(ids, id)
		if n%100 == 0 {
			f.change(id, func(s *store.State) *store.Changes {
				l := logOf(s)
				l.event(s, perdure.EventError)
				return &store.Changes{Head: &l.head, Records: l.records}
			})
		}
		head, err := f.s.LogHead(f.ctx, id)
		f.must(err)
		want[id] = head
	}
	got, err := f.s.LogHeads(f.ctx, ids)
	f.must(err)
	f.equal("the heads", got, want)
	none, err := f.s.LogHeads(f.ctx, nil)
	f.must(err)
	f.equal("the heads of none", none, map[uuid.UUID]store.Head{})
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
		l := logOf(s)
		want.Nonce = s.Nonce
		*l.event(s, want.Type) = want
		l.event(s, perdure.EventError)
		return &store.Changes{Head: &l.head, Records: l.records}
	})
	got, head, err := f.s.Log(f.ctx, id, 1, 1)
	f.must(err)
	f.equal("the event", got, []perdure.Record{want})
	f.equal("the head", head, store.Head{LastSeq: 3, LastPos: 3, Epoch: 7, Nonce: want.Nonce})
	again, err := f.s.LogHead(f.ctx, id)
	f.must(err)
	f.equal("the head alone", again, head)
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
			l := &blockLog{logWriter: logOf(s), blocks: blocks}
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
		l := logOf(s)
		for i := range blocks {
			b := &blocks[i]
			l.head.LastSeq++
			l.place(perdure.Record{Seq: l.head.LastSeq, Chunk: &perdure.Chunk{Text: "x"}})
			b.Seq, b.FirstPos, b.LastPos, b.Length, b.Digest, b.CreatedAt = l.head.LastSeq, l.head.LastPos, l.head.LastPos, 1, []byte{1, 2}, milestone(int64(i))
			b.Place = perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m", ToolCallID: "c"}
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
		f.equal("an open block", b, store.BlockContent{Block: blocks[i], FirstNonce: head.Nonce, Content: "x"})
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

func logBytes(f *fixture) {
	id := f.start()
	key := perdure.BlockKey{Attempt: 1}
	blocks := map[perdure.BlockKey]*store.Block{}
	step := func(n int, closing bool) {
		f.do(store.Command{Execution: id, Needs: func(*perdure.Execution) store.Needs { return store.Needs{OpenBlocks: true} }, Decide: func(s *store.State) (*store.Changes, error) {
			l := &blockLog{logWriter: logOf(s), blocks: blocks}
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
