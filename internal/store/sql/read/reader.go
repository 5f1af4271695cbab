// Package read implements [store.Reader] for SQL databases. It also fills the text index, with
// which lists search for executions.
package read

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/read/audit"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/read/log"
	"github.com/perdure/perdure/internal/store/sql/read/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/work"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// signalBytes is roughly the maximum number of bytes of signal values that one read returns.
const signalBytes = 1 << 20

// Reader implements [store.Reader] for SQL databases.
type Reader struct {
	*base.Source
	audit.Auditor
	log.Logs
	tenant.Tenants
	work.Work

	lazy bool // leave contents in blobs as references
}

// New returns a reader of a store.
func New(s base.Source) Reader {
	return Reader{Source: &s, Auditor: audit.Auditor{Source: &s}, Logs: log.Logs{Source: &s}, Tenants: tenant.Tenants{Source: &s}, Work: work.Work{Source: &s}}
}

// Lazy implements [store.Reader].
func (r *Reader) Lazy() store.Reader {
	lazy := *r
	lazy.lazy = true
	return &lazy
}

// Together implements [store.Reader].
func (r *Reader) Together(ctx context.Context, read func(store.ClaimReader) error) error {
	return r.Tx(ctx, func(c statement.Conn) error {
		return read(r.With(func(_ context.Context, read func(statement.Conn) error) error { return read(c) }))
	})
}

// With returns a reader like r whose reads run in the transactions of tx.
func (r *Reader) With(tx func(ctx context.Context, read func(c statement.Conn) error) error) *Reader {
	source := *r.Source
	source.Tx = tx
	within := New(source)
	within.lazy = r.lazy
	return &within
}

// join loads a content from its blob, if it is in one, unless the reader is lazy.
func (r *Reader) join(v statement.View, execution uuid.UUID, into *json.RawMessage, ref **perdure.BlobRef) error {
	if r.lazy {
		return nil
	}
	return contents.JoinContent(v, execution, into, ref)
}

// Execution implements [store.Reader].
func (r *Reader) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	var x *perdure.Execution
	err := r.Read(ctx, func(v statement.View) error {
		found, err := load.Executions(v, executionWhole, id[:], true)
		if err != nil {
			return err
		}
		if len(found) == 0 || org != "" && found[0].Row.Org != org {
			return base.NoExecution(id)
		}
		x = found[0].Row
		if err := r.join(v, id, &x.Input, &x.InputBlob); err != nil {
			return err
		}
		return r.join(v, id, &x.Output, &x.OutputBlob)
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

var heldByWorker = statement.Read("SELECT id FROM agent_execution WHERE worker_id = ? AND status IN ('RUNNING', 'CANCELLING') AND org_id = ?")

// HeldBy implements [store.Reader].
func (r *Reader) HeldBy(ctx context.Context, org string, worker uuid.UUID) ([]uuid.UUID, error) {
	return r.IDs(ctx, heldByWorker, worker[:], org)
}

// Checkpoint implements [store.Reader].
func (r *Reader) Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error) {
	var found []*perdure.Checkpoint
	err := r.Read(ctx, func(v statement.View) (err error) {
		if sequence == 0 {
			found, err = loadCheckpoints(v, r.join, execution, checkpointNewest)
		} else {
			found, err = loadCheckpoints(v, r.join, execution, checkpointByNo, sequence)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && sequence == 0:
		return nil, perdure.Errorf(perdure.NotFound, "execution %s has no checkpoint", execution)
	case len(found) == 0:
		return nil, perdure.Errorf(perdure.NotFound, "execution %s has no checkpoint %d", execution, sequence)
	}
	return found[0], nil
}

var laterCheckpoint = statement.Read("SELECT EXISTS (SELECT 1 FROM agent_checkpoint WHERE agent_execution_id = ? AND sequence > ?)")

// Checkpoints implements [store.Reader].
func (r *Reader) Checkpoints(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[*perdure.Checkpoint], error) {
	var page store.Page[*perdure.Checkpoint]
	after, err := base.ParseListCursor(cursor, 0)
	if err != nil {
		return page, err
	}
	limit = base.PageLimit(limit)
	err = r.Read(ctx, func(v statement.View) error {
		page.Items, err = loadCheckpoints(v, r.join, execution, checkpointsAfter, after, limit)
		if err != nil || len(page.Items) == 0 {
			return err
		}
		last := page.Items[len(page.Items)-1].Sequence
		var more bool
		_, err := v.One(laterCheckpoint, []any{execution[:], last}, column.FlagInto(&more))
		if more {
			page.Next = base.ListCursor(last)
		}
		return err
	})
	return page, err
}

// PendingSignals implements [store.Reader].
func (r *Reader) PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	if len(patterns) == 0 {
		patterns = []string{"**"}
	}
	if after <= 0 {
		after = -1 // selects all signals
	}
	return base.Get(ctx, r.Source, func(v statement.View) ([]perdure.Signal, error) {
		signals, err := load.Pending(v, execution, patterns, after, base.PageLimit(limit))
		if err != nil {
			return nil, err
		}
		return loadValues(v, r.join, execution, signals, signalBytes)
	})
}

// TakenSignals implements [store.Reader].
func (r *Reader) TakenSignals(ctx context.Context, execution uuid.UUID) ([]perdure.Signal, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]perdure.Signal, error) {
		signals, err := load.Taken(v, execution)
		if err != nil {
			return nil, err
		}
		return loadValues(v, r.join, execution, signals, 1<<62)
	})
}

// Blob implements [store.Reader].
func (r *Reader) Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error) {
	b, err := r.blobRow(ctx, execution, id)
	if err != nil {
		return nil, err
	}
	if b == nil || b.Held != b.Length {
		return nil, perdure.Errorf(perdure.NotFound, "there is no whole blob %s", id)
	}
	return &blobReader{left: b.Length, read: func(n int64) (row []byte, err error) {
		err = r.Read(ctx, func(v statement.View) error {
			row, err = contents.BlobChunk(v, execution, id, n)
			return err
		})
		return row, err
	}}, nil
}

// BlobRow implements [store.Reader].
func (r *Reader) BlobRow(ctx context.Context, execution, id uuid.UUID) (*store.Blob, error) {
	b, err := r.blobRow(ctx, execution, id)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no blob %s in execution %s", id, execution)
	}
	b.Digest = nil
	return b, nil
}

func (r *Reader) blobRow(ctx context.Context, execution, id uuid.UUID) (*store.Blob, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (*store.Blob, error) { return contents.BlobRow(v, execution, id) })
}

// BlobOf implements [store.Reader].
func (r *Reader) BlobOf(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*store.Blob, error) {
	b, err := base.Find(ctx, r.Source, func(v statement.View) (*store.Blob, error) {
		return contents.BlobBy(v, blobBySum, execution[:], sum[:])
	}, "execution %s has no whole blob of the content %s", execution, sum)
	if err != nil {
		return nil, err
	}
	b.Digest = nil
	return b, nil
}

var blobBySum = statement.Read(contents.BlobColumns + " AND sha256 = ? AND owned = 1 AND held = length LIMIT 1")

var executionWhole = statement.Read("SELECT " + load.ExecutionRows.List("x") + load.ExecutionHead + ", x.input, x.output" + load.ExecutionFrom + " AND x.id = ?")
