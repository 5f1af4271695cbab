package storetest

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var streamTests = map[string]func(*fixture){
	"every field of a stream comes back":                 streamFields,
	"a stream's path is its org's own":                   streamOfOrg,
	"content is read from any position":                  streamPositions,
	"what is appended at once is stored once, in order":  streamConcurrent,
	"a producer's state is kept with what it appended":   streamProducers,
	"the streams of an org are counted one by one":       streamCounted,
	"a refused append leaves nothing":                    streamRefused,
	"a deleted stream is gone at once, its path is free": streamDeleted,
	"rows of deleted streams go step by step":            streamDropped,
}

// stream changes the stream at a path. If there is no stream at the path, the function creates one.
func (f *fixture) stream(org, path string, change func(c *store.StreamChange)) store.Stream {
	f.Helper()
	var now store.Stream
	f.do(store.Command{
		Org: org, Lane: store.LaneChunks, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Stream: path} },
		Decide: func(s *store.State) (*store.Changes, error) {
			c := &store.StreamChange{Stream: store.Stream{ID: uuid.New(), Org: org, Path: path, ContentType: "text/plain", CreatedAt: s.Now}}
			if s.Stream != nil {
				c.Stream = *s.Stream
			}
			change(c)
			for _, row := range c.Append {
				c.Stream.Tail += int64(len(row))
			}
			now = c.Stream
			return &store.Changes{Stream: c}, nil
		},
	})
	return now
}

func appending(rows ...string) func(c *store.StreamChange) {
	return func(c *store.StreamChange) {
		for _, row := range rows {
			c.Append = append(c.Append, []byte(row))
		}
	}
}

// seen returns the stream and the producer in the state that a command on the stream gets.
func (f *fixture) seen(org, path, producer string) (stream *store.Stream, state *store.StreamProducer) {
	f.Helper()
	f.do(store.Command{
		Org: org, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Stream: path, Producer: producer} },
		Decide: func(s *store.State) (*store.Changes, error) {
			stream, state = s.Stream, s.Producer
			return nil, nil
		},
	})
	return stream, state
}

// content returns the whole content of a stream. It reads a few bytes at a time.
func (f *fixture) content(id uuid.UUID) string {
	f.Helper()
	var all bytes.Buffer
	for {
		pieces, s, err := f.s.StreamContent(f.ctx, id, int64(all.Len()), 7)
		f.must(err)
		for _, p := range pieces {
			if p.At != int64(all.Len()) {
				f.Fatalf("after %d comes a row at %d", all.Len(), p.At)
			}
			all.Write(p.Content)
		}
		if len(pieces) == 0 {
			f.equal("the tail", s.Tail, int64(all.Len()))
			return all.String()
		}
	}
}

func streamFields(f *fixture) {
	whole := f.stream(org, "a/b c", func(c *store.StreamChange) {
		c.Stream.ContentType, c.Stream.Closed, c.Stream.Seq = "text/plain; charset=utf-8", true, "s-9"
		c.Stream.ClosedBy = &store.StreamProducer{ID: "p", Epoch: 1<<53 - 1, Seq: 7}
		c.Stream.CreatedAt, c.Stream.KeyID = milestone(1), ptr(uuid.UUID{8})
		appending("x\x00\xff")(c)
	})
	check := func(want store.Stream) {
		f.Helper()
		got, err := f.s.Stream(f.ctx, org, "a/b c")
		f.must(err)
		f.equal("the stream read", got, &want)
		decided, _ := f.seen(org, "a/b c", "")
		f.equal("the stream decided on", decided, &want)
		_, got, err = f.s.StreamContent(f.ctx, want.ID, 0, 0)
		f.must(err)
		f.equal("the stream read with its content", got, &want)
		f.equal("the content", f.content(want.ID), "x\x00\xff")
	}
	check(whole)
	check(f.stream(org, "a/b c", func(c *store.StreamChange) {
		c.Stream.Closed, c.Stream.Seq, c.Stream.ClosedBy = false, "", nil
	}))
	_, err := f.s.Stream(f.ctx, org, "a/b")
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.StreamContent(f.ctx, uuid.New(), 0, 10)
	f.wantCode(err, perdure.NotFound)
}

func streamOfOrg(f *fixture) {
	ours := f.stream(org, "p", appending("ours"))
	if s, _ := f.seen("other", "p", ""); s != nil {
		f.Errorf("another org sees %+v", s)
	}
	_, err := f.s.Stream(f.ctx, "other", "p")
	f.wantCode(err, perdure.NotFound)
	theirs := f.stream("other", "p", appending("theirs"))
	f.equal("what is ours", f.content(ours.ID), "ours")
	f.equal("what is theirs", f.content(theirs.ID), "theirs")
	_, err = f.s.Do(f.ctx, store.Command{Org: "other", Decide: func(*store.State) (*store.Changes, error) {
		return &store.Changes{Stream: &store.StreamChange{Stream: ours, Delete: true}}, nil
	}})
	f.wantCode(err, perdure.Internal)
	f.equal("what is ours, after they tried to delete it", f.content(ours.ID), "ours")
}

func streamPositions(f *fixture) {
	x := f.stream(org, "p", appending("one", "four"))
	f.stream(org, "p", appending("a"))
	const whole = "onefoura"
	for after := range int64(len(whole) + 1) {
		for _, limit := range []int{1, 3, 4, 7, 100} {
			pieces, s, err := f.s.StreamContent(f.ctx, x.ID, after, limit)
			f.must(err)
			f.equal("the tail", s.Tail, int64(len(whole)))
			end, size := after, 0
			for i, p := range pieces {
				if p.At > end || i > 0 && p.At != end || p.At+int64(len(p.Content)) <= end {
					f.Errorf("after %d comes a row at %d of %d bytes", end, p.At, len(p.Content))
				}
				end, size = p.At+int64(len(p.Content)), size+len(p.Content)
				f.equal("a row", string(p.Content), whole[p.At:end])
			}
			if after < int64(len(whole)) && len(pieces) == 0 || len(pieces) > 1 && size > limit {
				f.Errorf("after %d come %d rows for %d bytes", after, len(pieces), limit)
			}
		}
	}
	pieces, _, err := f.s.StreamContent(f.ctx, x.ID, 0, 0)
	f.must(err)
	f.equal("rows for no bytes", len(pieces), 0)
}

func streamConcurrent(f *fixture) {
	x := f.stream(org, "p", func(*store.StreamChange) {})
	const writers, each = 8, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				f.stream(org, "p", appending(fmt.Sprintf("%c%02d ", 'a'+w, i)))
			}
		})
	}
	all.Wait()
	content := f.content(x.ID)
	f.equal("the length", len(content), writers*each*4)
	next := map[byte]int{}
	for at := 0; at < len(content); at += 4 {
		w := content[at]
		f.equal("an append of "+string(w), content[at:at+4], fmt.Sprintf("%c%02d ", w, next[w]))
		next[w]++
	}
}

func streamProducers(f *fixture) {
	put := func(p store.StreamProducer) {
		f.stream(org, "p", func(c *store.StreamChange) {
			appending("x")(c)
			c.Producer = &p
		})
	}
	first, second := store.StreamProducer{ID: "a", Epoch: 1, Seq: 2}, store.StreamProducer{ID: "b", Seq: 1<<53 - 1}
	put(first)
	put(second)
	f.stream(org, "other", func(*store.StreamChange) {})
	for _, want := range []store.StreamProducer{first, second} {
		_, got := f.seen(org, "p", want.ID)
		f.equal("the producer", got, &want)
		if _, got = f.seen(org, "other", want.ID); got != nil {
			f.Errorf("another stream knows the producer %+v", got)
		}
	}
	if _, got := f.seen(org, "p", "c"); got != nil {
		f.Errorf("there is a producer %+v", got)
	}
	first.Epoch, first.Seq = 2, 0
	put(first)
	_, got := f.seen(org, "p", "a")
	f.equal("the producer in its next epoch", got, &first)
}

func streamRefused(f *fixture) {
	x := f.stream(org, "p", appending("one"))
	_, err := f.s.Do(f.ctx, store.Command{
		Org: org, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Stream: "p"} },
		Decide: func(s *store.State) (*store.Changes, error) {
			c := store.StreamChange{Stream: *s.Stream, Append: [][]byte{[]byte("two")}, Producer: &store.StreamProducer{ID: "a"}}
			return &store.Changes{Stream: &c}, nil // the content would overlap existing content
		},
	})
	if err == nil {
		f.Error("an append is written over content")
	}
	f.equal("the content", f.content(x.ID), "one")
	if _, p := f.seen(org, "p", "a"); p != nil {
		f.Errorf("the producer's state is kept without its content: %+v", p)
	}
}

func streamDeleted(f *fixture) {
	old := f.stream(org, "p", func(c *store.StreamChange) {
		appending("old")(c)
		c.Producer = &store.StreamProducer{ID: "a", Seq: 5}
	})
	f.stream(org, "p", func(c *store.StreamChange) { c.Delete = true })
	_, err := f.s.Stream(f.ctx, org, "p")
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.StreamContent(f.ctx, old.ID, 0, 10)
	f.wantCode(err, perdure.NotFound)
	if s, p := f.seen(org, "p", "a"); s != nil || p != nil {
		f.Errorf("a decision sees %+v and %+v", s, p)
	}
	fresh := f.stream(org, "p", appending("new"))
	if _, p := f.seen(org, "p", "a"); p != nil {
		f.Errorf("the new stream knows the old one's producer %+v", p)
	}
	f.dropStreams(1000)
	f.equal("the new stream", f.content(fresh.ID), "new")
}

// dropStreams deletes the rows of deleted streams, and returns the number of commands. One command
// deletes at most `rows` rows.
func (f *fixture) dropStreams(rows int) int {
	f.Helper()
	for steps := 0; ; steps++ {
		left, err := f.s.DeadStreams(f.ctx)
		f.must(err)
		if !left {
			return steps
		}
		f.do(store.Command{Lane: store.LaneSweeps, Decide: func(*store.State) (*store.Changes, error) {
			return &store.Changes{DropStreams: rows}, nil
		}})
		if steps > 1000 {
			f.Fatal("rows of deleted streams stay")
		}
	}
}

func streamDropped(f *fixture) {
	kept := f.stream(org, "kept", appending("kept"))
	for _, path := range []string{"a", "b"} {
		for i := range 20 {
			f.stream(org, path, func(c *store.StreamChange) {
				appending("x")(c)
				c.Producer = &store.StreamProducer{ID: fmt.Sprint(i)}
			})
		}
		f.stream(org, path, func(c *store.StreamChange) { c.Delete = true })
	}
	if steps := f.dropStreams(8); steps < 5 {
		f.Errorf("2 streams of 40 rows went in %d steps of 8", steps)
	}
	f.equal("the stream that is kept", f.content(kept.ID), "kept")
}

// streamCounted runs concurrent commands. Each command creates a stream if the number of streams of
// the org is below a limit. At the end, the number of streams must equal the limit.
func streamCounted(f *fixture) {
	const most = 5
	f.stream("other", "p", appending("x"))
	f.stream(org, "gone", appending("x"))
	f.stream(org, "gone", func(c *store.StreamChange) { c.Delete = true })
	var all sync.WaitGroup
	for i := range 4 * most {
		all.Go(func() {
			path := fmt.Sprint("stream ", i)
			_, err := f.s.Do(f.ctx, store.Command{
				Org: org, Lane: store.LaneChunks,
				Needs: func(*perdure.Execution) store.Needs { return store.Needs{Stream: path, StreamCount: true} },
				Decide: func(s *store.State) (*store.Changes, error) {
					if s.Streams >= most {
						return nil, nil
					}
					return &store.Changes{Stream: &store.StreamChange{Stream: store.Stream{
						ID: uuid.New(), Org: org, Path: path, ContentType: "text/plain", CreatedAt: s.Now,
					}}}, nil
				},
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	made := 0
	for i := range 4 * most {
		if _, err := f.s.Stream(f.ctx, org, fmt.Sprint("stream ", i)); err == nil {
			made++
		}
	}
	f.equal("the streams made", made, most)
}
