package relational

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// RowCache caches rows of executions and their open tasks between transactions. It is for a store
// with a single committer and no other writers, so the cached rows equal the stored rows. Cached
// rows change only after a commit; the counts in holds change with each write. After a transaction
// that did not commit, the caller must call Clear. Rows of executions that have not been used for
// long are evicted. It must be used by one goroutine at a time. A nil RowCache caches nothing.
type RowCache struct {
	// young takes new and recently used executions. When it is full, it replaces old, whose rows
	// are dropped.
	young, old map[uuid.UUID]*cachedExecution
	size       int // approximate size of young, in bytes
	limit      int // maximum of size
	// holds counts the executions that some of the workers hold. The counts change with each write,
	// before the commit.
	holds map[uuid.UUID]*holding
}

// cachedExecution is the cached row of an execution, with the rows of its open tasks and blocks.
type cachedExecution struct {
	loaded loadedExecution
	tasks  map[uuid.UUID]*taskRow
	blocks blockRows
	all    *everything // nil if unknown
	size   int
}

const (
	// rowCacheBytes is the default limit of each of the two halves.
	rowCacheBytes = 8 << 20
	// maxTaskBytes is the maximum size of all tasks of one execution.
	maxTaskBytes = 256 << 10
	// The size of a row without its texts.
	executionBytes, taskBytes = 5 << 10, 1 << 10
)

// NewRowCache creates an empty cache. It holds up to twice limit bytes; 0 means 8 MiB.
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

// settle adds the rows that a committed transaction has read and written to the cache.
func (k *RowCache) settle(t *batchRows) {
	for id, l := range t.rows {
		if l.row == nil || l.row.Status.Terminal() {
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
				x.tasks = map[uuid.UUID]*taskRow{}
			}
			x.tasks[task] = row
		}
		k.size -= x.size
		x.weighed()
		k.size += x.size
	}
	k.settleBlocks(t)
}

// weighed computes and sets the size. It drops tasks and blocks if they are too large.
func (x *cachedExecution) weighed() *cachedExecution {
	row := x.loaded.row
	x.size = executionBytes + len(row.Answer) + len(row.Metadata) + 64*len(row.Asked.Dues)
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

// use sets the cache whose rows the transaction uses. Committed updates it.
func (t *batchRows) use(k *RowCache) {
	if k == nil {
		return
	}
	t.cache, t.tasks = k, map[uuid.UUID]map[uuid.UUID]*taskRow{}
	t.begun, t.blocks, t.open = map[uuid.UUID]struct{}{}, map[uuid.UUID]struct{}{}, map[uuid.UUID]blockRows{}
}

// Committed updates the cache. It must be called once the transaction is committed.
func (t *batchRows) Committed() {
	if t.cache != nil {
		t.cache.settle(t)
	}
}

// forget drops cached rows that no longer equal the stored rows.
func (t *batchRows) forget(id uuid.UUID) {
	delete(t.rows, id)
	if t.cache != nil {
		delete(t.tasks, id)
		delete(t.begun, id)
		delete(t.blocks, id)
		delete(t.open, id)
		t.cache.drop(id)
		clear(t.cache.holds)
	}
}

func (t *batchRows) forgetAll() {
	clear(t.rows)
	if t.cache != nil {
		clear(t.tasks)
		clear(t.begun)
		clear(t.blocks)
		clear(t.open)
		t.cache.Clear()
	}
}

// task returns a task's row; nil if there is none.
func (t *batchRows) task(v view, execution, id uuid.UUID) (*taskRow, error) {
	if t.cache == nil {
		row, err := loadTask(v, execution, id)
		return rowOf(row), err
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
	row := rowOf(found)
	t.wrote(row)
	return row, nil
}

// wrote caches a task's row as written, if the task is open.
func (t *batchRows) wrote(row *taskRow) {
	if t.cache == nil {
		return
	}
	tasks := t.tasks[row.ExecutionID]
	if tasks == nil {
		tasks = map[uuid.UUID]*taskRow{}
		t.tasks[row.ExecutionID] = tasks
	}
	if tasks[row.ID] = nil; !row.Status.Terminal() {
		tasks[row.ID] = row
	}
}

// Compare returns an error if a cached row differs from the stored row, which it reads with c.
func (k *RowCache) Compare(ctx context.Context, c Conn, dialect *Dialect) error {
	if k == nil {
		return nil
	}
	v := view{c, ctx, dialect}
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
	return errors.Join(errs...)
}

func compareExecution(v view, id uuid.UUID, x *cachedExecution) error {
	stored, err := loadExecution(v, id)
	if err != nil {
		return err
	}
	if stored.row == nil {
		return fmt.Errorf("execution %s is kept and not stored", id)
	}
	if stored.head != x.loaded.head || stored.hasHead != x.loaded.hasHead || stored.row.MaxSeq != x.loaded.row.MaxSeq {
		return fmt.Errorf("the head of %s is kept as %+v and stored as %+v", id, x.loaded.head, stored.head)
	}
	a, err := executions.values(x.loaded.row)
	if err != nil {
		return err
	}
	b, err := executions.values(stored.row)
	if err != nil {
		return err
	}
	return errors.Join(
		differs("execution "+id.String(), executions.table, a, b),
		differs("execution "+id.String()+" by its columns", executions.table, x.loaded.values, b),
	)
}

func compareTask(v view, execution, id uuid.UUID, row *taskRow) error {
	stored, err := loadTask(v, execution, id)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("task %s of %s is kept and not stored", id, execution)
	}
	a, err := taskValues(row.Task, nil)
	if err != nil {
		return err
	}
	b, err := taskValues(stored, nil)
	if err != nil {
		return err
	}
	return errors.Join(
		differs("task "+id.String(), tasks.table, a, b),
		differs("task "+id.String()+" by its columns", tasks.table, row.values, b),
	)
}

func differs(what string, t table, kept, stored []any) error {
	for i := range kept {
		if !same(kept[i], stored[i]) {
			return fmt.Errorf("%s has a %s that is kept as %v and stored as %v", what, t.columns[i], kept[i], stored[i])
		}
	}
	return nil
}
