package log

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

// Tail yields the log from a position: first the existing records, oldest first, then new records
// as they are committed. When the log ends, Tail ends after an item with the event End. It also
// ends when ctx is done, with the cause as its error, or when the store fails. If the position does
// not fit the log, or if records after the position were pruned, Tail yields one reset and then the
// log from its first record. Errors: invalid_argument, not_found.
//
// A reader may take any time for an item: neither writers nor other readers wait for the reader.
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

// errLeft ends the tail of a reader that has left its loop over the items.
var errLeft = errors.New("the reader has left")

// tail is the state of one reader of a log, during one call of [Log.Tail].
type tail struct {
	log       *Log
	execution uuid.UUID
	yield     func(Item, error) bool
	idle      time.Duration
	timer     *time.Timer // used by wait
	follower  *follower   // nil until the reader has caught up
	turn      int         // value of the follower's turn when the field at was last checked

	at    perdure.Cursor // position after the last item
	ended bool
	// coveredSeq and coveredPos describe what the reader has received in snapshots: the chunks up
	// to coveredPos of the blocks with a seq up to coveredSeq.
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
	return t.give(endItem(t.at))
}

// step yields the items after the reader's position. If there are none, step waits until there
// may be some.
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

// check checks whether the reader's position fits the log that the follower now reads. If not, it
// sends the reader a reset.
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

// next returns the items after the reader's position. It reads them from the follower's ring, or
// from the store if the ring begins later.
func (t *tail) next(ctx context.Context) (followerView, error) {
	var seen followerView
	if t.follower != nil {
		var err error
		if seen, err = t.follower.after(t.at.Pos); err != nil || seen.held {
			return seen, err
		}
	}
	done := fair.Compute(ctx)
	defer done()
	items, head, err := t.log.page(ctx, t.execution, t.at.Pos, pageRecords)
	fair.Charge(ctx, time.Duration(sizeOf(items))*fair.PerByte) // the request writes the items later, when it has no place
	// The follower has returned the channel seen.changed before this read of the store. If the read
	// has missed a later record, the follower closes the channel, and the reader reads again.
	return followerView{items: items, head: head, turn: seen.turn, changed: seen.changed}, err
}

// sizeOf returns the approximate size in bytes of the JSON of the items.
func sizeOf(items []Item) (bytes int) {
	for _, i := range items {
		bytes += i.weight()
	}
	return bytes
}

// pass sends the reader an item of the log. If the reader has already received it in a snapshot,
// pass sends an item that only moves the position.
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

// covered reports whether the reader has already received the item in a snapshot. Such an item is a
// chunk: new events have a seq greater than coveredSeq.
func (t *tail) covered(item Item) bool {
	return item.Seq <= t.coveredSeq && item.Cursor.Pos <= t.coveredPos
}

func (t *tail) give(item Item) error {
	if !t.yield(item, nil) {
		return errLeft
	}
	return nil
}

// wait returns when the log may have more records. If it has none for the idle interval, wait sends
// the reader an idle item. The first reader that receives a hint reads the store for all readers of
// the log.
func (t *tail) wait(ctx context.Context, changed <-chan struct{}) error {
	if t.follower == nil {
		t.follower = t.log.follow(store.OrgOf(ctx), t.execution)
		t.turn = t.follower.turns()
		return nil // reads once more: no later hint can be missed
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

// begin sets the reader's start position.
func (t *tail) begin(ctx context.Context, from From) error {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil {
		return err
	}
	if from.AfterSeq != nil && *from.AfterSeq < 0 {
		return perdure.FieldErrorf("after_seq", "must not be negative")
	}
	done := fair.Compute(ctx)
	head, err := t.log.read.LogHead(ctx, t.execution)
	done()
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

// endedAt sets the field `ended` if the log has ended and the reader has received all of it.
func (t *tail) endedAt(ctx context.Context, head store.Head) error {
	if t.at.Pos < head.LastPos {
		return nil
	}
	var err error
	t.ended, err = t.log.ended(ctx, t.execution, head)
	return err
}
