package relational

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// holding is how many executions a worker holds, and how many of them have to be alone
// in it.
type holding struct{ executions, alone int64 }

const (
	// everyWorker bounds of how many workers that is known.
	everyWorker = 1000

	countHeld = "SELECT count(*), count(*) FILTER (WHERE crashes >= 6) FROM agent_execution INDEXED BY idx_agent_execution_held" +
		" WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING')"
)

// loadWorker tells what a worker holds. Each task's end asks for that: where rows are
// kept it is counted once, and then with each row that is written. Whatever empties
// the rows, as all that is undone does, empties this, too.
func (t *Transaction) loadWorker(v view, worker uuid.UUID, s *store.State) (err error) {
	if t.kept == nil {
		s.Holds, err = loadHolding(v, worker)
		return err
	}
	h := t.kept.holds[worker]
	if h == nil {
		h = &holding{}
		if _, err := v.one(countHeld, []any{worker[:]}, &h.executions, &h.alone); err != nil {
			return err
		}
		if len(t.kept.holds) >= everyWorker {
			clear(t.kept.holds)
		}
		t.kept.holds[worker] = h
	}
	s.Holds = store.Holding{Executions: h.executions > 0, Alone: h.alone > 0}
	return nil
}

// held counts a row that was written, which was another one before, or none.
func (t *Transaction) held(before, after *perdure.Execution) {
	if t.kept != nil {
		t.kept.hold(before, -1)
		t.kept.hold(after, 1)
	}
}

func (k *Kept) hold(x *perdure.Execution, n int64) {
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

// compareHolding reports where what a worker holds is counted wrong.
func compareHolding(v view, worker uuid.UUID, h *holding) error {
	var stored holding
	_, err := v.one(countHeld, []any{worker[:]}, &stored.executions, &stored.alone)
	if err == nil && *h != stored {
		err = fmt.Errorf("worker %s is known to hold %+v, and %+v is stored", worker, *h, stored)
	}
	return err
}
