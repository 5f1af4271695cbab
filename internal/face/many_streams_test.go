package face_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// readCounter is a store that counts reads of logs, for each execution.
type readCounter struct {
	store.LogReader
	mu    sync.Mutex // guards the fields below
	pages map[uuid.UUID]int
	heads map[uuid.UUID]int
	asked int // queries that read the heads of many logs
}

func (c *readCounter) Log(ctx context.Context, id uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	c.mu.Lock()
	c.pages[id]++
	c.mu.Unlock()
	return c.LogReader.Log(ctx, id, after, limit)
}

func (c *readCounter) LogHead(ctx context.Context, id uuid.UUID) (store.Head, error) {
	c.mu.Lock()
	c.heads[id]++
	c.mu.Unlock()
	return c.LogReader.LogHead(ctx, id)
}

func (c *readCounter) LogHeads(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Head, error) {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	return c.LogReader.LogHeads(ctx, ids)
}

// forget sets all counts of the readCounter to 0.
func (c *readCounter) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages, c.heads, c.asked = map[uuid.UUID]int{}, map[uuid.UUID]int{}, 0
}

// lossyHints is a Notifier that does not promise to deliver every hint, so the server must expect
// that hints are lost.
type lossyHints struct{ notify.Notifier }

// countReads returns a change of a server's configuration. It makes the server read logs through
// the readCounter `c`, and get its hints from the result of the function `hints`.
func countReads(c *readCounter, hints func(notify.Notifier) notify.Notifier) func(*face.Config) {
	return func(config *face.Config) {
		c.LogReader = config.Engine.Read()
		c.forget()
		config.Log = eventlog.New(c, config.Engine.Store.Epoch(), hints(config.Engine.Hints))
	}
}

const (
	manyStreams = 50
	idleEach    = 4  // readers of idle logs for each stream
	manyChunks  = 20 // number of chunks of each stream
)

// TestManyStreamsBesideIdleReaders checks fifty streaming executions, each with its own reader,
// while 200 readers follow logs to which nothing is appended. Each reader receives exactly the text
// of its execution. The number of reads of a streaming log is bounded, and the server does not read
// the other logs.
func TestManyStreamsBesideIdleReaders(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, hints := range map[string]func(notify.Notifier) notify.Notifier{
		"hints are sure":    func(n notify.Notifier) notify.Notifier { return n },
		"hints may be lost": func(n notify.Notifier) notify.Notifier { return lossyHints{n} },
	} {
		t.Run(name, func(t *testing.T) {
			reads := &readCounter{}
			h := open(t, countReads(reads, hints))
			manyBesideIdle(t, h, reads)
			if name == "hints are sure" && reads.asked != 0 {
				t.Errorf("%d queries looked for what no hint can have missed", reads.asked)
			}
		})
	}
}

func manyBesideIdle(t *testing.T, h *testServer, reads *readCounter) {
	var idle []uuid.UUID
	var runs []*run
	var readers []*stream
	for range manyStreams {
		runs = append(runs, h.startedRun())
	}
	for range manyStreams * idleEach {
		x, err := h.Engine.Start(t.Context(), "default", engine.StartRequest{Kind: "count", Input: json.RawMessage(`{"n":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, x.ID)
	}
	for _, id := range idle {
		h.Follow(h.Path(id, "/stream")).Must()
	}
	for _, r := range runs {
		s := h.Follow(h.Path(r.ID, "/stream/consolidated"))
		s.Must()
		s.Must()
		readers = append(readers, s)
	}
	reads.forget()
	for n := range manyChunks {
		var frames []perdure.Frame
		for i, r := range runs {
			text := chunkOf(i, n)
			frames = append(frames, perdure.Frame{AgentLease: &r.Lease, Type: perdure.EventToken, Offset: int64(n * len(text)), Text: text})
		}
		runs[0].Append(frames...)
	}
	for _, r := range runs {
		r.Complete()
	}
	for i, s := range readers {
		var got, want strings.Builder
		for _, e := range s.All() {
			if e.Event == "token" {
				got.WriteString(e.Fields["data"].(string))
			}
		}
		for n := range manyChunks {
			want.WriteString(chunkOf(i, n))
		}
		if got.String() != want.String() {
			t.Errorf("reader %d was given\n%s\nwant\n%s", i, got.String(), want.String())
		}
	}
	reads.mu.Lock()
	defer reads.mu.Unlock()
	for _, id := range idle {
		if n := reads.pages[id] + reads.heads[id]; n != 0 {
			t.Errorf("the store was read %d times for an idle reader", n)
		}
	}
	for _, r := range runs {
		// Each read of the log found something new (a chunk, the end of the block or the end of the
		// execution), or was caused by a hint that came late. So there are at most two reads for
		// each record.
		if n, most := reads.pages[r.ID], 2*(manyChunks+3); n == 0 || n > most {
			t.Errorf("the store was read %d times for %d commits, want at most %d", n, manyChunks+1, most)
		}
	}
}

func chunkOf(stream, n int) string { return fmt.Sprintf("<%02d:%02d>", stream, n) }

// startedRun starts an execution and claims it.
func (h *testServer) startedRun() *run {
	h.T.Helper()
	h.Start("")
	return h.Claim()
}

// TestReadersOfOneLogShareItsReads checks that 20 readers of one log share its reads: the number of
// reads of the store is about the number of chunks, not 20 times that number.
func TestReadersOfOneLogShareItsReads(t *testing.T) {
	const followers, chunks = 20, 100
	reads := &readCounter{}
	h := open(t, countReads(reads, func(n notify.Notifier) notify.Notifier { return n }))
	r := h.startedRun()
	var readers []*stream
	for range followers {
		s := h.Follow(h.Path(r.ID, "/stream"))
		s.Must()
		s.Must()
		readers = append(readers, s)
	}
	reads.forget()
	for n := range chunks {
		r.Stream(0, int64(n), "token", "x")
		for _, s := range readers {
			if e := s.Must(); e.Fields["offset"] != float64(n) {
				t.Fatalf("chunk %d came as %s", n, e.Data)
			}
		}
	}
	reads.mu.Lock()
	defer reads.mu.Unlock()
	// Before a reader gets items from the shared follower of the log, it may read the store once
	// itself.
	if n := reads.pages[r.ID]; n > chunks+2*followers {
		t.Errorf("the store was read %d times for %d chunks and %d readers", n, chunks, followers)
	}
}
