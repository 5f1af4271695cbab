package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// TestWhatWorkersHoldIsWhatIsStored checks that State.Holds, which is computed from cached counts,
// is correct after random commands, including refused and failed ones.
func TestWhatWorkersHoldIsWhatIsStored(t *testing.T) {
	longtest.Skip(t, "seconds")
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { holdAtRandom(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

// held is the part of an execution's row that determines what its worker has claimed.
type held struct {
	worker  int
	status  perdure.Status
	crashes int
}

func holdAtRandom(t *testing.T, r *rand.Rand) {
	s := open(t, Options{Logger: slog.New(slog.DiscardHandler)})
	workers := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	statuses := []perdure.Status{perdure.StatusRunning, perdure.StatusCancelling, perdure.StatusWaiting, perdure.StatusPending, perdure.StatusRunning}
	model, ids := map[uuid.UUID]held{}, make([]uuid.UUID, 6)
	for i := range ids {
		ids[i] = uuid.New()
		if err := begin(t, s, ids[i], nil); err != nil {
			t.Fatal(err)
		}
		model[ids[i]] = held{worker: -1, status: perdure.StatusPending}
	}
	for range 300 {
		id, asks := ids[r.IntN(len(ids))], r.IntN(len(workers))
		next := held{worker: r.IntN(len(workers)+1) - 1, status: statuses[r.IntN(len(statuses))], crashes: r.IntN(2 * store.AloneScore)}
		fails := r.IntN(10)
		var want store.Holding
		for _, h := range model {
			if h.worker == asks && (h.status == perdure.StatusRunning || h.status == perdure.StatusCancelling) {
				want.Executions = true
				want.Alone = want.Alone || h.crashes >= store.AloneScore
			}
		}
		_, err := s.Do(t.Context(), store.Command{
			Name: "test", Lane: store.LaneCommits, Org: "acme", Execution: id,
			Needs: func(*perdure.Execution) store.Needs { return store.Needs{Worker: &workers[asks]} },
			Decide: func(st *store.State) (*store.Changes, error) {
				if st.Holds != want {
					t.Errorf("the worker is said to hold %+v, want %+v", st.Holds, want)
				}
				x := st.Execution
				x.Status, x.Crashes, x.WorkerID = next.status, next.crashes, nil
				if next.worker >= 0 {
					x.WorkerID = &workers[next.worker]
				}
				ch := &store.Changes{Execution: x}
				switch fails {
				case 0:
					return nil, errors.New("no")
				case 1: // the store rejects this change after it has written the row
					ch.Tasks = []*perdure.Task{{ID: uuid.New(), ExecutionID: uuid.New()}}
				}
				return ch, nil
			},
		})
		if (err != nil) != (fails < 2) {
			t.Fatalf("a command that fails as %d gives %v", fails, err)
		}
		if err == nil {
			model[id] = next
		}
	}
	for _, err := range s.Audit(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAuditComparesWhatWorkersHold checks that the audit finds a wrong cached count of the
// executions that a worker has claimed.
func TestAuditComparesWhatWorkersHold(t *testing.T) {
	s := open(t, Options{})
	id, worker := uuid.New(), uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	_, err := s.Do(t.Context(), store.Command{
		Lane: store.LaneCommits, Org: "acme", Execution: id,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Worker: &worker} },
		Decide: func(*store.State) (*store.Changes, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	invariants.Check(t, s)
	// The test writes a row as the committer does, but without updating the cached counts.
	v := s.committer.conn.With(t.Context())
	must(t, v, "UPDATE agent_execution SET status = 'RUNNING', worker_id = ? WHERE id = ?", worker[:], id[:])
	s.committer.version = s.committer.conn.Version()
	found := false
	for _, err := range s.Audit(t.Context()) {
		found = found || err != nil && strings.Contains(err.Error(), "is known to hold")
	}
	if !found {
		t.Error("the audit finds nothing")
	}
	must(t, v, "UPDATE agent_execution SET status = 'PENDING', worker_id = NULL WHERE id = ?", id[:])
	s.committer.version = s.committer.conn.Version()
}
