package react_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
)

// crashAfterEntries is the dispatch of a worker whose process dies after a commit with entries. The
// server stores that commit, but the worker receives lease_lost.
type crashAfterEntries struct {
	perdure.Dispatch
	died chan struct{}
	once *sync.Once
}

func (d crashAfterEntries) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	reply, err := d.Dispatch.Commit(ctx, c)
	if err == nil && len(c.Entries) > 0 {
		d.once.Do(func() { close(d.died) })
		return reply, perdure.Errorf(perdure.LeaseLost, "the process is dead")
	}
	return reply, err
}

func user(text string) perdure.InputMessage {
	return perdure.InputMessage{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text(text)}}
}

// TestAPathIsCopiedOnce checks an execution that continues another execution. The new execution
// must contain each entry of the earlier execution's path once, even if the worker dies during the
// copy. The earlier execution must not change.
func TestAPathIsCopiedOnce(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := emptyWorkerPool(t, "turn\n text one\nturn\n text two\n")
	stop := s.work(10)
	long := strings.Repeat("x", 700<<10)
	source := s.idle(s.start(engine.StartRequest{Messages: []perdure.InputMessage{user("a " + long), user("b " + long), user("c " + long)}}), 0)
	before := s.conversation(source.ID)
	stop()

	w := crashAfterEntries{died: make(chan struct{}), once: &sync.Once{}}
	stop = s.work(10, func(c *workerSetup) {
		c.over = func(d perdure.Dispatch) perdure.Dispatch { w.Dispatch = d; return w }
	})
	id := s.start(engine.StartRequest{
		From: &perdure.EntryRef{ExecutionID: source.ID, EntryID: *source.Leaf}, Messages: []perdure.InputMessage{user("d")},
	})
	<-w.died
	stop()
	if x, err := s.store.Execution(t.Context(), "default", id); err != nil || x.Leaf == nil || x.EntryCount >= 5 {
		t.Fatalf("it did not die in the middle: %+v, %v", x, err)
	}
	if err := s.engine.ReturnEmbedded(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.work(10)
	x := s.idle(id, 0)

	if got := s.conversation(id); !slices.Equal(got[:len(before)], before) || len(got) != len(before)+2 {
		t.Errorf("%d lines, the other has %d", len(got), len(before))
	}
	if !slices.Equal(s.conversation(source.ID), before) {
		t.Error("the other has changed")
	}
	ids := map[uuid.UUID]bool{}
	for _, one := range []*perdure.Execution{source, x} {
		for e, err := range s.store.Path(t.Context(), one.ID, *one.Leaf, nil, 0, true) {
			if err != nil {
				t.Fatal(err)
			}
			ids[e.ID] = true
		}
	}
	if want := 4 + 6; len(ids) != want || x.EntryCount != 7 { // six on the path, and an llm_call entry
		t.Errorf("%d ids, want %d; %d entries", len(ids), want, x.EntryCount)
	}
}
