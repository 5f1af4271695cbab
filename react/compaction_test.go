package react_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
)

// TestALongRunIsCompacted checks that a run of many turns with tools completes in a small window.
// Each tool call must run once. Each request must fit into the window and contain the first user
// message.
func TestALongRunIsCompacted(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, parked := range []int{100, -1} {
		t.Run(fmt.Sprint(parked, " parked"), func(t *testing.T) {
			turns := 60
			s, n, l := windowWorkerPool(t, parked, 8000, looks(turns, 1500))
			most := 1000
			x := s.idle(s.start(engine.StartRequest{UserPrompt: "look everywhere", Config: perdure.AgentConfig{MaxTurns: &most}}), 0)
			lines := s.conversation(x.ID)
			if last := lines[len(lines)-1]; last != "assistant: Done." {
				t.Fatalf("the last line is %q", last)
			}
			for i := range turns {
				if l.runs[i] != 1 {
					t.Errorf("look %d ran %d times", i, l.runs[i])
				}
			}
			asked, summaries := n.requests()
			all := s.compactions(x)
			// One more summary may have been written in the background after the last turn.
			if n := len(summaries); len(all) == 0 || n != len(all) && n != len(all)+1 || len(asked) != turns+1 {
				t.Errorf("%d compactions, %d summaries, %d requests", len(all), len(summaries), len(asked))
			}
			for i, r := range asked {
				if text := r.Messages[0].PlainText(); text != "look everywhere" {
					t.Errorf("request %d begins with %q", i, text)
				}
			}
			for i, c := range all {
				if c.Reason != perdure.CompactionAutomatic || c.TokensAfter >= c.TokensBefore || i > 0 && c.Messages <= all[i-1].Messages {
					t.Errorf("compaction %d: %+v", i, c)
				}
			}
		})
	}
}

// TestALongChatIsCompacted checks that a chat of many messages continues in a small window. Each
// user message must be answered once and in order, and the last compaction must count all messages.
func TestALongChatIsCompacted(t *testing.T) {
	const messages = 60
	s, n, _ := windowWorkerPool(t, 100, 8000, strings.Repeat("turn\n  text "+strings.Repeat("answer ", 60)+"\n", messages))
	id := s.start(engine.StartRequest{UserPrompt: "message 0"})
	x := s.idle(id, 0)
	for i := 1; i < messages; i++ {
		s.say(id, fmt.Sprintf("message %d %s", i, strings.Repeat("word ", 40)))
		x = s.idle(id, x.CheckpointSeq)
	}
	turns, _ := n.requests()
	if len(turns) != messages {
		t.Errorf("%d model calls, want %d", len(turns), messages)
	}
	all := s.compactions(x)
	if len(all) == 0 || all[len(all)-1].Messages > 2*messages {
		t.Errorf("compactions: %+v", all)
	}
	said := 0
	for _, line := range s.conversation(id) {
		if strings.HasPrefix(line, fmt.Sprintf("user: message %d", said)) {
			said++
		}
	}
	if said != messages {
		t.Errorf("%d messages are in the conversation in order, want %d", said, messages)
	}
}

// TestAContextThatIsTooLong checks that a context that the provider refuses as too long is
// compacted, so that only the newest turn stays. A second refusal in the same turn ends the
// response with the stop reason context_length. The next message is answered.
func TestAContextThatIsTooLong(t *testing.T) {
	off := true
	config := perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}}
	t.Run("once", func(t *testing.T) {
		s, n, _ := windowWorkerPool(t, 100, 8000, looks(12, 3000))
		x := s.idle(s.start(engine.StartRequest{UserPrompt: "go", Config: config}), 0)
		all := s.compactions(x)
		if len(all) == 0 || all[0].Reason != perdure.CompactionContextLength {
			t.Errorf("compactions: %+v", all)
		}
		lines := s.conversation(x.ID)
		if last := lines[len(lines)-1]; last != "assistant: Done." {
			t.Errorf("the last line is %q", last)
		}
		if _, summaries := n.requests(); len(summaries) != len(all) {
			t.Errorf("%d summaries, %d compactions", len(summaries), len(all))
		}
	})
	t.Run("twice", func(t *testing.T) {
		s, _, _ := windowWorkerPool(t, 100, 8000, "turn\n  text one\nturn\n  text two\nturn\n  text three\n")
		x := s.idle(s.start(engine.StartRequest{UserPrompt: "go", Config: config}), 0)
		s.say(x.ID, strings.Repeat("too much ", 10_000))
		x = s.idle(x.ID, x.CheckpointSeq)
		state, err := s.store.Checkpoint(t.Context(), x.ID, x.CheckpointSeq)
		if err != nil {
			t.Fatal(err)
		}
		var st struct {
			StopReason perdure.StopReason `json:"stopReason"`
			Error      string             `json:"error"`
		}
		if err := json.Unmarshal(state.State, &st); err != nil || st.StopReason != perdure.StopContextLength || !strings.Contains(st.Error, "too long") {
			t.Errorf("the response ended with %+v, %v", st, err)
		}
	})
}

// TestAClientCompacts checks that an execution that waits for a message compacts its conversation
// when a client asks for it. The client's instructions must reach the model, and the ended response
// must not change.
func TestAClientCompacts(t *testing.T) {
	s, n, _ := windowWorkerPool(t, 100, 100_000, looks(6, 3000))
	x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
	before := s.conversation(x.ID)
	s.compact(x.ID, `{"instructions":"keep the numbers"}`)
	x = s.until(x.ID, func(x *perdure.Execution) bool { return len(s.compactions(x)) == 1 && x.WaitReason == "signal" })
	_, summaries := n.requests()
	asked := summaries[0].Messages
	if text := asked[len(asked)-1].PlainText(); len(summaries) != 1 || !strings.Contains(text, "keep the numbers") {
		t.Errorf("%d summaries; the last message is %q", len(summaries), text)
	}
	if got := s.conversation(x.ID); !slices.Equal(got[:len(before)], before) || len(got) != len(before)+1 {
		t.Errorf("%d entries, before %d", len(got), len(before))
	}
	if c := s.compactions(x)[0]; c.Reason != perdure.CompactionManual || c.TokensAfter >= c.TokensBefore {
		t.Errorf("%+v", c)
	}
	s.say(x.ID, "thanks")
	s.until(x.ID, func(x *perdure.Execution) bool {
		lines := s.conversation(x.ID)
		return lines[len(lines)-1] == "assistant: You are welcome." && x.WaitReason == "signal"
	})
}

func (s *scriptedEngine) compact(id uuid.UUID, value string) {
	s.t.Helper()
	if _, err := s.engine.Signal(s.t.Context(), "default", id, engine.SignalRequest{Name: perdure.CompactSignal, Value: json.RawMessage(value)}); err != nil {
		s.t.Fatal(err)
	}
}

// TestASummaryThatCannotBeUsed checks that the run continues without a compaction if the summary
// fails or is longer than the messages that it covers. An event must report the reason, and the
// next compaction must not be tried at once.
func TestASummaryThatCannotBeUsed(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, summary := range map[string]string{
		"fails":  "summary\n  fail invalid_request no\n",
		"longer": "summary\n  text " + strings.Repeat("much ", 40_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, n, _ := windowWorkerPool(t, 100, 40_000, summary+looks(14, 9000))
			at := 0.5
			x := s.idle(s.start(engine.StartRequest{UserPrompt: "go", Config: perdure.AgentConfig{Compaction: &perdure.CompactionConfig{At: &at}}}), 0)
			_, summaries := n.requests()
			if got := s.compactions(x); len(got) != 0 || len(summaries) == 0 || len(summaries) > 6 {
				t.Errorf("%d compactions, %d summaries", len(got), len(summaries))
			}
			lines := s.conversation(x.ID)
			if last := lines[len(lines)-1]; last != "assistant: Done." {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}

// crashAfterCommits is the dispatch of a worker whose process dies after a given number of commits.
// The server stores the last of these commits, but the worker receives lease_lost.
type crashAfterCommits struct {
	perdure.Dispatch
	mu   *sync.Mutex
	left *int
	died chan struct{}
}

func (d crashAfterCommits) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	reply, err := d.Dispatch.Commit(ctx, c)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || *d.left < 0 {
		return reply, err
	}
	if *d.left--; *d.left > 0 {
		return reply, nil
	}
	*d.left = -1
	close(d.died)
	return reply, perdure.Errorf(perdure.LeaseLost, "the process is dead")
}

// TestACompactionSurvivesADeathAtEachCommit checks that a run has the same conversation and the
// same compactions at whichever commit its worker dies. The run waits for its compactions.
func TestACompactionSurvivesADeathAtEachCommit(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 12
	off := true // the run waits for each compaction, because it follows a refused context
	config := perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}}
	play := func(t *testing.T, nth int) (conversation []string, records []perdure.CompactionRecord, reached bool) {
		s := emptyWorkerPool(t, looks(turns, 3000))
		n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 5000}
		l := &lookTool{runs: map[int]int{}}
		d := crashAfterCommits{mu: &sync.Mutex{}, left: &nth, died: make(chan struct{})}
		stop := s.work(100, n.employ(l), func(c *workerSetup) {
			c.over = func(inner perdure.Dispatch) perdure.Dispatch { d.Dispatch = inner; return d }
		})
		id := s.start(engine.StartRequest{UserPrompt: "go", Config: config})
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
		records = s.compactions(x)
		for i := range records { // the ids of entries differ between runs
			r := &records[i]
			r.Last, r.KeepFrom, r.Pinned = [16]byte{}, nil, nil
		}
		return s.conversation(id), records, reached
	}
	want, records, _ := play(t, -1)
	if len(records) < 2 || want[len(want)-1] != "assistant: Done." {
		t.Fatalf("%d compactions, %d entries", len(records), len(want))
	}
	first, step := longtest.Stride(t, 4)
	for nth := first; ; nth += step {
		got, again, reached := play(t, nth)
		if !reached {
			if nth == first {
				t.Errorf("the run has fewer than %d commits, so nothing was killed", nth)
			}
			return
		}
		if !slices.Equal(got, want) || fmt.Sprint(again) != fmt.Sprint(records) {
			t.Errorf("death at commit %d: %v, want %v; the conversations are equal: %t", nth, again, records, slices.Equal(got, want))
		}
	}
}

// TestAWindowSmallerThanTheSystemPrompt checks that a response whose system prompt fills the window
// fails before the model is called. The error names the system prompt and the window.
func TestAWindowSmallerThanTheSystemPrompt(t *testing.T) {
	s, n, _ := windowWorkerPool(t, 100, 4000, looks(1, 10))
	rules := strings.Repeat("rule ", 4000)
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true, SystemPrompt: &rules})
	x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	if x.Status != perdure.StatusFailed || x.Error == nil || !strings.Contains(*x.Error, "the window of scripted/s has 4000") {
		t.Errorf("it is %s: %v", x.Status, x.Error)
	}
	if turns, summaries := n.requests(); len(turns)+len(summaries) != 0 {
		t.Errorf("%d model calls", len(turns)+len(summaries))
	}
}

// TestACompactionWithAnOpenCall checks that a request for a compaction changes nothing while a call
// of a client tool has no result. The call can be answered afterwards.
func TestACompactionWithAnOpenCall(t *testing.T) {
	s, n, _ := windowWorkerPool(t, 100, 100_000, "turn\n  call ask {}\nturn\n  text Done.\n")
	id := s.start(engine.StartRequest{UserPrompt: "go", Turns: perdure.Turns{ClientTools: []perdure.ClientTool{{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`)}}}})
	x := s.idle(id, 0)
	s.compact(id, `{}`)
	x = s.idle(id, x.CheckpointSeq)
	if _, summaries := n.requests(); x.Status != perdure.StatusWaiting || len(summaries) != 0 || len(s.compactions(x)) != 0 {
		t.Fatalf("it is %s, with %d summaries", x.Status, len(summaries))
	}
	s.say(id, "never mind")
	x = s.idle(id, x.CheckpointSeq)
	if lines := s.conversation(id); lines[len(lines)-1] != "assistant: Done." {
		t.Errorf("%s: the last line is %q", x.Status, lines[len(lines)-1])
	}
}

// TestASummaryThatIsNotWhole checks that a summary is not used if it was cut off or if the model
// refused to write it.
func TestASummaryThatIsNotWhole(t *testing.T) {
	for _, stop := range []string{"refusal", "max_tokens"} {
		t.Run(stop, func(t *testing.T) {
			s, n, _ := windowWorkerPool(t, 100, 100_000, "summary\n  text I cannot.\n  stop "+stop+"\n"+looks(6, 3000))
			x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
			s.compact(x.ID, `{}`)
			x = s.idle(x.ID, x.CheckpointSeq)
			if _, summaries := n.requests(); len(summaries) != 1 || len(s.compactions(x)) != 0 {
				t.Errorf("%d summaries, %d compactions", len(summaries), len(s.compactions(x)))
			}
		})
	}
}

// TestALongMessageIsCompacted checks user messages that exceed a quarter of the window. In the
// requests for summaries, these messages are cut. A compaction that a client requests covers the
// whole conversation, even if that needs several summaries. Only the first user message stays in
// the context.
func TestALongMessageIsCompacted(t *testing.T) {
	off := true
	const answers = 12
	s, n, _ := windowWorkerPool(t, 100, 100_000, strings.Repeat("turn\n  text ok\n", answers+1))
	id := s.start(engine.StartRequest{UserPrompt: "first", Config: perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}}})
	x := s.idle(id, 0)
	for i := 1; i < answers; i++ {
		s.say(id, fmt.Sprint(i, " ", strings.Repeat("word ", 2000)))
		x = s.idle(id, x.CheckpointSeq)
	}
	n.resize(8000)
	s.compact(id, `{}`)
	x = s.until(id, func(x *perdure.Execution) bool {
		all := s.compactions(x)
		return x.WaitReason == "signal" && len(all) > 0 && all[len(all)-1].Messages >= 2*answers-4
	})
	all := s.compactions(x)
	for i, c := range all {
		if len(c.Pinned) != 1 || c.Pinned[0] != all[0].Pinned[0] || c.Reason != perdure.CompactionManual {
			t.Errorf("compaction %d: %+v", i, c)
		}
	}
	if last := all[len(all)-1]; len(all) < 2 || last.TokensAfter > 6000 {
		t.Errorf("%d compactions; the last leaves %d tokens", len(all), last.TokensAfter)
	}
}

// resize changes the size of the model's window.
func (n *windowModel) resize(window int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.window = window
	n.providers.SetWindows(llm.Windows{{Provider: "scripted", ID: "s"}: {Window: window}})
}

// TestACompactionIsTriedAgainInTheNextResponse checks a context that was refused as too long and
// whose summary failed. The next response compacts this context.
func TestACompactionIsTriedAgainInTheNextResponse(t *testing.T) {
	off := true
	s, n, _ := windowWorkerPool(t, 100, 8000, "summary\n  fail invalid_request no\n"+looks(12, 3000))
	x := s.idle(s.start(engine.StartRequest{UserPrompt: "go", Config: perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}}}), 0)
	if _, summaries := n.requests(); len(summaries) != 1 {
		t.Fatalf("%d summaries", len(summaries))
	}
	s.play("s", looks(12, 3000))
	s.say(x.ID, "go on")
	x = s.idle(x.ID, x.CheckpointSeq)
	if lines := s.conversation(x.ID); len(s.compactions(x)) == 0 || lines[len(lines)-1] != "assistant: Done." {
		t.Errorf("%d compactions, the last line is %q", len(s.compactions(x)), lines[len(lines)-1])
	}
}

// TestACallWithLongArgumentsIsCompacted checks a turn whose tool call has arguments that exceed the
// window. A compaction must shorten the arguments, which must remain valid JSON, and the run must
// continue.
func TestACallWithLongArgumentsIsCompacted(t *testing.T) {
	write := fmt.Sprintf("turn\n  call write-file {\"path\": \"a.txt\", \"content\": %q}\n  usage in=100 out=17000\n", strings.Repeat("x", 60_000))
	s, n, _ := windowWorkerPool(t, 100, 8000, write+"turn\n  text Done.\n")
	x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
	if lines := s.conversation(x.ID); lines[len(lines)-1] != "assistant: Done." || len(s.compactions(x)) != 1 {
		t.Errorf("the last line is %q; %d compactions", lines[len(lines)-1], len(s.compactions(x)))
	}
	turns, _ := n.requests()
	for _, m := range turns[len(turns)-1].Messages {
		for _, p := range m.ToolCalls() {
			if !json.Valid([]byte(p.RawArguments)) || !strings.Contains(p.RawArguments, "left_out_by_compaction") {
				t.Errorf("the model sees %.200s", p.RawArguments)
			}
		}
	}
}
