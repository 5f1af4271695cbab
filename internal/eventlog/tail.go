package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/store"
)

// Tail reads the log from a position on: what is there, oldest first, then what
// comes, until the log ends with an End item, the context is over (its cause is
// the error) or the store fails. A position that does not fit the log, or after
// which records are no longer kept, the start among them, is answered with one
// Reset and the log from its first record. Errors: invalid_argument, not_found.
//
// A reader takes the time it needs: nothing waits for it.
func (l *Log) Tail(ctx context.Context, execution uuid.UUID, from From) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		t := &tail{log: l, execution: execution, yield: yield, idle: from.Idle}
		if t.idle <= 0 {
			t.idle = tick
		}
		defer t.close()
		if err := t.run(ctx, from); err != nil && !errors.Is(err, errLeft) {
			yield(Item{}, err)
		}
	}
}

// errLeft says that the reader has broken out of its loop.
var errLeft = errors.New("the reader has left")

// tail is one reader.
type tail struct {
	log       *Log
	execution uuid.UUID
	yield     func(Item, error) bool
	idle      time.Duration
	timer     *time.Timer // of the waits
	follower  *follower   // from when it has caught up first
	turn      int         // of the follower, when at was known to be of its log

	at    perdure.Cursor // of the last item
	ended bool
	// Chunks up to coveredPos of blocks up to coveredSeq came in snapshots.
	coveredSeq, coveredPos int64
}

func (t *tail) close() {
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.follower != nil {
		t.log.unfollow(t.follower)
	}
}

func (t *tail) run(ctx context.Context, from From) error {
	if err := t.begin(ctx, from); err != nil {
		return err
	}
	for !t.ended {
		if err := t.step(ctx); err != nil {
			return err
		}
	}
	return t.give(Item{Event: End, Cursor: t.at, Data: []byte("{}")})
}

// step returns what there is after the position, or waits for it.
func (t *tail) step(ctx context.Context) error {
	seen, err := t.next(ctx)
	if errors.Is(err, errTruncated) {
		return t.reset(ctx, ResetTruncated)
	}
	if err != nil {
		return err
	}
	if epoch := t.log.epoch(seen.head); epoch != t.at.Epoch {
		return t.reset(ctx, ResetEpoch)
	}
	if t.follower != nil && seen.turn != t.turn {
		return t.check(ctx, seen.turn)
	}
	if len(seen.items) == 0 {
		return t.wait(ctx, seen.changed)
	}
	for i, item := range seen.items {
		item.More, item.Live = i < len(seen.items)-1, t.follower != nil
		if err := t.pass(item); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// check continues where the position fits the log that the follower has come to hold, and
// begins again where it does not.
func (t *tail) check(ctx context.Context, turn int) error {
	head, err := t.log.read.LogHead(ctx, t.execution)
	if err != nil {
		return err
	}
	reason, err := t.log.misfit(ctx, t.execution, t.at, head)
	if err != nil {
		return err
	}
	t.turn = turn
	if reason != "" {
		return t.reset(ctx, reason)
	}
	return nil
}

// next looks at the follower's ring first, and reads the store where that does
// not reach back far enough.
func (t *tail) next(ctx context.Context) (look, error) {
	var seen look
	if t.follower != nil {
		var err error
		if seen, err = t.follower.after(t.at.Pos); err != nil || seen.held {
			return seen, err
		}
	}
	done := fair.Compute(ctx)
	defer done()
	items, head, err := t.log.page(ctx, t.execution, t.at.Pos, pageRecords)
	// changed is older than the read: what the read missed will close it.
	return look{items: items, head: head, turn: seen.turn, changed: seen.changed}, err
}

// pass returns an item of the log. Of one that a snapshot has shown it gives the
// position alone.
func (t *tail) pass(item Item) error {
	t.at = item.Cursor
	if item.Event.Ends() {
		t.ended, item.More = true, true
	}
	if t.covered(item) {
		item = Item{Cursor: item.Cursor, More: item.More, Live: item.Live}
	}
	return t.give(item)
}

// covered reports whether the item is a chunk that came in a snapshot. Events of
// up to that seq are before the position, so what is left of it are chunks.
func (t *tail) covered(item Item) bool {
	return item.Seq <= t.coveredSeq && item.Cursor.Pos <= t.coveredPos
}

func (t *tail) give(item Item) error {
	if !t.yield(item, nil) {
		return errLeft
	}
	return nil
}

// wait returns when there may be more to read, or gives an idle item. The reader
// that gets a hint reads for all that follow the log.
func (t *tail) wait(ctx context.Context, changed <-chan struct{}) error {
	if t.follower == nil {
		t.follower = t.log.follow(store.OrgOf(ctx), t.execution)
		t.turn = t.follower.turns()
		return nil // look again, now that nothing can be missed
	}
	if t.timer == nil {
		t.timer = time.NewTimer(t.idle)
	} else {
		t.timer.Reset(t.idle)
	}
	defer fair.Wait(ctx)()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-changed:
		return nil
	case <-t.follower.hints:
		t.log.advance(t.follower)
		return nil
	case <-t.timer.C:
		return t.give(Item{Cursor: t.at})
	}
}

// begin finds the position to read from.
func (t *tail) begin(ctx context.Context, from From) error {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil {
		return err
	}
	if from.AfterSeq != nil && *from.AfterSeq < 0 {
		return perdure.FieldErrorf("after_seq", "must not be negative")
	}
	head, err := t.log.read.LogHead(ctx, t.execution)
	if err != nil {
		return err
	}
	t.at.Epoch = t.log.epoch(head)
	switch {
	case c != perdure.Cursor{}:
		return t.beginAt(ctx, c, head)
	case from.AfterSeq != nil && *from.AfterSeq > head.LastSeq:
		return t.reset(ctx, ResetAhead)
	case from.AfterSeq != nil && *from.AfterSeq > 0:
		return t.beginAfterSeq(ctx, *from.AfterSeq)
	}
	return nil
}

func (t *tail) beginAt(ctx context.Context, c perdure.Cursor, head store.Head) error {
	reason, err := t.log.misfit(ctx, t.execution, c, head)
	if err != nil {
		return err
	}
	if reason != "" {
		return t.reset(ctx, reason)
	}
	t.at = c
	return t.endedAt(ctx, head)
}

// endedAt notes that there is nothing after the position and never will be.
func (t *tail) endedAt(ctx context.Context, head store.Head) error {
	if t.at.Pos < head.LastPos {
		return nil
	}
	var err error
	t.ended, err = t.log.ended(ctx, t.execution, head)
	return err
}
