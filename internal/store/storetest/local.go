package storetest

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var localTests = map[string]func(*fixture){
	"local executions are picked for their home alone":         picksHome,
	"withheld contents are given as references":                withheldContents,
	"a withheld blob is made once and keeps what it holds":     withheldOnce,
	"an erased blob is withheld":                               erasedBlob,
	"staged contents are seen once they are unveiled":          stagedContents,
	"a piece that leaves a hole or is late changes nothing":    stagedWrongly,
	"a withheld block keeps its places and lengths":            withheldBlock,
	"an event's withheld fields are joined in once whole":      withheldFields,
	"an entry's folded metadata comes back beside its content": foldedEntry,
	"all values of an execution's signals are erased":          allSignalsErased,
}

func picksHome(f *fixture) {
	home, other := uuid.New(), uuid.New()
	agent := func(mode perdure.PersistenceMode, home *uuid.UUID, age time.Duration) uuid.UUID {
		return f.start(func(x *perdure.Execution) {
			x.PersistenceMode, x.HomeID, x.ReadyAt = mode, home, f.ago(age)
			if home != nil {
				x.StartedAt = ptr(f.ago(age))
			}
		})
	}
	known := map[string]uuid.UUID{
		"remote": agent(perdure.Remote, nil, time.Minute), "new": agent(perdure.Local, nil, time.Hour),
		"mine": agent(perdure.Local, &home, time.Second), "another's": agent(perdure.Local, &other, 2*time.Hour),
	}
	pick := store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}}
	f.equal("picked without a home", names(known, f.picked(org, pick)), []string{"remote"})
	pick.Home = &home
	f.equal("picked for a home", names(known, f.picked(org, pick)), []string{"new", "remote", "mine"})
	pick.Limit = 1
	f.equal("the first", names(known, f.picked(org, pick)), []string{"new"})
}

// withhold stores references to contents, but not the contents themselves. It returns the
// references.
func (f *fixture) withhold(id uuid.UUID, contents ...[]byte) []perdure.BlobRef {
	f.Helper()
	var refs []perdure.BlobRef
	for _, content := range contents {
		refs = append(refs, perdure.ContentRef(id, content))
	}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Withhold: refs} })
	return refs
}

// stage stores the contents of withheld references and then makes these contents visible, as when a
// LOCAL execution becomes REMOTE.
func (f *fixture) stage(id uuid.UUID, contents ...[]byte) {
	f.Helper()
	var all []store.Staged
	for _, content := range contents {
		all = append(all, store.Staged{ID: perdure.ContentRef(id, content).ID, Content: content})
	}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Stage: all} })
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Unveil: true} })
}

func (f *fixture) local() uuid.UUID {
	f.Helper()
	return f.start(func(x *perdure.Execution) { x.PersistenceMode, x.Input = perdure.Local, nil })
}

func withheldContents(f *fixture) {
	id, content := f.local(), jsonText(50)
	ref := f.withhold(id, content)[0]
	entry := perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Blob: &ref, CreatedAt: f.s.Now()}
	task := wholeTask(id)
	task.Input, task.Result, task.InputBlob, task.ResultBlob = nil, nil, &ref, &ref
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.Leaf, s.Execution.InputBlob, s.Execution.OutputBlob, s.Execution.CheckpointSeq = &entry.ID, &ref, &ref, 1
		return &store.Changes{
			Execution: s.Execution, Entries: []store.Entry{{Entry: entry}}, Tasks: []*perdure.Task{task},
			Checkpoint: &perdure.Checkpoint{Sequence: 1, Blob: &ref, CreatedAt: s.Now},
		}
	})
	check := func(what string, got json.RawMessage, left *perdure.BlobRef, whole bool) {
		f.Helper()
		if whole {
			f.equal(what, string(got), string(content))
			f.equal(what+"'s reference", left, nil)
			return
		}
		if got != nil {
			f.Errorf("%s is given, though it is withheld", what)
		}
		f.equal(what, left, &ref)
	}
	all := func(whole bool) {
		f.Helper()
		x := f.execution(id)
		check("the input", x.Input, x.InputBlob, whole)
		check("the output", x.Output, x.OutputBlob, whole)
		e, err := f.s.Entry(f.ctx, id, entry.ID)
		f.must(err)
		check("the entry", e.Content, e.Blob, whole)
		page, err := f.s.AllEntries(f.ctx, id, "", 0)
		f.must(err)
		check("the listed entry", page.Items[0].Content, page.Items[0].Blob, whole)
		for e := range f.path(id, entry.ID, nil, 0, false) {
			check("the entry on the path", e.Content, e.Blob, whole)
		}
		c, err := f.s.Checkpoint(f.ctx, id, 0)
		f.must(err)
		check("the checkpoint", c.State, c.Blob, whole)
		t := f.task(id, task.ID)
		check("the task's input", t.Input, t.InputBlob, whole)
		check("the task's result", t.Result, t.ResultBlob, whole)
		_, err = f.s.Blob(f.ctx, id, ref.ID)
		if whole {
			f.must(err)
		} else {
			f.wantCode(err, perdure.NotFound)
		}
	}
	all(false)
	f.stage(id, content)
	all(true)
}

func withheldOnce(f *fixture) {
	id, content := f.local(), []byte(`"twice"`)
	ref := f.withhold(id, content)[0]
	want := &store.Blob{ID: ref.ID, Length: ref.Length, SHA256: ref.SHA256, Owned: true}
	row := func() *store.Blob {
		f.Helper()
		b, err := f.s.BlobRow(f.ctx, id, ref.ID)
		f.must(err)
		return b
	}
	f.equal("the row", row(), want)
	f.stage(id, content)
	want.Held = ref.Length
	f.equal("the row, whole", row(), want)
	f.withhold(id, content)
	f.equal("the row, withheld again", row(), want)
	_, err := f.s.BlobRow(f.ctx, id, uuid.New())
	f.wantCode(err, perdure.NotFound)
}

func erasedBlob(f *fixture) {
	content := []byte(`"the input"`)
	id := f.local()
	ref := perdure.ContentRef(id, content)
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.InputBlob = &ref
		return &store.Changes{
			Execution: s.Execution, BlobChunk: content,
			Blob: &store.Blob{ID: ref.ID, Length: ref.Length, Held: ref.Length, SHA256: ref.SHA256, Owned: true},
		}
	})
	f.equal("the input", string(f.execution(id).Input), string(content))
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Erase: []uuid.UUID{ref.ID}} })
	x := f.execution(id)
	f.equal("the input erased", string(x.Input), "")
	f.equal("its reference", x.InputBlob, &ref)
	f.equal("what is withheld", len(f.look(id, store.Needs{Withheld: 10}).Withheld), 1)
}

func stagedContents(f *fixture) {
	id := f.local()
	small, large := []byte(`"small"`), random(3*perdure.BlobChunk+11)
	refs := f.withhold(id, small, large)
	missing := func() int { return len(f.look(id, store.Needs{Withheld: 10}).Withheld) }
	f.equal("what is missing", missing(), 2)
	f.equal("one of them", len(f.look(id, store.Needs{Withheld: 1}).Withheld), 1)
	stage := func(all ...store.Staged) {
		f.Helper()
		f.change(id, func(*store.State) *store.Changes { return &store.Changes{Stage: all} })
	}
	half := int64(100_000)
	stage(store.Staged{ID: refs[0].ID, Content: small}, store.Staged{ID: refs[1].ID, Content: large[:half]})
	f.equal("what is missing then", f.look(id, store.Needs{Withheld: 10}).Withheld, []store.Blob{
		{ID: refs[1].ID, Length: refs[1].Length, SHA256: refs[1].SHA256, Owned: true, Staged: half},
	})
	for _, ref := range refs {
		_, err := f.s.Blob(f.ctx, id, ref.ID)
		f.wantCode(err, perdure.NotFound)
	}
	// The upload of a content that is stored in part may start again from the beginning, as after a
	// crash.
	stage(store.Staged{ID: refs[1].ID, Content: large[:10]})
	stage(store.Staged{ID: refs[1].ID, At: 10, Content: large[10:]})
	f.equal("what is missing at last", missing(), 0)
	_, err := f.s.Blob(f.ctx, id, refs[1].ID)
	f.wantCode(err, perdure.NotFound)
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Unveil: true} })
	for i, want := range [][]byte{small, large} {
		if !bytes.Equal(f.blob(id, refs[i].ID), want) {
			f.Errorf("the content %d comes back different", i)
		}
	}
}

func stagedWrongly(f *fixture) {
	id, content := f.local(), []byte("0123456789")
	ref := f.withhold(id, content)[0]
	stage := func(at int64, piece []byte) {
		f.Helper()
		f.change(id, func(*store.State) *store.Changes {
			return &store.Changes{Stage: []store.Staged{{ID: ref.ID, At: at, Content: piece}}}
		})
	}
	staged := func() int64 { return f.look(id, store.Needs{Blobs: []uuid.UUID{ref.ID}}).Blobs[ref.ID].Staged }
	stage(5, content[5:])
	f.equal("staged after a hole", staged(), int64(0))
	stage(0, append(content, 'x'))
	f.equal("staged beyond the end", staged(), int64(0))
	stage(0, content)
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Unveil: true} })
	stage(0, []byte("late"))
	f.equal("the content", string(f.blob(id, ref.ID)), string(content))
}

// withheldBlock checks the log of a block whose content is not on the server. While the block is
// open and after it was closed, the log must contain the offsets and lengths of its chunks. Once the
// blob with the content is stored, the log must also contain the text.
func withheldBlock(f *fixture) {
	id := f.local()
	key := perdure.BlockKey{Attempt: 1}
	ref := perdure.ContentRef(id, []byte("one, two"))
	var b store.Block
	put := func(reason perdure.BlockReason, lengths ...int64) {
		f.do(store.Command{Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
			l := logOf(s)
			ch := &store.Changes{}
			for _, length := range lengths {
				if b.Seq == 0 {
					l.head.LastSeq++
					b = store.Block{Key: key, Seq: l.head.LastSeq, Type: perdure.EventToken, CreatedAt: s.Now, Open: true, FirstPos: l.head.LastPos + 1}
				}
				l.place(perdure.Record{Seq: b.Seq, Type: b.Type, CreatedAt: s.Now, Chunk: &perdure.Chunk{Offset: b.Length, Length: length}})
				ch.ChunkKeys = append(ch.ChunkKeys, key)
				b.Length, b.LastPos = b.Length+length, l.head.LastPos
			}
			if reason != "" {
				b.Open, b.Reason, b.Content = false, reason, &ref
				ch.Withhold = []perdure.BlobRef{ref}
				l.event(s, perdure.EventBlockClosed).Fields, _ = json.Marshal(map[string]any{
					"blockSeq": b.Seq, "length": b.Length, "sha256": ref.SHA256, "reason": reason,
				})
			}
			ch.Head, ch.Records, ch.Blocks = &l.head, l.records, []store.Block{b}
			return ch, nil
		}})
	}
	chunks := func() []perdure.Chunk {
		f.Helper()
		records, _, err := f.s.Log(f.ctx, id, 0, 100)
		f.must(err)
		var all []perdure.Chunk
		for _, r := range records {
			if r.Chunk != nil {
				all = append(all, *r.Chunk)
			}
		}
		return all
	}
	put("", 3, 5)
	want := []perdure.Chunk{{Length: 3}, {Offset: 3, Length: 5}}
	f.equal("the chunks of the open block", chunks(), want)
	open, _, err := f.s.OpenBlocks(f.ctx, id)
	f.must(err)
	f.equal("how many blocks are open", len(open), 1)
	f.equal("its content", open[0].Content, "")
	f.equal("its pieces", open[0].Pieces, []store.Piece{{Pos: b.FirstPos, Length: 3}, {Pos: b.LastPos, Length: 5}})
	bySeq := func() store.BlockContent {
		f.Helper()
		events, _, err := f.s.Events(f.ctx, id, b.Seq-1, b.Seq)
		f.must(err)
		across, _, _, err := f.s.BlocksAcross(f.ctx, id, b.Seq)
		f.must(err)
		if len(events) != 1 || len(across) != 1 {
			f.Fatalf("%d events of one seq, %d blocks across it", len(events), len(across))
		}
		f.equal("the block by its seq", *events[0].Block, across[0])
		return across[0]
	}
	f.equal("the open block's pieces by seq", bySeq().Pieces, open[0].Pieces)
	put(perdure.BlockDone)
	f.equal("the chunks of the closed block", chunks(), want)
	f.equal("the closed block's pieces by seq", bySeq().Pieces, open[0].Pieces)
	f.stage(id, []byte("one, two"))
	f.equal("the chunks, whole", chunks(), []perdure.Chunk{{Text: "one"}, {Offset: 3, Text: ", two"}})
	whole := bySeq()
	f.equal("the block, whole", whole.Content, "one, two")
	f.equal("its pieces, whole", len(whole.Pieces), 0)
}

func withheldFields(f *fixture) {
	id, fields := f.local(), []byte(`{"what":"happened"}`)
	ref := f.withhold(id, fields)[0]
	f.change(id, func(s *store.State) *store.Changes {
		l := logOf(s)
		r := l.event(s, perdure.EventData)
		r.Fields, r.Blob = json.RawMessage(`{"content":"worker"}`), &ref
		return &store.Changes{Head: &l.head, Records: l.records}
	})
	last := func() perdure.Record {
		f.Helper()
		records, _, err := f.s.Log(f.ctx, id, 1, 1)
		f.must(err)
		return records[0]
	}
	f.equal("the fields", string(last().Fields), `{"content":"worker"}`)
	f.equal("their reference", last().Blob, &ref)
	f.stage(id, fields)
	f.equal("the fields, whole", string(last().Fields), string(fields))
	f.equal("their reference then", last().Blob, nil)
}

func foldedEntry(f *fixture) {
	want := perdure.Entry{
		ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, CreatedAt: f.s.Now(),
		Content: json.RawMessage(`{"parts": []}`), Metadata: json.RawMessage(`{"cost":1}`),
	}
	folded := want
	f.must(folded.EmbedMetadata())
	id := f.local()
	ref := f.withhold(id, folded.Content)[0]
	stored := want
	stored.Content, stored.Metadata, stored.Blob = nil, nil, &ref
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.Leaf = &stored.ID
		return &store.Changes{Execution: s.Execution, Entries: []store.Entry{{Entry: stored}}}
	})
	f.stage(id, folded.Content)
	got, err := f.s.Entry(f.ctx, id, want.ID)
	f.must(err)
	f.equal("the entry", *got, want)
	page, err := f.s.AllEntries(f.ctx, id, "", 0)
	f.must(err)
	f.equal("the listed entry", page.Items[0], want)
}

func allSignalsErased(f *fixture) {
	id, large := f.local(), jsonText(100_000)
	f.change(id, func(s *store.State) *store.Changes {
		return &store.Changes{Signals: []perdure.Signal{
			{ID: "small", Name: "n", State: perdure.SignalPending, Value: json.RawMessage(`1`), Order: 1, CreatedAt: s.Now},
			{ID: "large", Name: "n", State: perdure.SignalPending, Value: large, Order: 2, CreatedAt: s.Now},
		}}
	})
	blob := f.look(id, store.Needs{SignalIDs: []string{"large"}}).Signals["large"].Blob
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{EraseSignals: true} })
	signals, err := f.s.PendingSignals(f.ctx, id, nil, 0, 10)
	f.must(err)
	for _, s := range signals {
		f.equal("the value of "+s.ID, string(s.Value), "")
		f.equal("the reference of "+s.ID, s.Blob, nil)
	}
	_, err = f.s.Blob(f.ctx, id, blob.ID)
	f.wantCode(err, perdure.NotFound)
}
