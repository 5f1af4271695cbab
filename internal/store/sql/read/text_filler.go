package read

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/listing"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/sql/trigram"
)

// TextFiller indexes the texts of executions in the background, one block of execution numbers at a
// time. So the start of an execution does not wait for the index.
type TextFiller struct {
	reader *Reader
	do     func(context.Context, store.Command) ([]any, error)
	calls  atomic.Int64
	wake   chan struct{}
}

// NewTextFiller creates a filler for a store.
func NewTextFiller(r *Reader, do func(context.Context, store.Command) ([]any, error)) *TextFiller {
	return &TextFiller{reader: r, do: do, wake: make(chan struct{}, 1)}
}

const (
	// fillerShare determines the filler's pauses: after one second of work, it pauses for
	// fillerShare seconds.
	fillerShare = 24
	// fillerPause is the time between waking the filler and the beginning of its work. After an
	// error, the filler waits for [store.TextAge].
	fillerPause = time.Second
)

// Called must be called for each command of the store. At every TextBlock-th call, it wakes the
// filler, which then looks for a new block to index.
func (f *TextFiller) Called() {
	if f.calls.Add(1)%trigram.TextBlock != 0 {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run indexes blocks until ctx ends.
func (f *TextFiller) Run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		filled, later, err := f.Fill(ctx)
		switch {
		case filled:
			rest(ctx, fillerShare*time.Since(began))
		case err != nil || later:
			rest(ctx, store.TextAge)
		default:
			select {
			case <-ctx.Done():
			case <-f.wake:
				rest(ctx, fillerPause)
			}
		}
	}
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Fill indexes the next block. The result `filled` reports whether it did. If `later` is true, the
// block is not complete yet, but will be within [store.TextAge].
func (f *TextFiller) Fill(ctx context.Context) (filled, later bool, err error) {
	var b *store.TextBlock
	err = f.reader.Read(ctx, func(v statement.View) (err error) {
		b, later, err = f.reader.readBlock(v)
		return err
	})
	if err != nil || b == nil {
		return false, later, err
	}
	_, err = f.do(ctx, store.Command{
		Name: "index texts", Lane: store.LaneSweeps,
		Decide: func(*store.State) (*store.Changes, error) { return &store.Changes{Texts: b}, nil },
	})
	return err == nil && !b.Stale, b.Stale, err
}

// readBlock reads the texts of the next block to index. The result `b` is nil if the block is not
// complete yet. If `young` is true, that block becomes complete without new executions, when enough
// time has passed.
func (r *Reader) readBlock(v statement.View) (b *store.TextBlock, young bool, err error) {
	b = &store.TextBlock{}
	if _, err := v.One(listing.TextBlocks, nil, &b.Block); err != nil {
		return nil, false, err
	}
	orgs, err := tenant.PendingOrgs(v, "", tenant.NextOrg)
	if err != nil {
		return nil, false, err
	}
	first, last := b.Block*trigram.TextBlock, (b.Block+1)*trigram.TextBlock-1
	if whole, young, err := r.complete(v, orgs, last); err != nil || !whole {
		return nil, young, err
	}
	var texts []trigram.FoundBy
	for _, org := range orgs {
		more, err := listing.LoadTexts(v, listing.TextsOfBlock, org, first, last)
		if err != nil {
			return nil, false, err
		}
		texts = append(texts, more...)
	}
	for i := range texts {
		b.Numbers = append(b.Numbers, texts[i].Number)
	}
	slices.Sort(b.Numbers)
	b.Parts = trigram.IndexTexts(texts)
	return b, false, nil
}

// complete reports whether no new execution can get a number up to `last`. For that, there must be
// an execution with a greater number. In a store with concurrent transactions, that execution must
// also be older than store.TextAge, so that transactions with lower numbers have ended. The result
// `young` reports that only this age is missing.
func (r *Reader) complete(v statement.View, orgs []string, last int64) (whole, young bool, err error) {
	for _, org := range orgs {
		var created perdure.Time
		found, err := v.One(listing.FirstBeyond, []any{org, last}, column.TimeInto(&created))
		if err != nil {
			return false, false, err
		}
		if found && (v.Dialect.ReusesNumbers || r.Now().Sub(created.Time) > store.TextAge) {
			return true, false, nil
		}
		young = young || found
	}
	return false, young, nil
}
