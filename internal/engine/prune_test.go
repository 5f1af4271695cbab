package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/retention"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
)

func periodPtr(p perdure.Period) *perdure.Period { return &p }

// ended creates an execution with the given number of entries, and completes it.
func (b *bench) ended(entries int) uuid.UUID {
	b.Helper()
	h := b.started()
	h.fill(entries)
	h.commit(completing())
	return h.id
}

// fill appends entries, a hundred in each commit.
func (h *holder) fill(entries int) {
	h.Helper()
	var parent *uuid.UUID
	for at := 0; at < entries; at += 100 {
		var batch []perdure.NewEntry
		for range min(100, entries-at) {
			e, err := perdure.NewMessageEntry(perdure.UserText("hi"))
			h.must(err)
			e.ParentID = parent
			parent = &e.ID
			batch = append(batch, perdure.NewEntry{Entry: e})
		}
		h.commit(func(c *perdure.Commit) { c.Entries = batch })
	}
}

func (b *bench) sweepRetention() {
	b.Helper()
	b.must(b.e.Pruner.Sweep(b.Context()))
}

func (b *bench) wantGone(id uuid.UUID) {
	b.Helper()
	_, err := b.s.Execution(b.Context(), org, id)
	b.wantCode(err, perdure.NotFound)
}

// TestAnExecutionIsKeptForItsPeriod checks that an execution is deleted when its retention period
// is over, and not a millisecond earlier. An execution that has not ended is not deleted.
func TestAnExecutionIsKeptForItsPeriod(t *testing.T) {
	b := newBench(t)
	id, running := b.ended(3), b.start()
	_, err := b.e.SetRetention(b.Context(), org, perdure.Retention{Executions: periodPtr(perdure.Day)})
	b.must(err)
	b.clock.advance(24*time.Hour - time.Millisecond)
	b.sweepRetention()
	b.execution(id)
	b.clock.advance(time.Millisecond)
	b.sweepRetention()
	b.wantGone(id)
	b.execution(running)
}

// TestTheDefaultKeepsExecutions checks that an ended execution and its log are never deleted
// without a retention policy. Of the checkpoints, only the newest is kept.
func TestTheDefaultKeepsExecutions(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for range 3 {
		h.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`{}`))} })
	}
	h.commit(completing())
	before := len(b.log(h.id))
	b.clock.advance(100 * 24 * time.Hour)
	b.sweepRetention()
	b.execution(h.id)
	if after := len(b.log(h.id)); after != before {
		t.Errorf("the log has %d records, had %d", after, before)
	}
	page, err := b.s.Checkpoints(b.Context(), h.id, "", 10)
	b.must(err)
	if len(page.Items) != 1 || page.Items[0].Sequence != 3 {
		t.Errorf("%d checkpoints are left, want the newest alone", len(page.Items))
	}
}

// TestADefinitionsPolicyIsCopied checks that an execution keeps the retention policy that its
// definition had at the start, even after the definition was changed and deleted. A period in the
// definition's policy overrides that of the org's policy. A period that only the org's policy sets
// also applies to the execution.
func TestADefinitionsPolicyIsCopied(t *testing.T) {
	b := newBench(t)
	d, err := b.e.Definitions.Create(b.Context(), org, perdure.Definition{
		Name: "n", Slug: "n", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}},
		Retention: &perdure.Retention{Executions: periodPtr(perdure.Period(time.Hour))},
	})
	b.must(err)
	x, err := b.e.Start(b.Context(), org, StartRequest{DefinitionID: &d.ID})
	b.must(err)
	_, _, err = b.e.Cancel(b.Context(), org, x.ID)
	b.must(err)
	d.Retention = &perdure.Retention{Executions: periodPtr(perdure.Forever)}
	_, err = b.e.Definitions.Update(b.Context(), org, *d, 0)
	b.must(err)
	b.must(b.e.Definitions.Delete(b.Context(), org, d.ID))
	_, err = b.e.SetRetention(b.Context(), org, perdure.Retention{Executions: periodPtr(perdure.Day), Logs: periodPtr(perdure.Period(time.Minute))})
	b.must(err)
	b.clock.advance(time.Minute)
	b.sweepRetention()
	b.execution(x.ID)
	if left := len(b.log(x.ID)); left != 1 {
		t.Errorf("%d records of the log are left, want the last", left)
	}
	b.clock.advance(time.Hour)
	b.sweepRetention()
	b.wantGone(x.ID)
}

// spy is a store that first calls the function `before` with each command. If `before` returns an
// error, the command fails with that error and is not run.
type spy struct {
	store.Store
	before func(c store.Command) error
}

func (s *spy) Do(ctx context.Context, c store.Command) ([]any, error) {
	if err := s.before(c); err != nil {
		return nil, err
	}
	return s.Store.Do(ctx, c)
}

// TestWritersComeInBetweenTheStepsOfAPrune checks that a large execution is deleted in many small
// commands, and that another execution's commit between two of these commands succeeds.
func TestWritersComeInBetweenTheStepsOfAPrune(t *testing.T) {
	b := newBench(t)
	id := b.ended(800)
	writer := b.started()
	steps, commits := 0, 0
	b.use(&spy{Store: b.s, before: func(c store.Command) error {
		if c.Name != "prune rows" {
			return nil
		}
		if c.Lane != store.LaneSweeps {
			t.Errorf("a step of a prune is in the lane %d", c.Lane)
		}
		steps++
		if commits++; commits%4 == 0 {
			writer.commit(func(*perdure.Commit) {}) // fails the test if there is no reply
		}
		return nil
	}})
	report, err := b.e.Pruner.Prune(b.Context(), org, retention.PruneRequest{OlderThan: new(time.Duration)})
	b.must(err)
	b.wantGone(id)
	// The execution has 800 entries and as many events, so at least 1600 rows are deleted.
	if report.Executions.Count != 1 || steps < 1600/retention.StepRows {
		t.Errorf("%d executions were deleted in %d steps", report.Executions.Count, steps)
	}
}

// TestAPruneThatWasCutOffGoesOn checks a prune during which the process dies. Afterwards the
// execution is either complete, or readers do not see it and the next sweep deletes its remaining
// rows.
func TestAPruneThatWasCutOffGoesOn(t *testing.T) {
	longtest.Skip(t, "seconds")
	cut := errors.New("the process died")
	for _, at := range []int{1, 2, 3, 7} {
		b := newBench(t)
		id := b.ended(400)
		n := 0
		b.use(&spy{Store: b.s, before: func(store.Command) error {
			if n++; n >= at {
				return cut
			}
			return nil
		}})
		if _, err := b.e.Pruner.Prune(b.Context(), org, retention.PruneRequest{OlderThan: new(time.Duration)}); !errors.Is(err, cut) {
			t.Fatalf("cut off at command %d it gives %v", at, err)
		}
		b.must(b.s.Close())
		b.open()
		if at == 1 {
			b.execution(id)
			continue
		}
		b.wantGone(id)
		b.sweepRetention()
		b.wantGone(id)
		_, err := b.e.do(b.Context(), store.Command{Pick: &store.Pick{Kind: store.PickPruned}, Decide: func(*store.State) (*store.Changes, error) {
			t.Error("something is still marked")
			return nil, nil
		}})
		b.must(err)
	}
}

// TestADryRunChangesNothing checks that a dry run executes no command of the store and leaves an
// execution unchanged. It reports the same number of executions and bytes as a real prune with the
// same arguments.
func TestADryRunChangesNothing(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.ended(2)
	}
	young := b.start()
	before := b.snapshot(young)
	b.clock.advance(time.Hour)
	b.use(&spy{Store: b.s, before: func(c store.Command) error {
		t.Errorf("the dry run writes: %s", c.Name)
		return nil
	}})
	hour := time.Hour
	report, err := b.e.Pruner.Prune(b.Context(), org, retention.PruneRequest{OlderThan: &hour, DryRun: true})
	b.must(err)
	if c := report.Executions; c.Count != 3 || c.Bytes == 0 || c.Oldest == nil || c.ByStatus[perdure.StatusCompleted] != 3 || c.ByKind["agent"] != 3 || report.More {
		t.Errorf("it reports %+v", report)
	}
	if after := b.snapshot(young); after != before {
		t.Error("an execution has changed")
	}
	b.use(b.s)
	real, err := b.e.Pruner.Prune(b.Context(), org, retention.PruneRequest{OlderThan: &hour})
	b.must(err)
	if real.Executions.Count != 3 || real.Executions.Bytes != report.Executions.Bytes {
		t.Errorf("it was to delete %+v, and deleted %+v", report.Executions, real.Executions)
	}
}

// TestAPruneNeedsAWord checks that a prune is refused if neither a retention policy nor the request
// sets a period, or if the request names a status that is not terminal. A prune of one org deletes
// no execution of another org.
func TestAPruneNeedsAWord(t *testing.T) {
	b := newBench(t)
	id := b.ended(1)
	b.clock.advance(1000 * 24 * time.Hour)
	_, err := b.e.Pruner.Prune(b.Context(), org, retention.PruneRequest{})
	b.wantCode(err, perdure.InvalidArgument)
	hour := time.Hour
	_, err = b.e.Pruner.Prune(b.Context(), org, retention.PruneRequest{OlderThan: &hour, Status: []perdure.Status{perdure.StatusWaiting}})
	b.wantCode(err, perdure.InvalidArgument)
	_, err = b.e.Pruner.Prune(b.Context(), "other", retention.PruneRequest{OlderThan: &hour})
	b.must(err)
	b.execution(id)
}

// TestDeletedStreamsGoWithTheSweep checks that one sweep deletes all rows of a deleted stream, and
// no row of a stream that is not deleted.
func TestDeletedStreamsGoWithTheSweep(t *testing.T) {
	b := newBench(t)
	stream := store.Stream{ID: uuid.New(), Org: org, Path: "s", ContentType: "text/plain"}
	change := func(c store.StreamChange) {
		t.Helper()
		_, err := b.s.Do(t.Context(), store.Command{Org: org, Decide: func(*store.State) (*store.Changes, error) {
			return &store.Changes{Stream: &c}, nil
		}})
		b.must(err)
	}
	for range 3 {
		stream.Tail += retention.StepRows
		change(store.StreamChange{Stream: stream, Append: slices.Repeat([][]byte{{'x'}}, retention.StepRows)})
	}
	b.sweepRetention()
	pieces, _, err := b.s.StreamContent(t.Context(), stream.ID, 0, 10)
	b.must(err)
	if len(pieces) != 10 {
		t.Errorf("%d rows are left of a stream that is not deleted", len(pieces))
	}
	change(store.StreamChange{Stream: stream, Delete: true})
	b.sweepRetention()
	left, err := b.s.DeadStreams(t.Context())
	b.must(err)
	if left {
		t.Error("the sweep leaves rows of deleted streams")
	}
}
