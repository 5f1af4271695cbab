package react_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm/scripted"
)

// TestABackgroundCompactionSurvivesADeathAtEachCommit checks a run whose summaries are written in
// the background. The messages of the run must be the same at whichever commit its worker dies.
// Each stored summary must be in the conversation, or an event must report that it was not used.
func TestABackgroundCompactionSurvivesADeathAtEachCommit(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 20
	play := func(t *testing.T, nth int) (conversation []string, reached bool) {
		s := emptyWorkerPool(t, looks(turns, 1000))
		n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 8000}
		l := &lookTool{runs: map[int]int{}}
		begun := make(chan uuid.UUID, 1)
		d := crashAfterCommits{mu: &sync.Mutex{}, left: &nth, died: make(chan struct{})}
		l.during = func(number int) {
			if number == backgroundAt+1 {
				id := <-begun
				begun <- id
				s.sayOnce(id, "and look again")
			}
		}
		stop := s.work(100, n.employ(l), func(c *workerSetup) {
			c.over = func(inner perdure.Dispatch) perdure.Dispatch { d.Dispatch = inner; return d }
		})
		id := s.start(engine.StartRequest{UserPrompt: "go"})
		begun <- id
		ended := make(chan *perdure.Execution, 1)
		go func() { ended <- s.idle(id, 0) }()
		var x *perdure.Execution
		select {
		case <-d.died:
			reached = true
			stop()
			if err := s.engine.ReturnEmbedded(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.work(100, n.employ(l))
			x = <-ended
		case x = <-ended:
		}
		for i := range turns {
			if n := l.runs[i]; n == 0 || n > 1 && !reached || n > 2 {
				t.Errorf("look %d ran %d times", i, n)
			}
		}
		completed := 0
		for _, task := range s.written(id) {
			if task.Status == perdure.TaskCompleted {
				completed++
			}
		}
		// One summary may be written but not used: it was written after the last turn, and would be
		// used with the next turn.
		if used, recorded := len(s.compactions(x)), s.summarized(id); used == 0 || used != recorded || completed-used > 1 {
			t.Errorf("%d summaries are written, %d recorded, %d used", completed, recorded, used)
		}
		for _, line := range s.conversation(id) {
			if !strings.Contains(line, "answers before") { // the position of this line depends on timing
				conversation = append(conversation, line)
			}
		}
		return conversation, reached
	}
	want, _ := play(t, -1)
	if want[len(want)-1] != "assistant: Done." {
		t.Fatalf("%d entries", len(want))
	}
	first, step := longtest.Stride(t, 4)
	for nth := first; ; nth += step {
		got, reached := play(t, nth)
		if !reached {
			if nth == first {
				t.Errorf("the run has fewer than %d commits, so nothing was killed", nth)
			}
			return
		}
		if !slices.Equal(got, want) {
			t.Errorf("death at commit %d: %d messages, want %d", nth, len(got), len(want))
		}
	}
}
