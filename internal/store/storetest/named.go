package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"pgregory.net/rapid"
)

var namedTests = map[string]func(*fixture){
	"a block names the text of an entry that is the same, whichever comes first":    namedInAnyOrder,
	"a block that names an entry reads as before, record by record":                 namedProperty,
	"a block names a text of an entry that rests in a blob, up to a size":           namedInBlob,
	"a block that is like no text, or one of another execution, keeps its content":  notNamed,
	"a block that is superseded after its end loses its content, and names nothing": supersededLater,
	"blocks that name entries go with their log, and with their execution":          namedIsPruned,
}

func namedInAnyOrder(f *fixture) {
	entry := content(said("hmm, a thought", "It is \"done\".", `{"command": "ls <x>"}`, "file\n"))
	var keys []perdure.BlockKey
	for name, write := range map[string]func(a *author, blocks func(*store.State, *blockLog)) uuid.UUID{
		"the blocks first": func(a *author, blocks func(*store.State, *blockLog)) uuid.UUID {
			a.write(blocks)
			return a.write(nil, entry)[0]
		},
		"the entry first": func(a *author, blocks func(*store.State, *blockLog)) uuid.UUID {
			id := a.write(nil, entry)[0]
			a.write(blocks)
			return id
		},
		"both in one commit": func(a *author, blocks func(*store.State, *blockLog)) uuid.UUID {
			return a.write(blocks, entry)[0]
		},
	} {
		a := f.author()
		id := write(a, func(s *store.State, l *blockLog) {
			keys = []perdure.BlockKey{
				a.block(l, s, perdure.EventThinking, "hmm, ", "a thought"),
				a.block(l, s, perdure.EventToken, "It is \"", "done\"."),
				a.block(l, s, perdure.EventData, `{"command": `, `"ls <x>"}`),
				a.block(l, s, perdure.EventTerminal, "file\n"),
				a.block(l, s, perdure.EventTerminal, "fi", "le\n"), // the same text as in the block before
			}
		})
		for i, path := range []string{"0.thinking", "1.text", "2.rawArguments", "3.1.text", "3.1.text"} {
			a.wantNamed(keys[i], id, path)
		}
		if f.Failed() {
			f.Fatalf("with %s", name)
		}
		a.write(nil, content(perdure.Content{Parts: []perdure.Part{perdure.Text("later")}}))
		var late perdure.BlockKey
		a.write(func(s *store.State, l *blockLog) { late = a.block(l, s, perdure.EventToken, "hmm", ", a thought") })
		a.wantNamed(late, id, "0.thinking")
		text := ""
		records, _ := a.read(7)
		for _, r := range records {
			if r.Chunk != nil && r.Seq == a.blocks[late].Seq {
				text += "|" + r.Chunk.Text
			}
		}
		f.equal("the late block, by its pieces", text, "|hmm|, a thought")
	}
}

// namedProperty checks blocks whose texts also occur in an entry. The store keeps such a text once,
// but all records must be read unchanged, byte for byte. The texts and the sizes of their chunks
// are random. The blocks are written before or after the entry.
func namedProperty(f *fixture) {
	rapid.Check(f, func(t *rapid.T) {
		a, silent := f.author(), f.author() // the second author gets no entry
		texts := [4]string{anyText(t), anyText(t), anyText(t), anyText(t)}
		entry := content(said(texts[0], texts[1], texts[2], texts[3]))
		if rapid.Bool().Draw(t, "escaped") {
			entry = escaped(entry)
		}
		var pieces [][]string
		for _, text := range texts {
			pieces = append(pieces, cuts(t, string([]rune(text)))) // streams replace bytes that are not UTF-8
		}
		at := rapid.IntRange(0, 4).Draw(t, "entry after")
		var id uuid.UUID
		for i := range 5 {
			if i == at {
				id = a.write(nil, entry)[0]
			}
			if i < 4 {
				for _, one := range []*author{a, silent} {
					one.write(func(s *store.State, l *blockLog) {
						s.Now, l.nonce = milestone(int64(i)), uint32(i+1)
						one.block(l, s, perdure.EventToken, pieces[i]...)
					})
				}
			}
		}
		page := rapid.IntRange(1, 40).Draw(t, "page")
		records, events := a.read(page)
		wantRecords, wantEvents := silent.read(page)
		f.equal("the records", records[1:], wantRecords[1:]) // the start times may differ
		f.equal("the events", events[1:], wantEvents[1:])
		for key, b := range a.rests() {
			if b.Entry == nil || *b.Entry != id || b.Held != 0 {
				f.Errorf("block %d names %v and holds %d bytes", key.Block, b.Entry, b.Held)
			}
		}
		if f.Failed() {
			t.FailNow()
		}
	})
}

func namedInBlob(f *fixture) {
	a := f.author()
	large, huge := strings.Repeat("né ", perdure.InlineLimit), strings.Repeat("no ", store.MostSearched/2)
	var first, second, third perdure.BlockKey
	blocks := func(s *store.State, l *blockLog) {
		first = a.block(l, s, perdure.EventToken, large[:300], large[300:])
		second = a.block(l, s, perdure.EventToken, huge)
	}
	a.write(blocks)
	before, _ := a.read(100)
	message := func(text string) json.RawMessage {
		return content(perdure.Content{Parts: []perdure.Part{perdure.Text(text)}})
	}
	id := a.write(nil, message(large), message(huge))[0]
	a.wantNamed(first, id, "0.text")
	a.wantHeld(second) // to read the text from the entry, a reader would need more than a page
	after, _ := a.read(100)
	f.equal("the log", after, before)

	// If the content of an entry was uploaded as a blob, a block can refer to a text in it as well.
	uploaded := message(large + "x")
	ref := f.upload(a.id, uploaded, perdure.BlobChunk)
	entry := perdure.Entry{ID: uuid.New(), Type: perdure.EntryLLMCall, Blob: &ref, CreatedAt: milestone(1)}
	a.write(func(s *store.State, l *blockLog) { third = a.block(l, s, perdure.EventToken, large, "x") })
	f.change(a.id, func(*store.State) *store.Changes {
		return &store.Changes{OwnBlobs: []uuid.UUID{ref.ID}, Entries: []store.Entry{{Entry: entry}}}
	})
	a.wantNamed(third, entry.ID, "0.text")
}

func notNamed(f *fixture) {
	a, other := f.author(), f.author()
	entry := content(perdure.Content{Parts: []perdure.Part{perdure.Text("hello")}, Model: "a model"})
	other.write(nil, entry)
	var keys []perdure.BlockKey
	var open perdure.BlockKey
	a.write(func(s *store.State, l *blockLog) {
		keys = append(keys, a.block(l, s, perdure.EventToken, "hello"))
	})
	a.wantHeld(keys[0]) // an entry of another execution has no effect
	a.write(func(s *store.State, l *blockLog) {
		keys = append(keys, a.block(l, s, perdure.EventToken, "hello "), a.block(l, s, perdure.EventToken, "Hello"), a.block(l, s, perdure.EventToken, "a model"))
		a.next++
		open = perdure.BlockKey{Attempt: 1, Block: a.next}
		l.chunk(s.Now, open, perdure.EventToken, "hello", "")
	})
	id := a.write(nil, entry)[0]
	a.wantNamed(keys[0], id, "0.text")
	for _, key := range keys[1:] {
		a.wantHeld(key)
	}
	// An open block never refers to an entry, because it may grow.
	a.write(func(s *store.State, l *blockLog) {
		l.chunk(s.Now, open, perdure.EventToken, ", world", "")
		l.close(s, open, perdure.BlockDone)
	})
	a.wantHeld(open)
	// These contents are not messages, so no block refers to a text in them.
	a.write(nil, json.RawMessage(`["hello "]`), json.RawMessage(`{"parts":"hello "}`), json.RawMessage(`null`))
	a.wantHeld(keys[1])
}

func supersededLater(f *fixture) {
	a := f.author()
	var held, named perdure.BlockKey
	a.write(func(s *store.State, l *blockLog) {
		held, named = a.block(l, s, perdure.EventToken, "one", " two"), a.block(l, s, perdure.EventToken, "said")
	}, content(perdure.Content{Parts: []perdure.Part{perdure.Text("said")}}))
	a.write(func(s *store.State, l *blockLog) {
		l.close(s, held, perdure.BlockSuperseded)
		l.close(s, named, perdure.BlockSuperseded)
	})
	for _, key := range []perdure.BlockKey{held, named} {
		b := a.rests()[key]
		if b.Held != 0 || b.Entry != nil || b.Reason != perdure.BlockSuperseded || b.Cut != b.Length {
			f.Errorf("block %d rests as %+v", key.Block, b)
		}
	}
	records, _ := a.read(50)
	pieces := slices.DeleteFunc(records, func(r perdure.Record) bool { return r.Chunk == nil })
	for _, r := range pieces {
		if r.Chunk.Text != "" {
			f.Errorf("at %d there is still %q", r.Pos, r.Chunk.Text)
		}
	}
	f.equal("how many pieces", len(pieces), 3)
	f.equal("the second piece's offset", pieces[1].Chunk.Offset, int64(3))
	// A later entry with the same text does not restore a superseded block.
	a.write(nil, content(perdure.Content{Parts: []perdure.Part{perdure.Text("one two")}}))
	f.equal("what the block names", a.rests()[held].Entry, (*uuid.UUID)(nil))
	across, _, _, err := f.s.BlocksAcross(f.ctx, a.id, a.blocks[named].Seq)
	f.must(err)
	f.equal("blocks for a reader that goes on in the middle", across, []store.BlockContent(nil))
}

func namedIsPruned(f *fixture) {
	for _, whole := range []bool{false, true} {
		a := f.author()
		for i := range 30 {
			text := fmt.Sprint("said ", i)
			a.write(func(s *store.State, l *blockLog) { a.block(l, s, perdure.EventToken, text) }, content(perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}))
		}
		f.endExecution(a.id, f.s.Now())
		f.prune(a.id, store.Prune{Log: !whole, Execution: whole})
		for range 12 { // the store is checked several times during the deletion
			f.do(store.Command{Lane: store.LaneSweeps, Pick: &store.Pick{Kind: store.PickPruned, Limit: 1}, Decide: func(*store.State) (*store.Changes, error) {
				return &store.Changes{Prune: &store.Prune{Rows: 5}, Answer: true}, nil
			}})
			invariants.Check(f, f.s)
		}
		f.drop(100)
		if whole {
			f.wantGone(a.id)
			continue
		}
		entries, err := f.s.AllEntries(f.ctx, a.id, "", 100)
		f.must(err)
		f.equal("the entries that are left", len(entries.Items), 30)
		f.equal("the blocks that are left", len(a.rests()), 0)
	}
}

// eventSaysResult checks an event and an entry of one commit that contain the same text of a tool
// result. The event must be read unchanged. The entry must not change when the log is pruned.
func eventSaysResult(f *fixture) {
	for _, size := range []int{1, 40, 3000, perdure.InlineLimit, store.MostSearched / 16} {
		a := f.author()
		text, err := json.Marshal(strings.Repeat("né\n", size))
		f.must(err)
		entry := slices.Concat([]byte(`{"parts":[{"type":"toolResult","toolCallId":"c","parts":[{"type":"text","text":`), text, []byte(`}]}]}`))
		want := slices.Concat([]byte(`{"data":{"type":"tool_call_end","result":{"isError":false,"text":`), text, []byte(`},"tool_call":{"id":"c"}}}`))
		f.change(a.id, func(s *store.State) *store.Changes {
			l := logOf(s)
			r := l.event(s, perdure.EventData)
			r.Fields, r.Place.ToolCallID = want, "c"
			other := l.event(s, perdure.EventData)
			other.Fields, other.Place.ToolCallID = want, "d"
			return &store.Changes{Head: &l.head, Records: l.records, Entries: []store.Entry{{Entry: perdure.Entry{
				ID: uuid.New(), Type: perdure.EntryLLMCall, Content: entry, Answers: "c", CreatedAt: s.Now,
			}}}}
		})
		records, events := a.read(10)
		for _, r := range []perdure.Record{records[1], records[2], *events[1].Record, *events[2].Record} {
			if string(r.Fields) != string(want) {
				f.Errorf("an event of %d bytes came back as %d: %.200s", len(want), len(r.Fields), r.Fields)
			}
		}
		f.endExecution(a.id, f.s.Now())
		f.prune(a.id, store.Prune{Log: true})
		f.drop(100)
		got, err := f.s.AllEntries(f.ctx, a.id, "", 10)
		f.must(err)
		f.equal("the entry", string(got.Items[0].Content), string(entry))
	}
}
