package cache

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// holding is the number of executions that a worker has claimed, and the number of those that must
// run alone on the worker.
type holding struct{ executions, alone int64 }

const (
	// everyWorker is the maximum number of workers whose counts are cached.
	everyWorker = 1000
)

var countHeld = statement.Read("SELECT count(*), count(*) FILTER (WHERE crashes >= 6) FROM agent_execution INDEXED BY idx_agent_execution_held" +
	" WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING')")

// LoadWorker sets s.Holds to what a worker has claimed. With a cache, it counts the executions
// once, and later writes of rows update the counts. RowCache.Clear, which is called after a
// rollback, drops the counts.
func (t *Batch) LoadWorker(v statement.View, worker uuid.UUID, s *store.State) (err error) {
	if t.cache == nil {
		s.Holds, err = load.Holding(v, worker)
		return err
	}
	h := t.cache.holds[worker]
	if h == nil {
		h = &holding{}
		if _, err := v.One(countHeld, []any{worker[:]}, &h.executions, &h.alone); err != nil {
			return err
		}
		if len(t.cache.holds) >= everyWorker {
			clear(t.cache.holds)
		}
		t.cache.holds[worker] = h
	}
	s.Holds = store.Holding{Executions: h.executions > 0, Alone: h.alone > 0}
	return nil
}

// Held updates the counts of workers after an execution's row was written. The parameter `before`
// is the previous row; nil if there was none.
func (t *Batch) Held(before, after *perdure.Execution) {
	if t.cache != nil {
		t.cache.hold(before, -1)
		t.cache.hold(after, 1)
	}
}

func (k *RowCache) hold(x *perdure.Execution, n int64) {
	if x == nil || x.WorkerID == nil || x.Status != perdure.StatusRunning && x.Status != perdure.StatusCancelling {
		return
	}
	h := k.holds[*x.WorkerID]
	if h == nil {
		return
	}
	h.executions += n
	if x.Crashes >= store.AloneScore {
		h.alone += n
	}
}

// compareHolding returns an error if the cached counts of a worker differ from the stored rows.
func compareHolding(v statement.View, worker uuid.UUID, h *holding) error {
	var stored holding
	_, err := v.One(countHeld, []any{worker[:]}, &stored.executions, &stored.alone)
	if err == nil && *h != stored {
		err = fmt.Errorf("worker %s is known to hold %+v, and %+v is stored", worker, *h, stored)
	}
	return err
}
