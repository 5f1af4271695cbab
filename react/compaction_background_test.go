package react_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
)

// These are numbers of calls of the lookTool. The model's window has 8,000 tokens, and each call
// returns 1,000 bytes. After `backgroundAt` calls, a summary begins in the background. After
// `awaitedAt` calls, the context is over the threshold. The constant `last` is the number of calls
// of a run that ends between these two points.
const (
	backgroundAt = 12
	awaitedAt    = 15
	last         = backgroundAt + 2
)

// heldWorkerPool creates a windowWorkerPool whose model returns no summary until the test closes
// the channel windowModel.held. The parameter `stops` contains the numbers of the calls of the
// lookTool that wait until the test lets them continue.
func heldWorkerPool(t *testing.T, parked int, script string, stops ...int) (*workerPool, *windowModel, *lookTool) {
	t.Helper()
	s := emptyWorkerPool(t, script)
	n := &windowModel{
		Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 8000,
		held: make(chan struct{}), writing: make(chan struct{}, 100),
	}
	l := &lookTool{runs: map[int]int{}, stops: stops, stopped: make(chan int), next: make(chan struct{})}
	s.work(parked, n.employ(l))
	return s, n, l
}

// summaries returns the execution's tasks that write summaries.
func (s *workerPool) summaries(id uuid.UUID) (all []*perdure.Task) {
	s.t.Helper()
	page, err := s.store.ListTasks(s.t.Context(), id, false, "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, task := range page.Items {
		var in struct {
			Compaction *struct{} `json:"compaction"`
		}
		if task.Kind == modelTask && json.Unmarshal(task.Input, &in) == nil && in.Compaction != nil {
			all = append(all, task)
		}
	}
	return all
}

// written waits until all tasks that write summaries of the execution have ended, and returns these
// tasks.
func (s *workerPool) written(id uuid.UUID) (all []*perdure.Task) {
	s.t.Helper()
	s.until(id, func(*perdure.Execution) bool {
		all = s.summaries(id)
		return !slices.ContainsFunc(all, func(t *perdure.Task) bool { return !t.Status.Terminal() })
	})
	return all
}

// compactionStates returns the states and errors in the events about compactions.
func (s *workerPool) compactionStates(id uuid.UUID) (all []string) {
	s.t.Helper()
	for _, r := range s.log(id) {
		var e struct {
			Data struct{ Type, State, Error string } `json:"data"`
		}
		if r.Type == perdure.EventData && json.Unmarshal(r.Fields, &e) == nil && e.Data.Type == "compaction" {
			all = append(all, strings.TrimSpace(e.Data.State+" "+e.Data.Error))
		}
	}
	return all
}

// summarized returns the number of the execution's llm_call entries about calls for summaries.
func (s *workerPool) summarized(id uuid.UUID) int {
	s.t.Helper()
	entries, err := s.store.AllEntries(s.t.Context(), id, "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return recordsOfSummaries(entries.Items)
}

// recordsOfSummaries returns the number of llm_call entries about calls for summaries.
func recordsOfSummaries(entries []perdure.Entry) (n int) {
	for _, e := range entries {
		var record struct{ Purpose string }
		if e.Type == perdure.EntryLLMCall && json.Unmarshal(e.Metadata, &record) == nil && record.Purpose == "compaction" {
			n++
		}
	}
	return n
}

// sayOnce sends a message of the user. Another call with the same text has no effect.
func (s *workerPool) sayOnce(id uuid.UUID, text string) {
	_, err := s.engine.Signal(s.t.Context(), "default", id, engine.SignalRequest{
		Name: perdure.UserMessage, ID: text, Value: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)),
	})
	if err != nil {
		s.t.Error(err)
	}
}

func (s *workerPool) wantStates(id uuid.UUID, want ...string) {
	s.t.Helper()
	if got := s.compactionStates(id); !slices.Equal(got, want) {
		s.t.Errorf("the events of compactions are %q, want %q", got, want)
	}
}

// TestASummaryIsWrittenWhileTheRunGoesOn checks that the run continues while a summary is written.
// Once the summary is written, the next context contains the summary, and all messages that were
// added since the task of the summary was scheduled.
func TestASummaryIsWrittenWhileTheRunGoesOn(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, parked := range []int{100, -1} {
		t.Run(fmt.Sprint(parked, " parked"), func(t *testing.T) {
			s, n, l := heldWorkerPool(t, parked, looks(last+4, 1000), backgroundAt+2)
			id := s.start(engine.StartRequest{UserPrompt: "go"})
			<-n.writing
			<-l.stopped // after two more turns, the summary is still being written
			s.say(id, "look closely")
			close(n.held)
			s.written(id)
			l.next <- struct{}{}
			x := s.idle(id, 0)
			all := s.compactions(x)
			if len(all) != 1 || all[0].Reason != perdure.CompactionAutomatic || s.summarized(id) != 1 {
				t.Fatalf("compactions: %+v", all)
			}
			s.wantStates(id, "scheduled", "completed")
			turns, _ := n.requests()
			first := slices.IndexFunc(turns, func(r llm.Request) bool {
				return slices.ContainsFunc(r.Messages, func(m perdure.Message) bool { return m.Parts[0].Type == perdure.PartCompaction })
			})
			if first != backgroundAt+3 {
				t.Errorf("the summary is in the context of call %d first", first)
			}
			text := ""
			for _, m := range turns[first].Messages {
				text += m.PlainText()
				for _, p := range m.Parts {
					text += perdure.Content{Parts: p.Parts}.PlainText()
				}
			}
			for _, want := range []string{fmt.Sprint("look ", backgroundAt+1, ":"), fmt.Sprint("look ", backgroundAt+2, ":"), "look closely"} {
				if strings.Count(text, want) != 1 {
					t.Errorf("the context has %q %d times", want, strings.Count(text, want))
				}
			}
			if lines := s.conversation(id); lines[len(lines)-1] != "assistant: Done." || len(turns) != last+5 {
				t.Errorf("the last line is %q after %d calls", lines[len(lines)-1], len(turns))
			}
		})
	}
}

// TestASummaryInTheBackgroundIsAwaitedAtTheThreshold checks that the run waits for the summary once
// its context is over the threshold, and does not begin a second summary.
func TestASummaryInTheBackgroundIsAwaitedAtTheThreshold(t *testing.T) {
	longtest.Skip(t, "seconds")
	s, n, _ := heldWorkerPool(t, 100, looks(last+4, 1000))
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	s.until(id, func(x *perdure.Execution) bool { return slices.Contains(s.compactionStates(id), "started") })
	if turns, _ := n.requests(); len(turns) != awaitedAt+1 {
		t.Errorf("%d turns before the run waits, want %d", len(turns), awaitedAt+1)
	}
	close(n.held)
	x := s.idle(id, 0)
	if all := s.compactions(x); len(all) != 1 || len(s.summaries(id)) != 1 {
		t.Errorf("%d compactions, %d summaries", len(all), len(s.summaries(id)))
	}
	s.wantStates(id, "scheduled", "started", "completed")
}

// TestASummaryThatFailsInTheBackground checks that the run continues if a summary in the background
// fails, and that an event reports the failure.
func TestASummaryThatFailsInTheBackground(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, summary := range map[string]string{
		"fails": "summary\n  fail invalid_request no\n", "empty": "summary\n  text I cannot.\n  stop refusal\n",
		"longer": "summary\n  text " + strings.Repeat("much ", 10_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, n, l := heldWorkerPool(t, 100, summary+looks(last+1, 1000), backgroundAt+2)
			id := s.start(engine.StartRequest{UserPrompt: "go"})
			<-n.writing
			<-l.stopped
			close(n.held)
			s.written(id)
			l.next <- struct{}{}
			x := s.idle(id, 0)
			states := s.compactionStates(id)
			if len(s.compactions(x)) != 0 || len(states) != 2 || !strings.HasPrefix(states[1], "failed ") {
				t.Errorf("%d compactions; the events are %q", len(s.compactions(x)), states)
			}
			if lines := s.conversation(id); lines[len(lines)-1] != "assistant: Done." {
				t.Errorf("the last line is %q", lines[len(lines)-1])
			}
		})
	}
}

// TestARunThatWaitsForAMessageWithAnOpenSummary checks that a run whose response has ended waits
// for a message, and does not wait for a summary that is being written. The summary is in the
// context of the next response.
func TestARunThatWaitsForAMessageWithAnOpenSummary(t *testing.T) {
	s, n, _ := heldWorkerPool(t, 100, looks(last, 1000))
	x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
	if len(x.Wait.Tasks()) != 0 || len(s.summaries(x.ID)) != 1 {
		t.Fatalf("it waits for %+v, with %d summaries", x.Wait, len(s.summaries(x.ID)))
	}
	close(n.held)
	s.written(x.ID)
	s.say(x.ID, "thanks")
	x = s.idle(x.ID, x.CheckpointSeq)
	if lines := s.conversation(x.ID); len(s.compactions(x)) != 1 || lines[len(lines)-1] != "assistant: You are welcome." || !strings.HasPrefix(lines[len(lines)-2], "user: The conv") && !strings.HasPrefix(lines[len(lines)-3], "user: thanks") {
		t.Errorf("%d compactions; the last lines are %q", len(s.compactions(x)), lines[len(lines)-3:])
	}
	s.wantStates(x.ID, "scheduled", "completed")
}

// TestARunThatEndsWithAnOpenSummary checks that the end of a run drops a summary that is not
// written yet, and emits an event. A summary that is written is appended.
func TestARunThatEndsWithAnOpenSummary(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Run("not written", func(t *testing.T) {
		s, _, _ := heldWorkerPool(t, 100, looks(last, 1000))
		x := s.completed(s.start(engine.StartRequest{UserPrompt: "go", OneShot: true}))
		if all := s.written(x.ID); len(all) != 1 || all[0].Status != perdure.TaskCancelled {
			t.Errorf("summaries: %+v", all)
		}
		s.wantStates(x.ID, "scheduled", "failed the run ended before the summary was written")
	})
	t.Run("written", func(t *testing.T) {
		s, n, _ := heldWorkerPool(t, 100, looks(last, 1000))
		wait := make(chan struct{})
		n.mu.Lock()
		n.end, n.endAt = wait, last
		n.mu.Unlock()
		id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
		<-n.writing
		close(n.held)
		s.written(id)
		close(wait)
		x := s.completed(id)
		if all := s.compactions(x); len(all) != 1 || s.summarized(id) != 1 {
			t.Errorf("%d compactions", len(all))
		}
	})
}

// TestACancelledRunWithAnOpenSummary checks that the task of a summary in the background is
// cancelled with the run.
func TestACancelledRunWithAnOpenSummary(t *testing.T) {
	s, n, l := heldWorkerPool(t, 100, looks(last, 1000), backgroundAt+1)
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	<-n.writing
	<-l.stopped
	close(l.next)
	if _, _, err := s.engine.Cancel(t.Context(), "default", id); err != nil {
		t.Fatal(err)
	}
	x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	if all := s.written(id); x.Status != perdure.StatusCancelled || len(all) != 1 || all[0].Status != perdure.TaskCancelled {
		t.Errorf("it is %s; summaries: %+v", x.Status, all)
	}
	s.wantStates(id, "scheduled", "failed the run was cancelled before the summary was written")
}

// TestARunThatIsCancelledWhileItWaitsForTheSummary checks that the log of a run that is cancelled
// while it waits for a summary contains the event about the end of the compaction.
func TestARunThatIsCancelledWhileItWaitsForTheSummary(t *testing.T) {
	s, n, _ := heldWorkerPool(t, 100, looks(6, 300))
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	s.idle(id, 0)
	s.compact(id, `{}`)
	<-n.writing
	if _, _, err := s.engine.Cancel(t.Context(), "default", id); err != nil {
		t.Fatal(err)
	}
	s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	s.wantStates(id, "started", "failed the run was cancelled before the summary was written")
}

// TestAClientCompactsDuringASummary checks a client's request for a compaction while a summary is
// being written. Without instructions, the run waits for that summary. With instructions, the run
// drops that summary and begins a new one.
func TestAClientCompactsDuringASummary(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Run("without instructions", func(t *testing.T) {
		s, n, l := heldWorkerPool(t, 100, looks(last, 1000), backgroundAt+1)
		id := s.start(engine.StartRequest{UserPrompt: "go"})
		<-n.writing
		<-l.stopped
		s.compact(id, `{}`)
		l.next <- struct{}{}
		s.until(id, func(x *perdure.Execution) bool { return slices.Contains(s.compactionStates(id), "started") })
		close(n.held)
		x := s.idle(id, 0)
		if all := s.compactions(x); len(all) != 1 || len(s.summaries(id)) != 1 {
			t.Errorf("%d compactions, %d summaries", len(all), len(s.summaries(id)))
		}
		s.wantStates(id, "scheduled", "started", "completed")
	})
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprint("with instructions, written ", written), func(t *testing.T) {
			s, n, l := heldWorkerPool(t, 100, looks(last, 1000), backgroundAt+1)
			id := s.start(engine.StartRequest{UserPrompt: "go"})
			<-n.writing
			<-l.stopped
			if written {
				close(n.held)
				s.written(id)
			}
			s.compact(id, `{"instructions":"keep the numbers"}`)
			l.next <- struct{}{}
			if !written {
				<-n.writing
				close(n.held)
			}
			x := s.idle(id, 0)
			all, tasks := s.compactions(x), s.written(id)
			if len(all) != 1 || all[0].Reason != perdure.CompactionManual || len(tasks) != 2 {
				t.Fatalf("compactions: %+v, %d summaries", all, len(tasks))
			}
			status, records := perdure.TaskCancelled, 1
			if written { // the model call for the summary was paid for
				status, records = perdure.TaskCompleted, 2
			}
			if tasks[0].Status != status || s.summarized(id) != records {
				t.Errorf("the first summary is %s; %d are recorded", tasks[0].Status, s.summarized(id))
			}
			s.wantStates(id, "scheduled", "failed a client asked for another one", "started", "completed")
		})
	}
}

// TestAContextThatIsTooLongDuringASummary checks a model call whose context the provider refuses as
// too long while a summary is being written. The run waits for the summary and then calls the model
// again.
func TestAContextThatIsTooLongDuringASummary(t *testing.T) {
	s, n, l := heldWorkerPool(t, 100, looks(last+4, 1000), backgroundAt+1)
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	<-n.writing
	<-l.stopped
	turns, _ := n.requests()
	newest := turns[len(turns)-1]
	n.mu.Lock()
	// The model's window is smaller than the loop's table of models says.
	n.window = llm.Estimate(newest.System, newest.Tools, newest.Messages, llm.Limits{}) + 100
	n.mu.Unlock()
	l.next <- struct{}{}
	s.until(id, func(x *perdure.Execution) bool { return slices.Contains(s.compactionStates(id), "started") })
	close(n.held)
	x := s.idle(id, 0)
	all := s.compactions(x)
	if len(all) != 1 || all[0].Reason != perdure.CompactionAutomatic {
		t.Errorf("compactions: %+v", all)
	}
	if lines := s.conversation(id); lines[len(lines)-1] != "assistant: Done." {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
	s.wantStates(id, "scheduled", "started", "completed")
}
