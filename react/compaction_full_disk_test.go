package react_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disktest"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/llm/scripted"
	lib "modernc.org/sqlite/lib"
)

// fullDisk simulates a disk that becomes full after a number of writes, which the test sets.
type fullDisk struct {
	mu   sync.Mutex
	left int           // number of writes before the disk is full; negative if it has space
	full chan struct{} // closed when a write fails
}

// fullDiskOf makes the stores that the test opens afterwards use a fullDisk.
func fullDiskOf(t *testing.T) *fullDisk {
	t.Helper()
	d := &fullDisk{left: -1, full: make(chan struct{})}
	disktest.New(t, filepath.Dir(t.TempDir())).Before(d.before)
	return d
}

func (d *fullDisk) before(op disktest.Op) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case op.Kind != disktest.Write || d.left < 0:
		return lib.SQLITE_OK
	case d.left > 0:
		d.left--
		return lib.SQLITE_OK
	}
	if !d.wasFull() {
		close(d.full)
	}
	return lib.SQLITE_FULL
}

// fill makes the disk full after the given number of writes. After a call with a negative number,
// the disk has space again.
func (d *fullDisk) fill(after int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = after
}

// wasFull reports whether a write has failed.
func (d *fullDisk) wasFull() bool {
	select {
	case <-d.full:
		return true
	default:
		return false
	}
}

// fullOr waits until a write has failed or the function `want` returns true for the execution.
func (s *workerPool) fullOr(d *fullDisk, id uuid.UUID, want func(*perdure.Execution) bool) {
	s.t.Helper()
	hints, unsubscribe := s.engine.Hints.Subscribe(notify.Log(id))
	defer unsubscribe()
	for {
		x, err := s.store.Execution(s.t.Context(), "default", id)
		if err != nil {
			s.t.Fatal(err)
		}
		if d.wasFull() || want(x) {
			return
		}
		select {
		case <-hints:
		case <-d.full:
		}
	}
}

// TestACompactionOnAFullDisk fills the disk at each of the writes of a compaction. It checks that
// the parts of the compaction are stored together or not at all. Once there is space again, the run
// must continue as if the disk had never been full, with one summary, and the next compaction must
// succeed.
func TestACompactionOnAFullDisk(t *testing.T) {
	longtest.Skip(t, "seconds")
	var undisturbed []string
	for _, after := range []int{-1, 0, 1, 2, 3} {
		t.Run(fmt.Sprint("after ", after, " writes"), func(t *testing.T) {
			d := fullDiskOf(t)
			s, n := filledWorkerPool(t)
			x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
			s.compact(x.ID, `{}`)
			<-n.writing
			d.fill(after)
			close(n.held)
			compacted := func(x *perdure.Execution) bool { return len(s.compactions(x)) == 1 && x.WaitReason == "signal" }
			s.fullOr(d, x.ID, compacted)
			if after == 0 && !d.wasFull() {
				t.Fatal("nothing was written to the full disk")
			}
			s.wholeOrNothing(x.ID)
			d.fill(-1)
			s.until(x.ID, compacted)
			if got := s.conversation(x.ID); undisturbed == nil {
				undisturbed = got
			} else if !slices.Equal(got, undisturbed) {
				t.Errorf("the conversation is %q, without the full disk %q", got, undisturbed)
			}
			s.wantStates(x.ID, "started", "completed")
			if _, summaries := n.requests(); len(summaries) != 1 || s.summarized(x.ID) != 1 {
				t.Errorf("%d summaries are written, %d recorded", len(summaries), s.summarized(x.ID))
			}
			s.say(x.ID, "thanks")
			s.until(x.ID, func(*perdure.Execution) bool { turns, _ := n.requests(); return len(turns) == 8 })
			s.compact(x.ID, `{}`)
			s.until(x.ID, func(x *perdure.Execution) bool { return len(s.compactions(x)) == 2 })
		})
	}
}

// filledWorkerPool creates a worker pool whose model returns no summary until the test closes the
// channel windowModel.held.
func filledWorkerPool(t *testing.T) (*workerPool, *windowModel) {
	t.Helper()
	s := emptyWorkerPool(t, looks(6, 3000))
	n := &windowModel{
		Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 100_000,
		held: make(chan struct{}), writing: make(chan struct{}, 100),
	}
	s.work(100, n.employ(&lookTool{runs: map[int]int{}}))
	return s, n
}

// wholeOrNothing checks that the entry of a compaction, the record of its model call and its event
// are stored together or not at all. The run may continue during the check, because the failed
// write may have been one that no commit needed. So wholeOrNothing reads the events before and
// after the entries, until both reads are equal.
func (s *workerPool) wholeOrNothing(id uuid.UUID) {
	s.t.Helper()
	for {
		before := s.compactionStates(id)
		entries, err := s.store.AllEntries(s.t.Context(), id, "", 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		if slices.Equal(before, s.compactionStates(id)) {
			s.wholeCompactions(entries.Items, before)
			return
		}
	}
}

// wholeCompactions checks that each compaction entry has a record of the call for its summary, and
// an event about a completed compaction: the numbers of all three must be equal.
func (s *workerPool) wholeCompactions(entries []perdure.Entry, states []string) {
	s.t.Helper()
	stored, ended := 0, 0
	for _, e := range entries {
		if e.Type == perdure.EntryCompaction {
			stored++
		}
	}
	for _, state := range states {
		if state == "completed" {
			ended++
		}
	}
	if recorded := recordsOfSummaries(entries); stored != ended || stored != recorded {
		s.t.Errorf("%d entries of compactions are stored, %d records, %d events", stored, recorded, ended)
	}
}
