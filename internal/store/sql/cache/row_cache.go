// Package cache keeps rows of executions, tasks and blocks in memory. A batch keeps the rows that
// its transaction has read or written. A store with a single committer also keeps rows between
// transactions.
package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// RowCache caches rows of executions and their open tasks between transactions. It is for a store
// with a single committer and no other writers, so the cached rows equal the stored rows. If a
// transaction does not commit, the caller must call Clear: the counts in `holds` already include
// the writes of that transaction. Rows of executions that have not been used for long are evicted.
// A RowCache must be used by one goroutine at a time. A nil RowCache caches nothing.
type RowCache struct {
	// The map `young` contains new and recently used executions. When it is full, it replaces the
	// map `old`, and the executions that were in `old` are dropped.
	young, old map[uuid.UUID]*cachedExecution
	size       int // approximate size of the rows in young, in bytes
	limit      int // maximum of size
	// holds contains, for some workers, how many executions the worker has claimed. Unlike the
	// rows, these counts change with each write, before the commit.
	holds map[uuid.UUID]*holding
	hooks Webhooks
}

// cachedExecution is the cached row of an execution, with the rows of its open tasks and blocks.
type cachedExecution struct {
	loaded load.ExecutionRow
	tasks  map[uuid.UUID]*load.TaskRow
	blocks blockRows
	all    *everything // nil if unknown
	size   int
}

const (
	// rowCacheBytes is the default limit, in bytes, for the rows in `young`, and the same again for
	// those in `old`.
	rowCacheBytes = 8 << 20
	// maxTaskBytes is the maximum size of the cached tasks of one execution, in bytes.
	maxTaskBytes = 256 << 10
	// executionBytes and taskBytes are estimates of the memory of a row without its texts.
	executionBytes, taskBytes = 5 << 10, 1 << 10
)

// NewRowCache creates an empty cache. The maximum size of the cache is twice `limit`, in bytes; 0
// means a limit of 8 MiB.
func NewRowCache(limit int) *RowCache {
	k := &RowCache{limit: limit}
	if limit == 0 {
		k.limit = rowCacheBytes
	}
	k.Clear()
	return k
}

// Clear empties the cache.
func (k *RowCache) Clear() {
	if k == nil {
		return
	}
	k.young, k.old, k.size = map[uuid.UUID]*cachedExecution{}, map[uuid.UUID]*cachedExecution{}, 0
	k.holds = map[uuid.UUID]*holding{}
	k.hooks.Clear()
}

func (k *RowCache) get(id uuid.UUID) *cachedExecution {
	if x := k.young[id]; x != nil {
		return x
	}
	x := k.old[id]
	if x != nil {
		delete(k.old, id)
		k.put(id, x)
	}
	return x
}

func (k *RowCache) put(id uuid.UUID, x *cachedExecution) {
	if before := k.young[id]; before != nil {
		k.size -= before.size
	}
	if k.size+x.size > k.limit {
		k.young, k.old, k.size = map[uuid.UUID]*cachedExecution{}, k.young, 0
	}
	delete(k.old, id)
	k.young[id] = x
	k.size += x.size
}

func (k *RowCache) drop(id uuid.UUID) {
	if x := k.young[id]; x != nil {
		k.size -= x.size
		delete(k.young, id)
	}
	delete(k.old, id)
}

// settle adds to the cache the rows that a transaction has read and written. It is called after the
// transaction was committed.
func (k *RowCache) settle(t *Batch) {
	for id, l := range t.Rows {
		if l.Row == nil || l.Row.Status.Terminal() {
			k.drop(id)
			continue
		}
		x := &cachedExecution{loaded: l}
		if before := k.get(id); before != nil {
			x.tasks, x.blocks, x.all = before.tasks, before.blocks, before.all
		}
		x.learns(t, id)
		k.put(id, x.weighed())
	}
	for id, tasks := range t.tasks {
		x := k.get(id)
		if x == nil {
			continue
		}
		for task, row := range tasks {
			if row == nil {
				delete(x.tasks, task)
				continue
			}
			if x.tasks == nil {
				x.tasks = map[uuid.UUID]*load.TaskRow{}
			}
			x.tasks[task] = row
		}
		k.size -= x.size
		x.weighed()
		k.size += x.size
	}
	k.settleBlocks(t)
}

// weighed computes the size of the execution's cached rows and sets x.size. If there are too many
// tasks or blocks, it drops them.
func (x *cachedExecution) weighed() *cachedExecution {
	row := x.loaded.Row
	x.size = executionBytes + len(row.Answer) + len(row.Metadata) + 64*len(row.RecordedWaits.Dues)
	tasks := 0
	for _, t := range x.tasks {
		tasks += taskBytes + len(t.Progress)
	}
	if tasks > maxTaskBytes {
		x.tasks, tasks = nil, 0
	}
	if len(x.blocks) > maxCachedBlocks {
		x.blocks = nil
	}
	x.size += tasks + blockBytes*len(x.blocks)
	if x.all != nil {
		x.size += taskKnown * len(x.all.tasks)
	}
	return x
}

// Use sets the cache whose rows the transaction uses. After the commit, Committed updates this
// cache.
func (t *Batch) Use(k *RowCache) {
	if k == nil {
		return
	}
	t.cache, t.tasks = k, map[uuid.UUID]map[uuid.UUID]*load.TaskRow{}
	t.UseWebhooks(&k.hooks)
	t.begun, t.blocks, t.open = map[uuid.UUID]struct{}{}, map[uuid.UUID]struct{}{}, map[uuid.UUID]blockRows{}
}

// Committed updates the cache. It must be called after the transaction was committed.
func (t *Batch) Committed() {
	if t.cache != nil {
		t.cache.settle(t)
	}
	t.hooks.settle()
}

// Forget drops the cached rows of an execution, because they may no longer equal the stored rows.
func (t *Batch) Forget(id uuid.UUID) {
	delete(t.Rows, id)
	if t.cache != nil {
		delete(t.tasks, id)
		delete(t.begun, id)
		delete(t.blocks, id)
		delete(t.open, id)
		t.cache.drop(id)
		clear(t.cache.holds)
	}
}

// ForgetAll drops all cached rows.
func (t *Batch) ForgetAll() {
	clear(t.Rows)
	if t.cache != nil {
		clear(t.tasks)
		clear(t.begun)
		clear(t.blocks)
		clear(t.open)
		t.cache.Clear()
	}
}

// Task returns a task's row; nil if there is none.
func (t *Batch) Task(v statement.View, execution, id uuid.UUID) (*load.TaskRow, error) {
	if t.cache == nil {
		row, err := loadTask(v, execution, id)
		return load.RowOf(row), err
	}
	if row, ok := t.tasks[execution][id]; ok && row != nil {
		return row, nil
	} else if !ok {
		if x := t.cache.get(execution); x != nil && x.tasks[id] != nil {
			return x.tasks[id], nil
		}
		if t.hasNot(execution, id) {
			return nil, nil
		}
	}
	found, err := loadTask(v, execution, id)
	if err != nil || found == nil {
		return nil, err
	}
	row := load.RowOf(found)
	t.Wrote(row)
	return row, nil
}

// Wrote must be called after the row of a task was written. It caches the row if the task is open,
// for later commands of the batch.
func (t *Batch) Wrote(row *load.TaskRow) {
	if t.cache == nil {
		return
	}
	tasks := t.tasks[row.ExecutionID]
	if tasks == nil {
		tasks = map[uuid.UUID]*load.TaskRow{}
		t.tasks[row.ExecutionID] = tasks
	}
	if tasks[row.ID] = nil; !row.Status.Terminal() {
		tasks[row.ID] = row
	}
}

// Compare reads, over c, the stored rows of all cached rows. It returns an error if a cached row
// differs from its stored row.
func (k *RowCache) Compare(ctx context.Context, c statement.Conn, dialect *statement.Dialect) error {
	if k == nil {
		return nil
	}
	v := statement.View{Conn: c, Context: ctx, Dialect: dialect}
	var errs []error
	for _, half := range []map[uuid.UUID]*cachedExecution{k.young, k.old} {
		for id, x := range half {
			errs = append(errs, compareExecution(v, id, x), compareEverything(v, id, x.all))
			for task, row := range x.tasks {
				errs = append(errs, compareTask(v, id, task, row))
			}
			for _, b := range x.blocks {
				errs = append(errs, compareBlock(v, id, b))
			}
		}
	}
	for worker, h := range k.holds {
		errs = append(errs, compareHolding(v, worker, h))
	}
	return errors.Join(append(errs, compareWebhooks(v, &k.hooks))...)
}

func compareExecution(v statement.View, id uuid.UUID, x *cachedExecution) error {
	stored, err := loadExecution(v, id)
	if err != nil {
		return err
	}
	if stored.Row == nil {
		return fmt.Errorf("execution %s is kept and not stored", id)
	}
	if stored.Head != x.loaded.Head || stored.HasHead != x.loaded.HasHead || stored.Row.MaxSeq != x.loaded.Row.MaxSeq {
		return fmt.Errorf("the head of %s is kept as %+v and stored as %+v", id, x.loaded.Head, stored.Head)
	}
	a, err := load.ExecutionRows.Values(x.loaded.Row)
	if err != nil {
		return err
	}
	b, err := load.ExecutionRows.Values(stored.Row)
	if err != nil {
		return err
	}
	return errors.Join(
		differs("execution "+id.String(), load.ExecutionRows.Table, a, b),
		differs("execution "+id.String()+" by its columns", load.ExecutionRows.Table, x.loaded.Values, b),
	)
}

func compareTask(v statement.View, execution, id uuid.UUID, row *load.TaskRow) error {
	stored, err := loadTask(v, execution, id)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("task %s of %s is kept and not stored", id, execution)
	}
	a, err := load.TaskValues(row.Task, nil)
	if err != nil {
		return err
	}
	b, err := load.TaskValues(stored, nil)
	if err != nil {
		return err
	}
	return errors.Join(
		differs("task "+id.String(), load.TaskRows.Table, a, b),
		differs("task "+id.String()+" by its columns", load.TaskRows.Table, row.Values, b),
	)
}

func differs(what string, t row.Table, kept, stored []any) error {
	for i := range kept {
		if !column.Same(kept[i], stored[i]) {
			return fmt.Errorf("%s has a %s that is kept as %v and stored as %v", what, t.Columns[i], kept[i], stored[i])
		}
	}
	return nil
}
