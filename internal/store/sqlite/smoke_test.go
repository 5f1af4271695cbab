package sqlite

import (
	"context"
	"testing"
	"path/filepath"
	"sync"
	"time"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "a ?#%.db")})
	if err != nil { t.Fatal(err) }
	defer s.Close()
	n := 20000
	begin := time.Now()
	var wg sync.WaitGroup
	for g := range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			id := uuid.Must(uuid.NewV7())
			for i := range n/200 {
				_, err := s.Do(ctx, store.Command{Lane: store.LaneCommits, Org: "o", Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
					x := s.Execution
					if x == nil {
						x = &perdure.Execution{ID: id, Org: "o", Kind: "k", Status: "PENDING", PersistenceMode: "REMOTE", Queue: "default", CreatedAt: s.Now, ReadyAt: s.Now, Input: []byte(`{"userPrompt":"hello there"}`)}
						s.Head.Epoch = 1
					}
					x.Version++
					e := perdure.Entry{ID: uuid.New(), Type: "message", Role: "user", Content: []byte(`{"parts":[{"type":"text","text":"hello hello hello hello hello hello hello hello hello"}]}`), CreatedAt: s.Now, ParentID: x.Leaf}
					x.Leaf = &e.ID
					s.Head.LastPos++
					s.Head.LastSeq++
					task := &perdure.Task{ID: uuid.New(), ExecutionID: id, Org: "o", Kind: "t", Status: "COMPLETED", Queue: "default", Key: fmt.Sprint(i), CreatedAt: s.Now, Input: []byte(`{"a":1}`)}
					return &store.Changes{Execution: x, Head: &s.Head, Entries: []store.Entry{{Entry: e}}, Tasks: []*perdure.Task{task},
						Records: []perdure.Record{{Pos: s.Head.LastPos, Seq: s.Head.LastSeq, Type: "entry.appended", CreatedAt: s.Now, Fields: []byte(`{"entryId":"aaa"}`)}}}, nil
				}})
				if err != nil { t.Error(err); return }
			}
			_ = g
			recs, h, err := s.Log(ctx, id, 0, 1000)
			if err != nil || len(recs) != int(h.LastPos) { t.Error(len(recs), h, err) }
		}()
	}
	wg.Wait()
	t.Log(float64(n)/time.Since(begin).Seconds(), "per second")
}
