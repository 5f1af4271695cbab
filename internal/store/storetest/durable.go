package storetest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// Durable checks that confirmed writes are still stored after the store was closed and opened
// again. Every call of the function `open` must open the same store. Durable closes each store that
// `open` returns.
func Durable(t *testing.T, open func() store.Store) {
	f := &fixture{T: t, s: open(), ctx: t.Context()}
	epoch := f.s.Epoch()
	id := f.start()
	entries := f.chain(id, 20)
	key := perdure.BlockKey{Attempt: 1}
	blocks := map[perdure.BlockKey]*store.Block{}
	f.change(id, func(s *store.State) *store.Changes {
		l := &blockLog{logWriter: logOf(s), blocks: blocks}
		l.chunk(s.Now, key, perdure.EventToken, "one", "")
		l.chunk(s.Now, key, perdure.EventToken, "two", "")
		return l.changes()
	})
	ref := f.upload(id, random(100_000), perdure.BlobChunk)
	stream := f.stream(org, "p", func(c *store.StreamChange) {
		appending("one", "two")(c)
		c.Stream.Closed, c.Stream.ClosedBy = true, &store.StreamProducer{ID: "a", Seq: 1}
	})
	before, log := f.execution(id), f.wholeLog(id)
	f.must(f.s.Close())

	f.s = open()
	f.equal("the epoch", f.s.Epoch(), epoch)
	f.equal("the execution", f.execution(id), before)
	f.equal("the log", f.wholeLog(id), log)
	f.samePath("the path", f.path(id, *before.Leaf, nil, 0, false), entries)
	f.equal("the blob", f.blob(id, ref.ID), random(100_000))
	again, err := f.s.Stream(f.ctx, org, "p")
	f.must(err)
	f.equal("the stream", again, &stream)
	f.equal("the stream's content", f.content(stream.ID), "onetwo")
	f.chain(id, 1)
	f.equal("a write after the reopening", *f.execution(id).Leaf != *before.Leaf, true)
	invariants.Check(t, f.s)
	f.must(f.s.Close())

	_, err = f.s.Do(f.ctx, store.Command{Org: org, Execution: id, Decide: add(1)})
	f.wantCode(err, perdure.Unavailable)
	_, err = f.s.Execution(f.ctx, org, id)
	f.wantCode(err, perdure.Unavailable)
}

func (f *fixture) wholeLog(id uuid.UUID) []perdure.Record {
	f.Helper()
	var all []perdure.Record
	for {
		var after int64
		if len(all) > 0 {
			after = all[len(all)-1].Pos
		}
		page, _, err := f.s.Log(f.ctx, id, after, 100)
		f.must(err)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}
