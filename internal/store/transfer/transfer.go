// Package transfer copies a whole store from SQLite to PostgreSQL: every row of every table in the
// schema.
//
// A copy can be interrupted at any moment and continued with the same command. First the target is
// locked against servers. Then rows are copied in batches. Each batch is a transaction that also
// stores the progress of the table. Then both stores are read completely and compared. Then the
// source is marked as moved, which closes it to servers. Last, the target is opened to servers. So
// servers can never use both stores.
package transfer

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/sql/schema"
	"github.com/perdure/perdure/internal/store/sqlite"
)

// Options configures a copy.
type Options struct {
	// From is the path of the SQLite file from which to copy, the source. No other process may have
	// this file open.
	From string
	// To is the URL of the database into which to copy, the target. The database must exist and be
	// empty. ToName names the database in messages; it contains no password.
	To, ToName string
	// Keep leaves the source open to servers. The copy then gets a new epoch, so cursors of the
	// source are not valid in the copy. Without Keep, the source is closed to servers, and its
	// cursors are valid in the copy.
	Keep bool
	// Prepare migrates the source before its rows are read. If Prepare is nil, Copy migrates the
	// source: it opens the source as a store and closes it.
	Prepare func(ctx context.Context) error
	// Now is the current time, which is recorded as the time of the move.
	Now perdure.Time
	// Told, if set, is called with the progress after each batch and table.
	Told func(Progress)
}

// Step is a part of a copy.
type Step string

// The steps of a copy.
const (
	StepCopy    Step = "copy"
	StepCompare Step = "compare"
)

// Progress is the progress of the copy of one table.
type Progress struct {
	Step  Step
	Table string
	Rows  int64
	Bytes int64 // size of the copied rows
	// Mended is the number of texts of the table that were not valid UTF-8 or had a zero byte. In
	// the target, U+FFFD replaces these bytes.
	Mended int64
	Done   bool // set when the table is finished
}

// Count is the number of rows of a table that were copied and compared.
type Count struct {
	Table  string
	Rows   int64
	Mended int64 // as in Progress.Mended
}

// Result is the result of a copy.
type Result struct {
	Tables []Count
	// Already reports whether an earlier call finished the copy.
	Already bool
	// Continued reports whether the call continued an interrupted copy.
	Continued bool
	// Epoch is the epoch of the target.
	Epoch uint64
}

// Copy copies a store. It may be interrupted at any moment and called again with the same options.
//
// The error is conflict if the source was moved to another target, if the target is not empty, or
// if a server or another copy uses the target. It is unavailable if the source is in use or the
// target cannot be reached. It is invalid_argument if PostgreSQL cannot store a text of the source
// (but in some JSON columns such a text is changed). It is internal if source and target differ
// after the copy.
func Copy(ctx context.Context, o Options) (_ *Result, err error) {
	if o.Told == nil {
		o.Told = func(Progress) {}
	}
	if o.Prepare == nil {
		o.Prepare = o.openOnce
	}
	c := &copier{Options: o}
	if c.target, err = postgres.OpenTarget(ctx, o.To); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.target.Close()) }()
	if c.source, err = sqlite.OpenSource(ctx, o.From); err != nil {
		return nil, err
	}
	defer func() {
		if c.source != nil {
			err = errors.Join(err, c.source.Close())
		}
	}()
	return c.run(ctx)
}

func (o *Options) openOnce(ctx context.Context) error {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: o.From})
	if err != nil {
		return err
	}
	return s.Close()
}

// copier is the state of a copy.
type copier struct {
	Options
	source *sqlite.Source
	target *postgres.Target
	id     uuid.UUID
	result Result
}

func (c *copier) run(ctx context.Context) (*Result, error) {
	done, err := c.begin(ctx)
	if err != nil || done {
		return &c.result, err
	}
	if err := c.sameTables(ctx); err != nil {
		return nil, err
	}
	tables := c.target.Tables()
	here, err := c.source.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := c.copyTable(ctx, ordered(t, here)); err != nil {
			return nil, err
		}
	}
	for _, t := range tables {
		count, err := c.compare(ctx, t, ordered(t, here))
		if err != nil {
			return nil, err
		}
		c.result.Tables = append(c.result.Tables, count)
	}
	if err := c.finish(ctx); err != nil {
		return nil, err
	}
	return &c.result, nil
}

// ordered returns the table t with the key of the same table in the source, so that the rows of
// both tables are read in the same order.
func ordered(t schema.Table, here []schema.Table) schema.Table {
	for _, h := range here {
		if h.Name == t.Name {
			t.Key = h.Key
		}
	}
	return t
}

// begin determines which steps of the copy remain. If there is no copy to continue, it starts a new
// one. begin returns true if no step remains.
func (c *copier) begin(ctx context.Context) (done bool, err error) {
	moved, err := c.source.Moved(ctx)
	if err != nil {
		return false, err
	}
	there, err := c.target.Unfinished(ctx)
	if err != nil {
		return false, err
	}
	source, madeAt, err := c.state(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case moved != nil && there != nil && there.ID == moved.Copy:
		c.id, c.result.Continued = there.ID, true
		return false, nil
	case moved != nil:
		return c.movedBefore(ctx, moved)
	case there != nil && there.MadeAt != madeAt:
		return false, perdure.Errorf(perdure.Conflict, "the target holds an unfinished copy of another store; empty it first")
	case there != nil && there.Source == source && there.Keep == c.Keep && c.sameTables(ctx) == nil:
		c.id, c.result.Continued = there.ID, true
		return false, nil
	case there == nil:
		empty, err := c.target.Empty(ctx)
		if err != nil {
			return false, err
		}
		if !empty {
			return false, perdure.Errorf(perdure.Conflict, "something is stored in the target already; give a database of its own")
		}
	}
	return false, c.beginAnew(ctx)
}

func (c *copier) sameTables(ctx context.Context) error {
	here, err := c.source.Tables(ctx)
	if err != nil {
		return err
	}
	return schema.SameTables(here, c.target.Tables())
}

// movedBefore is called for a source that is marked as moved. The target has no unfinished copy of
// that move. If the target has the epoch of the source, an earlier call has finished the copy.
// Otherwise the store was moved to another target, and the error is conflict.
func (c *copier) movedBefore(ctx context.Context, moved *sqlite.Moved) (done bool, err error) {
	epoch, _, err := c.source.Identity(ctx)
	if err != nil {
		return false, err
	}
	if c.result.Epoch, err = c.target.Epoch(ctx); err != nil {
		return false, err
	}
	if c.result.Epoch != epoch {
		return false, perdure.Errorf(perdure.Conflict, "the store has been moved to %s already", moved.To)
	}
	c.result.Already = true
	return true, nil
}

// state returns a text that identifies the state of the source. The text changes whenever a server
// opens the source. The result `madeAt` is the time at which the source was created.
func (c *copier) state(ctx context.Context) (state string, madeAt int64, err error) {
	epoch, madeAt, err := c.source.Identity(ctx)
	if err != nil {
		return "", 0, err
	}
	opened, err := c.source.Opened(ctx)
	return strconv.FormatUint(epoch, 16) + "-" + strconv.FormatInt(opened, 16), madeAt, err
}

func (c *copier) beginAnew(ctx context.Context) error {
	err := c.source.Close()
	c.source = nil
	if err == nil {
		err = c.Prepare(ctx)
	}
	if err != nil {
		return err
	}
	if c.source, err = sqlite.OpenSource(ctx, c.From); err != nil {
		return err
	}
	source, madeAt, err := c.state(ctx)
	if err != nil {
		return err
	}
	c.id = uuid.New()
	return c.target.Begin(ctx, postgres.Copying{ID: c.id, Source: source, MadeAt: madeAt, Keep: c.Keep})
}

// finish closes the source to servers, unless Keep is set. Then it opens the target to servers.
func (c *copier) finish(ctx context.Context) error {
	epoch, madeAt, err := c.source.Identity(ctx)
	if err != nil {
		return err
	}
	if c.Keep {
		epoch = 0
	} else if err := c.source.Move(ctx, sqlite.Moved{To: c.ToName, Copy: c.id, At: c.Now}); err != nil {
		return err
	}
	if err := c.target.Finish(ctx, epoch, madeAt); err != nil {
		return err
	}
	if c.result.Epoch, err = c.target.Epoch(ctx); err != nil {
		return err
	}
	return c.target.Tidy(ctx)
}
