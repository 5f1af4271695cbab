package commit

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

func enqueue(t *testing.T, q *Queue, lane store.Lane, org, name string, bytes int) *Call {
	t.Helper()
	c := &Call{Command: store.Command{Name: name, Lane: lane, Org: org, Bytes: bytes}, done: make(chan Outcome, 1)}
	if err := q.push(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func taken(q *Queue) []string {
	var names []string
	for _, c := range q.Take() {
		names = append(names, c.Name)
	}
	return names
}

func TestOrgsTakeTurns(t *testing.T) {
	q := NewQueue()
	for i := range 1000 {
		enqueue(t, q, store.LaneCommits, "busy", fmt.Sprint("busy ", i), 1)
	}
	enqueue(t, q, store.LaneCommits, "quiet", "quiet 0", 1)
	enqueue(t, q, store.LaneCommits, "quiet", "quiet 1", 1)
	got := taken(q)
	want := []string{"busy 0", "quiet 0", "busy 1", "quiet 1", "busy 2", "busy 3"}
	for i, name := range want {
		if got[i] != name {
			t.Errorf("command %d is %q, want %q", i, got[i], name)
		}
	}
}

func TestBatchIsBounded(t *testing.T) {
	q := NewQueue()
	for i := range 600 {
		enqueue(t, q, store.LaneCommits, "o", fmt.Sprint(i), 1)
	}
	for _, want := range []int{256, 256, 88} {
		if got := len(taken(q)); got != want {
			t.Errorf("a batch has %d commands, want %d", got, want)
		}
	}
	for i := range 9 {
		enqueue(t, q, store.LaneCommits, "o", fmt.Sprint(i), 1<<20)
	}
	for _, want := range []int{4, 4, 1} {
		if got := len(taken(q)); got != want {
			t.Errorf("a batch of commands of 1 MiB has %d, want %d", got, want)
		}
	}
	enqueue(t, q, store.LaneCommits, "o", "huge", 100<<20)
	enqueue(t, q, store.LaneCommits, "o", "small", 1)
	if got := taken(q); len(got) != 1 || got[0] != "huge" {
		t.Errorf("a command over the limit goes with %v", got)
	}
}

// Large commits may not keep claims, chunks and sweeps out of the batches.
func TestLargeCommandsStarveNobody(t *testing.T) {
	q := NewQueue()
	for i := range 20 {
		enqueue(t, q, store.LaneCommits, "o", fmt.Sprint("commit ", i), 2<<20)
	}
	enqueue(t, q, store.LaneClaims, "o", "claim", 1)
	enqueue(t, q, store.LaneChunks, "o", "chunk", 64<<10)
	enqueue(t, q, store.LaneSweeps, "", "sweep", 0)
	got := fmt.Sprint(taken(q))
	if want := "[claim commit 0 chunk sweep]"; got != want {
		t.Errorf("the first batch is %s, want %s", got, want)
	}
}

func TestQueueOfAnOrgIsBounded(t *testing.T) {
	q := NewQueue()
	for range queueLimit {
		enqueue(t, q, store.LaneCommits, "busy", "c", 0)
	}
	err := q.push(&Call{Command: store.Command{Lane: store.LaneCommits, Org: "busy"}})
	if !perdure.IsCode(err, perdure.RateLimited) {
		t.Errorf("one too many gives %v, want rate_limited", err)
	}
	enqueue(t, q, store.LaneClaims, "busy", "renewals still pass", 0)
	enqueue(t, q, store.LaneCommits, "other", "other orgs too", 0)
	q.Take()
	enqueue(t, q, store.LaneCommits, "busy", "there is room again", 0)
}
