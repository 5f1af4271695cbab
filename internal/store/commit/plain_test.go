package commit

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

// TestAPlainQueueCommitsEachCommandByItself checks that a queue with Plain set runs each command in
// a separate transaction, and that a faulty command is tried once. With and without Plain, it also
// checks that a command does not run if an earlier command of the same execution was not run (see
// Outcome.Missed).
func TestAPlainQueueCommitsEachCommandByItself(t *testing.T) {
	for _, plain := range []bool{false, true} {
		q := NewQueue()
		q.Plain = plain
		var sizes [][store.Lanes]int
		q.Observer = &store.Observer{Batch: func(commands [store.Lanes]int, _ time.Duration) { sizes = append(sizes, commands) }}
		id := uuid.New()
		var batch []*Call
		for _, c := range []store.Command{
			{Name: "first", Execution: id}, {Name: "bad", Execution: uuid.New()}, {Name: "second", Execution: id}, {Name: "other", Execution: uuid.New()}, {Name: "pick"},
		} {
			batch = append(batch, &Call{Command: c, done: make(chan Outcome, 1)})
		}
		r := &trial{missing: map[string]bool{"first": true}}
		missed := q.Process(r, slog.New(slog.DiscardHandler), batch)
		if len(missed) != 2 || missed[0].Name != "first" || missed[1].Name != "second" || !slices.Equal(r.ran, []string{"other", "pick"}) {
			t.Errorf("plain %t: missed are %v, and %q ran", plain, missed, r.ran)
		}
		if o := <-batch[1].done; !errors.Is(o.Err, errBad) {
			t.Errorf("plain %t: the bad one is told %v", plain, o.Err)
		}
		alone := 0
		for _, commands := range sizes {
			if commands[0] == 1 {
				alone++
			}
		}
		if plain && (alone != 2 || r.tries != 4) || !plain && (alone == 2 || r.tries == 4) {
			t.Errorf("plain %t: %d tries, and transactions of %v", plain, r.tries, sizes)
		}
	}
}

// TestAPlainQueueStarvesNoLane checks that each batch of a plain queue has a command of every lane,
// and that orgs take turns.
func TestAPlainQueueStarvesNoLane(t *testing.T) {
	q := NewQueue()
	q.Plain = true
	for i := range 100 {
		enqueue(t, q, store.LaneClaims, "busy", fmt.Sprint("claim ", i), 1)
		enqueue(t, q, store.LaneCommits, "busy", fmt.Sprint("commit ", i), 1)
	}
	enqueue(t, q, store.LaneCommits, "quiet", "quiet", 1)
	enqueue(t, q, store.LaneChunks, "busy", "chunk", 1)
	enqueue(t, q, store.LaneSweeps, "", "sweep", 0)
	want := []string{"claim 0", "claim 1", "claim 2", "claim 3", "claim 4", "commit 0", "chunk", "sweep"}
	if got := taken(q); !slices.Equal(got, want) {
		t.Errorf("the first batch is %q, want %q", got, want)
	}
	if got := taken(q); len(got) != plainCommands || !slices.Contains(got, "quiet") {
		t.Errorf("the second batch is %q", got)
	}
}
