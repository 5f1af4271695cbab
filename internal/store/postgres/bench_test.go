package postgres

import (
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// BenchmarkCommit measures commands of 200 concurrent callers, each with a separate execution. A
// command changes a row and writes an entry, an ended task and an event.
func BenchmarkCommit(b *testing.B) {
	s := open(b, Options{})
	var failed atomic.Pointer[error]
	b.SetParallelism(100)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		id := uuid.New()
		for pb.Next() {
			_, err := s.Do(b.Context(), store.Command{Lane: store.LaneCommits, Org: "o", Execution: id, Decide: func(st *store.State) (*store.Changes, error) {
				return benchStep(st, id), nil
			}})
			if err != nil {
				failed.Store(&err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
}

func benchStep(s *store.State, id uuid.UUID) *store.Changes {
	x := s.Execution
	if x == nil {
		x = &perdure.Execution{
			ID: id, Org: "o", Kind: "k", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "q",
			Input: []byte(`{"userPrompt":"hello"}`), CreatedAt: s.Now, ReadyAt: s.Now,
		}
	}
	e := perdure.Entry{
		ID: uuid.New(), ParentID: x.Leaf, Type: perdure.EntryMessage, Role: perdure.RoleUser,
		Content: []byte(`{"parts":[{"type":"text","text":"something of the length of a sentence"}]}`), CreatedAt: s.Now,
	}
	x.Leaf = &e.ID
	x.Version++
	s.Head.LastSeq++
	s.Head.LastPos++
	return &store.Changes{
		Execution: x, Head: &s.Head, Entries: []store.Entry{{Entry: e}},
		Tasks: []*perdure.Task{{
			ID: uuid.New(), ExecutionID: id, Org: "o", Kind: "t", Status: perdure.TaskCompleted, Queue: "q", CreatedAt: s.Now, CompletedAt: &s.Now,
			Input: []byte(`{"a":1}`), Result: []byte(`{"b":2}`),
		}},
		Records: []perdure.Record{{Pos: s.Head.LastPos, Seq: s.Head.LastSeq, Type: perdure.EventEntry, CreatedAt: s.Now, Fields: []byte(`{"entryId":"x"}`)}},
	}
}
