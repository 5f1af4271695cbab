package commit

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/uuid"
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

// TestLargeCommandsStarveNobody checks that waiting claims, chunks and sweeps are taken into the
// same batch as a large commit.
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

// trial is a Runner that refuses every batch that contains a call "bad". In the first batch that it
// accepts, it reports the calls in `missing` as missed. It records the calls that it has run.
type trial struct {
	missing map[string]bool
	ran     []string
	tries   int
}

var errBad = errors.New("bad")

func (r *trial) Attempt(batch []*Call, _ bool) ([]Outcome, error) {
	r.tries++
	outcomes := make([]Outcome, len(batch))
	for i, c := range batch {
		if c.Name == "bad" {
			return nil, errBad
		}
		outcomes[i].Missed = r.missing[c.Name]
	}
	for i, c := range batch {
		if !outcomes[i].Missed {
			r.ran = append(r.ran, c.Name)
		}
	}
	clear(r.missing) // these calls are run from now on
	return outcomes, nil
}

func (r *trial) Gives(err error) (told error, up bool) { return err, false }

// TestHalvesKeepTheOrderOfAnExecution checks that the halves of a failed batch keep the order of
// commands. If a command in the first half is missed because its execution is locked, a later
// command of the same execution in the second half must not run.
func TestHalvesKeepTheOrderOfAnExecution(t *testing.T) {
	id, other := uuid.New(), uuid.New()
	var batch []*Call
	for _, c := range []store.Command{{Name: "first", Execution: id}, {Name: "bad", Execution: uuid.New()}, {Name: "second", Execution: id}, {Name: "other", Execution: other}} {
		batch = append(batch, &Call{Command: c, done: make(chan Outcome, 1)})
	}
	r := &trial{missing: map[string]bool{"first": true}}
	missed := NewQueue().Process(r, slog.New(slog.DiscardHandler), batch)
	if len(missed) != 2 || missed[0].Name != "first" || missed[1].Name != "second" || !slices.Equal(r.ran, []string{"other"}) {
		t.Errorf("missed are %v, and %q ran", missed, r.ran)
	}
	if o := <-batch[1].done; !errors.Is(o.Err, errBad) {
		t.Errorf("the bad one is told %v", o.Err)
	}
}

// TestABatchHasLittleOfOneOrg checks that while another org is active, each batch has at most
// orgShare commands of one org.
func TestABatchHasLittleOfOneOrg(t *testing.T) {
	q := NewQueue()
	for i := range 1000 {
		enqueue(t, q, store.LaneCommits, "hostile", fmt.Sprint("hostile ", i), 1)
	}
	if got := len(taken(q)); got != batchCommands {
		t.Fatalf("an org that is alone has %d of a batch", got)
	}
	enqueue(t, q, store.LaneSweeps, "", "sweep", 0)
	if got := len(taken(q)); got != batchCommands {
		t.Fatalf("beside the process itself an org has %d of a batch", got)
	}
	enqueue(t, q, store.LaneCommits, "quiet", "quiet", 1)
	for n := range 3 {
		got := taken(q)
		quiet := slices.Index(got, "quiet")
		if n == 0 && (quiet < 0 || quiet > 1) || len(got) > orgShare+1 {
			t.Errorf("batch %d has %d commands, and quiet's at %d", n, len(got), quiet)
		}
	}
}

// TestTheShareOfAnOrg checks that an org's share of a batch is counted separately for each lane,
// and that the share limits the bytes of the commands as well as their number.
func TestTheShareOfAnOrg(t *testing.T) {
	q := NewQueue()
	enqueue(t, q, store.LaneCommits, "quiet", "quiet", 1)
	for range 100 {
		for lane := range store.Lane(store.Lanes) {
			enqueue(t, q, lane, "hostile", "hostile", 1)
		}
	}
	if got := len(taken(q)); got != (int(store.Lanes)+3)*orgShare+1 {
		t.Errorf("a batch has %d commands", got)
	}
	q = NewQueue()
	enqueue(t, q, store.LaneCommits, "quiet", "quiet", 1)
	for range 4 {
		enqueue(t, q, store.LaneCommits, "hostile", "large", 1<<20)
	}
	if got := fmt.Sprint(taken(q)); got != "[quiet large]" {
		t.Errorf("the first batch is %s", got)
	}
}

// TestSharesLoseNothing checks that all commands of three orgs are taken into batches, and that the
// commands of each org stay in order.
func TestSharesLoseNothing(t *testing.T) {
	q := NewQueue()
	const n = 500
	for i := range n {
		for _, org := range []string{"a", "b", "c"} {
			if org == "a" || i%(10*len(org)) == 0 {
				enqueue(t, q, store.LaneCommits, org, fmt.Sprintf("%s %04d", org, i), i%7*100_000)
			}
		}
	}
	q.Close()
	last := map[byte]string{}
	count := 0
	for batch := taken(q); len(batch) > 0; batch = taken(q) {
		for _, name := range batch {
			if name <= last[name[0]] {
				t.Fatalf("%q comes behind %q", name, last[name[0]])
			}
			last[name[0]] = name
			count++
		}
	}
	if count != n+2*n/10 {
		t.Errorf("%d commands were taken", count)
	}
}
