package server

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

// TestQueueLimitsReachThePolls checks that a queue's limit applies to a poll for tasks: with a limit of
// 1, one of three tasks is claimed. Executions are not tasks and do not count.
func TestQueueLimitsReachThePolls(t *testing.T) {
	s, err := Open(t.Context(), Config{Data: t.TempDir(), Dev: true, QueueLimits: map[string]int{"default": 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := s.Dispatch(DevOrg)
	if _, err := d.Register(t.Context(), perdure.Registration{Agents: []perdure.KindSpec{{Kind: "a"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.Start(t.Context(), DevOrg, engine.StartRequest{Kind: "a"}); err != nil {
		t.Fatal(err)
	}
	p := perdure.Poll{WorkerID: uuid.New(), Queues: []string{"default"}, Kinds: []string{"a", "work"}, Slots: 4}
	claims, err := d.PollAgents(t.Context(), p)
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	c := perdure.Commit{Lease: claims[0].Lease, Number: 1}
	for _, input := range []string{"1", "2", "3"} {
		key, err := perdure.DefaultTaskKey(c.Lease.ExecutionID, "work", []byte(input), "")
		if err != nil {
			t.Fatal(err)
		}
		c.Tasks = append(c.Tasks, perdure.NewTask{Kind: "work", Key: key, Input: perdure.Inline([]byte(input))})
	}
	if _, err := d.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if tasks, err := d.PollTasks(t.Context(), p); err != nil || len(tasks) != 1 {
		t.Errorf("a poll got %d tasks, %v; want 1", len(tasks), err)
	}
}
