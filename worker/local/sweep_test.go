package local

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// litter stores data of three executions: a content, a content with a name, and a piece of a
// streamed block. It returns the ids of these executions.
func (c *dispatchTest) litter() (content, named, shown uuid.UUID) {
	c.Helper()
	content, named, shown = uuid.New(), uuid.New(), uuid.New()
	if _, err := c.s.Put(c.Context(), content, []byte("one"), random(c.T, dropBytes), []byte("three")); err != nil {
		c.Fatal(err)
	}
	if err := c.s.Name(c.Context(), named, "input", []byte("named")); err != nil {
		c.Fatal(err)
	}
	b := NewBatch(shown)
	b.shown = append(b.shown, piece{source: []byte("a"), text: []byte("text")})
	if err := c.s.Write(c.Context(), b); err != nil {
		c.Fatal(err)
	}
	return content, named, shown
}

// kept returns the ids of the executions that have data in the store.
func (c *dispatchTest) kept() map[uuid.UUID]bool {
	c.Helper()
	all := map[uuid.UUID]bool{}
	for after := uuid.Nil; ; {
		id, err := c.s.next(context.WithoutCancel(c.Context()), after)
		if err != nil {
			c.Fatal(err)
		}
		if id == uuid.Nil {
			return all
		}
		if all[id] {
			c.Fatalf("%s comes twice", id)
		}
		after, all[id] = id, true
	}
}

func (c *dispatchTest) local(id, home uuid.UUID) *perdure.Execution {
	return &perdure.Execution{ID: id, PersistenceMode: perdure.Local, HomeID: &home}
}

// TestSweepDropsWhatIsPromotedOrDeleted checks that a sweep drops exactly the executions that have
// become REMOTE or that the server has deleted.
func TestSweepDropsWhatIsPromotedOrDeleted(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	promoted, deleted, alsoDeleted := c.litter()
	ended, stays, _ := c.litter()
	over := c.local(ended, c.s.WorkerID())
	over.Status = perdure.StatusCompleted
	c.r.runs = map[uuid.UUID]*perdure.Execution{
		c.id: c.local(c.id, c.s.WorkerID()), ended: over, stays: c.local(stays, c.s.WorkerID()),
		promoted: {ID: promoted, PersistenceMode: perdure.Remote},
	}
	c.d.keep(promoted)
	if err := c.d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := c.kept()
	for _, id := range []uuid.UUID{promoted, deleted, alsoDeleted} {
		if kept[id] {
			t.Errorf("%s is still kept", id)
		}
	}
	for _, id := range []uuid.UUID{c.id, ended, stays} {
		if !kept[id] {
			t.Errorf("%s is gone", id)
		}
	}
	if c.d.Keeps(promoted) || !c.d.Keeps(c.id) {
		t.Error("it does not know which executions are LOCAL")
	}
}

// TestSweepNeedsAServerThatKnowsItsExecutions checks that a sweep drops nothing if the server knows
// no execution of this worker, or does not answer.
func TestSweepNeedsAServerThatKnowsItsExecutions(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	one, _, _ := c.litter()
	all := len(c.kept())
	// This execution belongs to another worker.
	c.r.runs = map[uuid.UUID]*perdure.Execution{one: c.local(one, uuid.New())}
	if err := c.d.Sweep(t.Context()); err != nil || len(c.kept()) != all {
		t.Errorf("of %d executions %d are left (%v)", all, len(c.kept()), err)
	}
	c.r.runs = nil
	c.r.away = perdure.Errorf(perdure.Unavailable, "away")
	if err := c.d.Sweep(t.Context()); !errors.Is(err, c.r.away) || len(c.kept()) != all {
		t.Errorf("of %d executions %d are left without a server (%v)", all, len(c.kept()), err)
	}
}

// TestInterruptedDropIsCompleted checks that a second Drop completes an interrupted one. Until
// then, the store still lists the execution.
func TestInterruptedDropIsCompleted(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	id, _, _ := c.litter()
	err := c.s.writer.do(t.Context(), func(t transaction) error {
		more, err := dropSome(t, id)
		if err == nil && !more {
			return errors.New("all of it was one part")
		}
		return err
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !c.kept()[id] {
		t.Error("what is left is not found")
	}
	if err := c.s.Drop(t.Context(), id); err != nil || c.kept()[id] {
		t.Errorf("it is still kept (%v)", err)
	}
	rows, err := c.s.readers.QueryContext(t.Context(), "SELECT 1 FROM chunks WHERE length(bytes) > 100")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() || rows.Err() != nil {
		t.Errorf("chunks are left (%v)", rows.Err())
	}
}
