package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var contentTests = map[string]func(*fixture){
	"a blob comes back however it was cut":        blobPieces,
	"a blob that is not whole is not found":       blobNotWhole,
	"a row's blob is joined in, and left if lazy": blobsJoined,
	"a large content given in place comes back":   largeInPlace,
	"a blob of another execution is not found":    blobOfAnother,
}

func random(n int) []byte {
	source := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(source.Uint32())
	}
	return b
}

// jsonText returns n bytes of valid JSON.
func jsonText(n int) json.RawMessage {
	return json.RawMessage(`"` + string(bytes.Repeat([]byte("j"), n-2)) + `"`)
}

// upload stores a blob in pieces of the given size. No commit refers to the blob.
func (f *fixture) upload(id uuid.UUID, content []byte, piece int) perdure.BlobRef {
	f.Helper()
	ref := perdure.BlobRef{ID: uuid.New(), Length: int64(len(content)), SHA256: sha256.Sum256(content)}
	for at := 0; at < len(content); at += piece {
		part := content[at:min(at+piece, len(content))]
		held := int64(at + len(part))
		f.do(store.Command{
			Lane: store.LaneChunks, Execution: id, Bytes: len(part),
			Needs: func(*perdure.Execution) store.Needs { return store.Needs{Blobs: []uuid.UUID{ref.ID}} },
			Decide: func(s *store.State) (*store.Changes, error) {
				b := s.Blobs[ref.ID]
				switch {
				case b == nil && at > 0, b != nil && b.Held != int64(at):
					f.Errorf("the blob's row before byte %d is %+v", at, b)
				case b == nil:
					b = &store.Blob{ID: ref.ID, Length: ref.Length}
				}
				b.Held, b.Digest = held, []byte{1, 2, 3}
				if held == ref.Length {
					b.SHA256, b.Digest = ref.SHA256, nil
				}
				return &store.Changes{Blob: b, BlobChunk: part, BlobChunkAt: int64(at)}, nil
			},
		})
	}
	return ref
}

func (f *fixture) blob(execution, id uuid.UUID) []byte {
	f.Helper()
	r, err := f.s.Blob(f.ctx, execution, id)
	f.must(err)
	content, err := io.ReadAll(r)
	f.must(err)
	f.must(r.Close())
	return content
}

func blobPieces(f *fixture) {
	id := f.start()
	for _, size := range []int{1, perdure.BlobChunk - 1, perdure.BlobChunk, perdure.BlobChunk + 1, 3*perdure.BlobChunk + 7} {
		for _, piece := range []int{perdure.BlobChunk, 50_000, 200_000} {
			content := random(size)
			ref := f.upload(id, content, piece)
			if !bytes.Equal(f.blob(id, ref.ID), content) {
				f.Errorf("a blob of %d bytes in pieces of %d comes back different", size, piece)
			}
			state := f.look(id, store.Needs{Blobs: []uuid.UUID{ref.ID}})
			f.equal("the row", state.Blobs[ref.ID], &store.Blob{ID: ref.ID, Length: ref.Length, Held: ref.Length, SHA256: ref.SHA256})
			f.change(id, func(*store.State) *store.Changes { return &store.Changes{OwnBlobs: []uuid.UUID{ref.ID}} })
			f.equal("owned", f.look(id, store.Needs{Blobs: []uuid.UUID{ref.ID}}).Blobs[ref.ID].Owned, true)
		}
	}
}

func blobNotWhole(f *fixture) {
	id := f.start()
	b := store.Blob{ID: uuid.New(), Length: 10, Held: 4, Digest: []byte{9}}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Blob: &b, BlobChunk: []byte("abcd")} })
	f.equal("the row", f.look(id, store.Needs{Blobs: []uuid.UUID{b.ID}}).Blobs[b.ID], &b)
	_, err := f.s.Blob(f.ctx, id, b.ID)
	f.wantCode(err, perdure.NotFound)
}

func blobOfAnother(f *fixture) {
	ref := f.upload(f.start(), []byte("mine"), 4)
	_, err := f.s.Blob(f.ctx, f.start(), ref.ID)
	f.wantCode(err, perdure.NotFound)
}

// refersTo commits an entry, a task, a checkpoint, a signal, and the execution's input and output.
// The contents of all of them are in the blob `ref`.
func (f *fixture) refersTo(id uuid.UUID, ref perdure.BlobRef) (entry perdure.Entry, task *perdure.Task) {
	f.Helper()
	entry = perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Blob: &ref, CreatedAt: f.s.Now()}
	task = wholeTask(id)
	task.Input, task.Result, task.InputBlob, task.ResultBlob = nil, nil, &ref, &ref
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.Leaf, s.Execution.InputBlob, s.Execution.OutputBlob, s.Execution.CheckpointSeq = &entry.ID, &ref, &ref, 1
		return &store.Changes{
			Execution: s.Execution, Entries: []store.Entry{{Entry: entry}}, Tasks: []*perdure.Task{task},
			Checkpoint: &perdure.Checkpoint{Sequence: 1, Blob: &ref, CreatedAt: s.Now},
			Signals:    []perdure.Signal{{ID: "s", Name: "n", State: perdure.SignalPending, Blob: &ref, CreatedAt: s.Now}},
			OwnBlobs:   []uuid.UUID{ref.ID},
		}
	})
	return entry, task
}

func blobsJoined(f *fixture) {
	id := f.start()
	content := jsonText(100_000)
	ref := f.upload(id, content, perdure.BlobChunk)
	entry, task := f.refersTo(id, ref)
	joined := func(what string, got json.RawMessage, left *perdure.BlobRef) {
		f.Helper()
		if !bytes.Equal(got, content) || left != nil {
			f.Errorf("%s is not joined in: %d bytes, reference %v", what, len(got), left)
		}
	}
	lazily := func(what string, got json.RawMessage, left *perdure.BlobRef) {
		f.Helper()
		if got != nil {
			f.Errorf("%s is loaded", what)
		}
		f.equal(what, left, &ref)
	}
	x := f.execution(id)
	joined("the input", x.Input, x.InputBlob)
	joined("the output", x.Output, x.OutputBlob)
	e, err := f.s.Entry(f.ctx, id, entry.ID)
	f.must(err)
	joined("the entry", e.Content, e.Blob)
	page, err := f.s.AllEntries(f.ctx, id, "", 0)
	f.must(err)
	joined("the listed entry", page.Items[0].Content, page.Items[0].Blob)
	for e := range f.path(id, entry.ID, nil, 0, false) {
		joined("the entry on the path", e.Content, e.Blob)
	}
	for e := range f.path(id, entry.ID, nil, 0, true) {
		lazily("the lazy entry", e.Content, e.Blob)
	}
	c, err := f.s.Checkpoint(f.ctx, id, 0)
	f.must(err)
	joined("the checkpoint", c.State, c.Blob)
	signals, err := f.s.PendingSignals(f.ctx, id, nil, 0, 1)
	f.must(err)
	joined("the signal", signals[0].Value, signals[0].Blob)
	t := f.task(id, task.ID)
	joined("the task's input", t.Input, t.InputBlob)
	joined("the task's result", t.Result, t.ResultBlob)
	tasks, err := f.s.Tasks(f.ctx, id, []uuid.UUID{task.ID}, true)
	f.must(err)
	lazily("the lazy input", tasks[0].Input, tasks[0].InputBlob)
	lazily("the lazy result", tasks[0].Result, tasks[0].ResultBlob)

	state := f.look(id, store.Needs{Tasks: []uuid.UUID{task.ID}, SignalIDs: []string{"s"}, Entries: []uuid.UUID{entry.ID}})
	lazily("the input decided on", state.Execution.Input, state.Execution.InputBlob)
	lazily("the task's input decided on", state.Tasks[task.ID].Input, state.Tasks[task.ID].InputBlob)
	lazily("the signal decided on", state.Signals["s"].Value, state.Signals["s"].Blob)
	f.equal("the entry's hash", state.Entries[entry.ID].Hash, ref.SHA256)

	// A row that is written again without contents keeps its contents.
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.Version++
		return &store.Changes{Execution: s.Execution}
	})
	joined("the input after a change", f.execution(id).Input, nil)
}

func largeInPlace(f *fixture) {
	content := jsonText(3*perdure.BlobChunk + 5)
	id := f.start(func(x *perdure.Execution) { x.Input = content })
	f.equal("the input", f.execution(id).Input, content)
	task := wholeTask(id)
	task.Input, task.Result = content, content
	f.putTask(task)
	f.equal("the task", f.task(id, task.ID), task)
	f.change(id, func(s *store.State) *store.Changes {
		return &store.Changes{Signals: []perdure.Signal{{ID: "s", Name: "n", State: perdure.SignalPending, Value: content, CreatedAt: s.Now}}}
	})
	signals, err := f.s.PendingSignals(f.ctx, id, []string{"n"}, 0, 1)
	f.must(err)
	f.equal("the signal", signals[0].Value, content)
	entry := perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: content, CreatedAt: f.s.Now()}
	f.change(id, func(s *store.State) *store.Changes {
		s.Execution.Leaf = &entry.ID
		return &store.Changes{Execution: s.Execution, Entries: []store.Entry{{Entry: entry}}}
	})
	got, err := f.s.Entry(f.ctx, id, entry.ID)
	f.must(err)
	f.equal("the entry", *got, entry)
	f.equal("the entry's hash", f.look(id, store.Needs{Entries: []uuid.UUID{entry.ID}}).Entries[entry.ID].Hash, perdure.Hash(sha256.Sum256(content)))
}
