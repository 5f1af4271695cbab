package react_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

// scriptedEngine is an engine with a worker whose model answers as a script says.
type scriptedEngine struct {
	t       *testing.T
	engine  *engine.Engine
	store   store.Store
	folder  string
	journal string
}

func newScriptedEngine(t *testing.T, parked int, script string) *scriptedEngine {
	t.Helper()
	return newScriptedEngineOn(t, opentest.SQLite, parked, script)
}

// newScriptedEngineOn creates a scriptedEngine whose engine uses the store that `open` opens. The
// worker parks at most `parked` goroutines; -1 means none.
func newScriptedEngineOn(t *testing.T, open opentest.Opener, parked int, script string) *scriptedEngine {
	t.Helper()
	s := &scriptedEngine{t: t, folder: t.TempDir()}
	s.journal = filepath.Join(t.TempDir(), "journal")
	scripts := t.TempDir()
	if err := os.WriteFile(filepath.Join(scripts, "s"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s.store = open(t, nil)
	s.engine = engine.New(engine.Config{Store: s.store, Lease: 5 * time.Second})
	provider := scripted.New(scripted.Config{Dir: scripts, Journal: s.journal})
	c := react.Config{
		Providers: llm.NewProviders(provider), Tools: tool.Builtin(),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(s.folder, dir, tool.WorkspaceOptions{})
		},
	}
	w := worker.New(worker.Config{Dispatch: s.engine.Dispatch("default", true), Parked: parked, Drain: time.Second})
	w.RegisterAgent(react.Agent(c))
	for _, d := range react.Tasks(c) {
		w.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- s.engine.Run(ctx) }()
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	<-w.Registered()
	return s
}

func (s *scriptedEngine) start(r engine.StartRequest) uuid.UUID {
	s.t.Helper()
	if r.Models == nil {
		r.Models = []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}
	}
	tools := []string{"read-file", "write-file", "edit-file", "bash", "grep", "find"}
	r.Tools = &tools
	x, err := s.engine.Start(s.t.Context(), "default", r)
	if err != nil {
		s.t.Fatal(err)
	}
	return x.ID
}

func (s *scriptedEngine) say(id uuid.UUID, text string) {
	s.t.Helper()
	value, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.engine.Signal(s.t.Context(), "default", id, engine.SignalRequest{Name: perdure.UserMessage, Value: value}); err != nil {
		s.t.Fatal(err)
	}
}

// until waits until the function `want` returns true for the execution, and returns the execution.
// It fails the test after 30 seconds.
func (s *scriptedEngine) until(id uuid.UUID, want func(*perdure.Execution) bool) *perdure.Execution {
	s.t.Helper()
	hints, unsubscribe := s.engine.Hints.Subscribe(notify.Log(id))
	defer unsubscribe()
	limit := time.After(30 * time.Second)
	for {
		x, err := s.store.Execution(s.t.Context(), "default", id)
		if err != nil {
			s.t.Fatal(err)
		}
		if want(x) {
			return x
		}
		select {
		case <-hints:
		case <-limit:
			s.t.Fatalf("execution is %s (%s)\n%s", x.Status, x.WaitReason, strings.Join(s.conversation(id), "\n"))
		}
	}
}

func (s *scriptedEngine) idle(id uuid.UUID, checkpointAfter int64) *perdure.Execution {
	return s.until(id, func(x *perdure.Execution) bool {
		return x.Status.Terminal() || (x.Status == perdure.StatusWaiting && x.WaitReason == "signal" && x.CheckpointSeq > checkpointAfter)
	})
}

// conversation returns one line for each entry on the path of the execution.
func (s *scriptedEngine) conversation(id uuid.UUID) []string {
	s.t.Helper()
	x, err := s.store.Execution(s.t.Context(), "default", id)
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	if x.Leaf == nil {
		return nil
	}
	for e, err := range s.store.Path(s.t.Context(), id, *x.Leaf, nil, 0, false) {
		if err != nil {
			s.t.Fatal(err)
		}
		m, err := e.Message()
		if err != nil {
			s.t.Fatal(err)
		}
		line := string(m.Role) + ": " + m.PlainText()
		for _, p := range m.Parts {
			switch p.Type {
			case perdure.PartToolCall:
				line += fmt.Sprintf(" [%s]", p.Name)
			case perdure.PartToolResult:
				line += fmt.Sprintf("%s(%v) %s", p.ToolName, p.IsError, perdure.Content{Parts: p.Parts}.PlainText())
			}
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func (s *scriptedEngine) calls() int {
	s.t.Helper()
	raw, err := os.ReadFile(s.journal)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(string(raw), "\n")
}

const repair = `
turn
  thinking first I look
  text Let me look.
  call bash {"command": "echo one >> effects; cat effects"}
  call no-such-tool {}
  call write-file {"path": "a.txt", "content": "alpha\n"}
  call read-file {"path": "a.txt"}
turn
  text Again.
  call bash {"command": "echo one >> effects; cat effects"}
turn
  text Done.
turn
  text You are welcome.
`

// TestReactAgentNoDuplicateEntries checks that the conversation is the same whether the goroutine
// is parked or the function is entered again. Each tool call has its effect once, even if two calls
// have the same command.
func TestReactAgentNoDuplicateEntries(t *testing.T) {
	opentest.Each(t, reactAgentNoDuplicateEntries)
}

func reactAgentNoDuplicateEntries(t *testing.T, open opentest.Opener) {
	var conversations []string
	for _, parked := range []int{100, -1} {
		s := newScriptedEngineOn(t, open, parked, repair)
		id := s.start(engine.StartRequest{UserPrompt: "mend it"})
		x := s.idle(id, 0)
		s.say(id, "thanks")
		x = s.idle(id, x.CheckpointSeq)
		got := strings.Join(s.conversation(id), "\n")
		conversations = append(conversations, got)
		if s.calls() != 4 {
			t.Errorf("%d model calls for four answers", s.calls())
		}
		effects, err := os.ReadFile(filepath.Join(s.folder, "effects"))
		if err != nil || string(effects) != "one\none\n" {
			t.Errorf("effects: %q %v", effects, err)
		}
		if x.Status != perdure.StatusWaiting {
			t.Errorf("the execution is %s", x.Status)
		}
	}
	if conversations[0] != conversations[1] {
		t.Errorf("in place:\n%s\nentered again:\n%s", conversations[0], conversations[1])
	}
	for _, want := range []string{
		"user: mend it", "assistant: Let me look. [bash] [no-such-tool] [write-file] [read-file]",
		"there is no tool \"no-such-tool\"", "alpha", "assistant: Done.", "user: thanks", "assistant: You are welcome.",
	} {
		if !strings.Contains(conversations[0], want) {
			t.Errorf("%q is missing in\n%s", want, conversations[0])
		}
	}
}

// TestToolSuspensionCreatesNoErrorEntry checks an execution that suspends to wait for the model,
// for tools and for the user. None of its entries may be an error result, whether goroutines are
// parked or not.
func TestToolSuspensionCreatesNoErrorEntry(t *testing.T) {
	const script = "turn\n  call bash {\"command\": \"echo one\"}\n  call bash {\"command\": \"echo two\"}\nturn\n  call read-file {\"path\": \"a\"}\nturn\n  text Done.\n"
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		for _, parked := range []int{100, -1} {
			s := newScriptedEngineOn(t, open, parked, script)
			if err := os.WriteFile(filepath.Join(s.folder, "a"), []byte("alpha\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			x := s.idle(s.start(engine.StartRequest{UserPrompt: "go"}), 0)
			want := []string{"user: go", "[bash] [bash]", "one", "two", "[read-file]", "alpha", "assistant: Done."}
			got := s.conversation(x.ID)
			if len(got) != len(want) {
				t.Fatalf("the conversation is\n%s", strings.Join(got, "\n"))
			}
			for i, line := range got {
				if !strings.Contains(line, want[i]) || strings.Contains(line, "(true)") {
					t.Errorf("line %d is %q, want %q and no error", i, line, want[i])
				}
			}
		}
	})
}

func TestOneShotCompletesWithUsage(t *testing.T) {
	s := newScriptedEngine(t, 100, "turn\n  text Hello.\n  usage in=10 out=5\n")
	id := s.start(engine.StartRequest{UserPrompt: "hi", OneShot: true})
	x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	var out perdure.ReactOutput
	if err := json.Unmarshal(x.Output, &out); err != nil {
		t.Fatal(err)
	}
	usage := out.UsageByModel["scripted/s"]
	if x.Status != perdure.StatusCompleted || out.Text != "Hello." || out.StopReason != perdure.StopEndTurn || usage.Input != 10 || usage.Calls != 1 {
		t.Errorf("%s %+v", x.Status, out)
	}
}

func TestTurnLimitEndsTheResponseAndCanBeContinued(t *testing.T) {
	one := 1
	s := newScriptedEngine(t, 100, repair)
	id := s.start(engine.StartRequest{UserPrompt: "mend it", Config: perdure.AgentConfig{MaxTurns: &one}})
	x := s.idle(id, 0)
	if s.calls() != 1 {
		t.Errorf("%d model calls, and one was allowed", s.calls())
	}
	s.say(id, "go on")
	s.idle(id, x.CheckpointSeq)
	if s.calls() != 2 {
		t.Errorf("%d model calls after the second message", s.calls())
	}
}

// TestSteeringSkipsWhatHasNotBegun checks that a message that arrives while a tool call runs is
// appended after that call. The next call, which has not begun, gets the result "skipped".
func TestSteeringSkipsWhatHasNotBegun(t *testing.T) {
	s := newScriptedEngine(t, 100, `
turn
  call bash {"command": "echo ready; while [ ! -e go ]; do sleep 0.05; done"}
  call write-file {"path": "b.txt", "content": "never"}
turn
  expect other
  text As you like.
`)
	id := s.start(engine.StartRequest{UserPrompt: "write", OneShot: true})
	s.until(id, func(*perdure.Execution) bool {
		records, _, err := s.store.Log(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Type == perdure.EventTerminal && r.Chunk != nil && strings.Contains(r.Chunk.Text, "ready") {
				return true
			}
		}
		return false
	})
	s.say(id, "no, something other")
	if err := os.WriteFile(filepath.Join(s.folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	if x.Status != perdure.StatusCompleted {
		t.Fatalf("%s %v", x.Status, s.conversation(id))
	}
	if _, err := os.Stat(filepath.Join(s.folder, "b.txt")); err == nil {
		t.Error("the call that had not begun ran")
	}
	if got := strings.Join(s.conversation(id), "\n"); !strings.Contains(got, "skipped: the user sent a message") {
		t.Errorf("no skipped result in\n%s", got)
	}
}

func TestModelErrorWaitsAndRetrySignalTriesAgain(t *testing.T) {
	s := newScriptedEngine(t, 100, "turn\n  when second\n    text Fine.\n  else\n    fail auth the key is wrong\n")
	id := s.start(engine.StartRequest{UserPrompt: "first"})
	x := s.idle(id, 0)
	if x.Status != perdure.StatusWaiting {
		t.Fatalf("%s", x.Status)
	}
	if _, err := s.engine.Signal(t.Context(), "default", id, engine.SignalRequest{Name: "retry"}); err != nil {
		t.Fatal(err)
	}
	x = s.idle(id, x.CheckpointSeq)
	if s.calls() != 2 || x.Status != perdure.StatusWaiting {
		t.Errorf("%d calls, %s", s.calls(), x.Status)
	}
	s.say(id, "second")
	if x = s.idle(id, x.CheckpointSeq); s.calls() != 3 || x.Status != perdure.StatusWaiting {
		t.Errorf("%d calls, %s", s.calls(), x.Status)
	}
}

func TestMain(m *testing.M) {
	tool.MaybeSandboxChild()
	os.Exit(opentest.Main(m))
}
