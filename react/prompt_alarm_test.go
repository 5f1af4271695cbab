package react_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
)

// warningLog is a log writer that collects the lines of a log.
type warningLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (w *warningLog) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(line)
}

func (w *warningLog) log(c *workerSetup) { c.Logger = slog.New(slog.NewTextHandler(w, nil)) }

// lines returns the collected warnings about changed prompts.
func (w *warningLog) lines() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.all.String()) {
		if strings.Contains(line, "does not begin with the previous one") {
			lines = append(lines, line)
		}
	}
	return lines
}

// retold changes the description of the worker's last tool.
func retold(c *workerSetup) {
	c.Tools = slices.Clone(c.Tools)
	c.Tools[len(c.Tools)-1].Description += " Now better."
}

// TestAChangedPromptWithoutACauseIsLogged checks that a worker causes one warning if it describes a
// tool differently than the previous worker. The warning contains the id of the execution, and says
// that the prompt differs from its beginning on.
func TestAChangedPromptWithoutACauseIsLogged(t *testing.T) {
	s, said := emptyWorkerPool(t, "turn\n  text One.\nturn\n  text Two.\nturn\n  text Three.\n"), &warningLog{}
	stop := s.work(100, said.log)
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	x := s.idle(id, 0)
	for range 2 {
		stop()
		stop = s.work(100, said.log, retold)
		s.say(id, "again")
		x = s.idle(id, x.CheckpointSeq)
	}
	all, lines := s.prompts(id), said.lines()
	if c := all[1].Change; len(all) != 3 || !all[1].Changed || c == nil || *c != (llm.PromptChange{Head: true}) || all[2].Changed {
		t.Errorf("the prompts are %+v", all)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], id.String()) || !strings.Contains(lines[0], "head=true") {
		t.Errorf("the log says %q", lines)
	}
}

// rewritingDispatch is a perdure.Dispatch that replaces a text in the entries that it returns.
type rewritingDispatch struct {
	perdure.Dispatch
	text, with string
}

func (d rewritingDispatch) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		for e, err := range d.Dispatch.Entries(ctx, q) {
			e.Content = bytes.ReplaceAll(e.Content, []byte(d.text), []byte(d.with))
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestAChangedMessageIsFound checks that, if the content of an earlier message differs, the record
// of the call and the warning contain the index of that message.
func TestAChangedMessageIsFound(t *testing.T) {
	s, said := emptyWorkerPool(t, strings.Repeat("turn\n  text Yes.\n", 5)), &warningLog{}
	stop := s.work(100, said.log)
	id := s.start(engine.StartRequest{UserPrompt: "message 0"})
	x := s.idle(id, 0)
	for i := range 4 {
		if i == 3 {
			stop()
			s.work(100, said.log, func(c *workerSetup) {
				c.over = func(d perdure.Dispatch) perdure.Dispatch {
					return rewritingDispatch{d, "message 1", "MESSAGE 1"} // the third message of the conversation
				}
			})
		}
		s.say(id, fmt.Sprint("message ", i+1))
		x = s.idle(id, x.CheckpointSeq)
	}
	all, lines := s.prompts(id), said.lines()
	last := all[len(all)-1]
	if len(all) != 5 || !last.Changed || last.Change == nil || *last.Change != (llm.PromptChange{From: 2, To: 3}) {
		t.Errorf("the prompts are %+v", all)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "from=2 to=3") {
		t.Errorf("the log says %q", lines)
	}
}

// TestPromptsNameTheCompaction checks the record of the first call after a compaction. The record
// names the compaction and the first message that the compaction changed, and there is no warning.
// But a change before that message causes a warning.
func TestPromptsNameTheCompaction(t *testing.T) {
	for _, deployed := range []bool{false, true} {
		said := &warningLog{}
		s := emptyWorkerPool(t, looks(6, 300))
		stop := s.work(100, said.log)
		x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
		s.compact(x.ID, `{}`)
		x = s.until(x.ID, func(x *perdure.Execution) bool { return len(s.compactions(x)) == 1 && x.WaitReason == "signal" })
		if deployed {
			stop()
			s.work(100, said.log, func(c *workerSetup) { c.Tools = slices.Clone(c.Tools); c.Tools[0].Description += " Now better." })
		}
		s.say(x.ID, "thanks")
		x = s.idle(x.ID, x.CheckpointSeq)
		all := s.prompts(x.ID)
		last := all[len(all)-1]
		if last.Compaction == nil || *last.Compaction != s.compactionEntry(x) || last.Touches == nil || *last.Touches != 1 {
			t.Errorf("the prompt after the compaction is %+v", last)
		}
		if last.Changed != deployed || len(said.lines()) != map[bool]int{true: 1}[deployed] {
			t.Errorf("deployed %v: the prompt is %+v, the log says %q", deployed, last, said.lines())
		}
		if slices.ContainsFunc(all[:len(all)-1], func(p prompt) bool { return p.Compaction != nil || p.Changed }) {
			t.Errorf("earlier prompts are %+v", all)
		}
	}
}

// TestCompactionsCauseNoWarnings checks a long run in which each compaction covers the previous
// one. No prompt counts as changed, and the record of the call after each compaction names that
// compaction.
func TestCompactionsCauseNoWarnings(t *testing.T) {
	longtest.Skip(t, "seconds")
	said := &warningLog{}
	s, _, _ := windowWorkerPool(t, -1, 8000, looks(28, 1500), said.log)
	x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
	named := map[uuid.UUID]bool{}
	for _, p := range s.prompts(x.ID) {
		if p.Changed {
			t.Errorf("a prompt is changed: %+v", p)
		}
		if p.Compaction != nil {
			named[*p.Compaction] = true
		}
	}
	// The last compaction may be appended after the last call.
	if n := len(s.compactions(x)); n < 3 || len(named) < n-1 || len(said.lines()) != 0 {
		t.Errorf("%d compactions, %d of them are named, the log says %q", n, len(named), said.lines())
	}
}

// compactionEntry returns the id of the newest compaction on the path of the execution.
func (s *scriptedEngine) compactionEntry(x *perdure.Execution) (id uuid.UUID) {
	s.t.Helper()
	for e, err := range s.store.Path(s.t.Context(), x.ID, *x.Leaf, nil, 0, false) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Type == perdure.EntryCompaction && id == uuid.Nil {
			id = e.ID
		}
	}
	return id
}

// TestPromptsNameTheModelAndTheSettings checks that a change of the model or of the settings
// between two calls is recorded, and causes no warning.
func TestPromptsNameTheModelAndTheSettings(t *testing.T) {
	said := &warningLog{}
	s := emptyWorkerPool(t, "turn\n  text One.\nturn\n  text Two.\nturn\n  text Three.\n")
	s.play("s2", "turn\n  text One.\nturn\n  text Two.\nturn\n  text Three.\n")
	s.work(100, said.log)
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	x := s.idle(id, 0)
	var input perdure.ReactInput
	if err := json.Unmarshal(x.Input, &input); err != nil {
		t.Fatal(err)
	}
	for _, settings := range []perdure.ReactInput{
		{Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s2"}}, Tools: input.Tools},
		{Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s2"}}, SystemPrompt: "Be brief.", Tools: input.Tools},
	} {
		turn := engine.Turn{Messages: []perdure.InputMessage{{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text("again")}}}, Settings: &settings}
		if _, err := s.engine.Signal(t.Context(), "default", id, engine.SignalRequest{Name: perdure.UserMessage, Turn: &turn}); err != nil {
			t.Fatal(err)
		}
		x = s.idle(id, x.CheckpointSeq)
	}
	all := s.prompts(id)
	if len(all) != 3 || all[1].PreviousModel != "scripted/s" || all[1].Changed || all[1].Settings {
		t.Errorf("after the change of the model the prompts are %+v", all)
	}
	if p := all[2]; !p.Changed || !p.Settings || p.PreviousModel != "" || !p.Change.Head {
		t.Errorf("after the change of the settings the prompt is %+v", p)
	}
	if lines := said.lines(); len(lines) != 0 {
		t.Errorf("the log says %q", lines)
	}
}
