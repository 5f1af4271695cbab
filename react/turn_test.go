package react_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/react"
)

func (s *workerPool) log(id uuid.UUID) []perdure.Record {
	s.t.Helper()
	records, _, err := s.store.Log(s.t.Context(), id, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return records
}

// tools returns the events about the tasks of tools, in the order of the log.
func (s *workerPool) tools(id uuid.UUID) []string {
	s.t.Helper()
	var all []string
	for _, r := range s.log(id) {
		var task struct {
			Kind string `json:"kind"`
		}
		if r.Type != perdure.EventTaskScheduled && r.Type != perdure.EventTaskCompleted {
			continue
		}
		if err := json.Unmarshal(r.Fields, &task); err != nil {
			s.t.Fatal(err)
		}
		if task.Kind != react.ModelTask {
			all = append(all, strings.TrimPrefix(string(r.Type), "task.")+" "+task.Kind)
		}
	}
	return all
}

// sees waits until the terminal output in the execution's log contains the text.
func (s *workerPool) sees(id uuid.UUID, text string) {
	s.t.Helper()
	s.until(id, func(*perdure.Execution) bool {
		return slices.ContainsFunc(s.log(id), func(r perdure.Record) bool {
			return r.Type == perdure.EventTerminal && r.Chunk != nil && strings.Contains(r.Chunk.Text, text)
		})
	})
}

// touch creates an empty file in the workspace.
func (s *workerPool) touch(name string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// completed waits until the execution ends, and fails the test unless it has completed.
func (s *workerPool) completed(id uuid.UUID) *perdure.Execution {
	s.t.Helper()
	x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	if x.Status != perdure.StatusCompleted {
		s.t.Fatalf("it is %s\n%s", x.Status, strings.Join(s.conversation(id), "\n"))
	}
	return x
}

// TestParallelResultsAreStoredInCallOrder checks that the results of one turn's calls are stored in
// the order of the calls. The calls run concurrently: the first call ends only after the second has
// begun.
func TestParallelResultsAreStoredInCallOrder(t *testing.T) {
	s := newWorkerPool(t, 100, `
turn
  call bash {"command": "while [ ! -e second ]; do sleep 0.01; done; echo of the first"}
  call bash {"command": "touch second; echo of the second"}
turn
  text Done.
`)
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	s.completed(id)
	got := s.conversation(id)
	if len(got) != 5 || !strings.Contains(got[2], "of the first") || !strings.Contains(got[3], "of the second") {
		t.Errorf("the conversation is\n%s", strings.Join(got, "\n"))
	}
	entries, err := s.store.AllEntries(t.Context(), id, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var calls, answers []string
	for _, e := range entries.Items {
		if calls = append(calls, e.Calls...); e.Answers != "" {
			answers = append(answers, e.Answers)
		}
	}
	if len(calls) != 2 || !slices.Equal(calls, answers) {
		t.Errorf("the calls %q are answered as %q", calls, answers)
	}
}

// TestBarriersRunAlone checks that calls of tools with a barrier run alone, in the order of the
// calls, and that the calls between two such calls run together.
func TestBarriersRunAlone(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, parked := range []int{100, -1} {
		s := newWorkerPool(t, parked, `
turn
  call bash {"command": "true"}
  call write-file {"path": "a.txt", "content": "one\n"}
  call bash {"command": "while [ ! -e seen ]; do sleep 0.01; done; cat a.txt"}
  call bash {"command": "touch seen"}
  call edit-file {"path": "a.txt", "oldString": "one", "newString": "two"}
  call read-file {"path": "a.txt"}
turn
  text Done.
`)
		id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
		s.completed(id)
		want := []string{
			"scheduled bash", "completed bash", "scheduled write-file", "completed write-file",
			"scheduled bash", "scheduled bash", "completed bash", "completed bash",
			"scheduled edit-file", "completed edit-file", "scheduled read-file", "completed read-file",
		}
		if got := s.tools(id); !slices.Equal(got, want) {
			t.Errorf("the tools ran as %q, want %q", got, want)
		}
	}
}

// TestEqualCommandRunsAgain checks that two calls with the same command run the command twice: the
// second call does not get the result of the first.
func TestEqualCommandRunsAgain(t *testing.T) {
	const again = "turn\n  call bash {\"command\": \"echo x >> effects; wc -l < effects\"}\n"
	for _, parked := range []int{100, -1} {
		s := newWorkerPool(t, parked, again+again+"turn\n  text Done.\n")
		id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
		s.completed(id)
		got := s.conversation(id)
		if len(got) != 6 || !strings.Contains(got[2], ") 1\n") || !strings.Contains(got[4], ") 2\n") {
			t.Errorf("the conversation is\n%s", strings.Join(got, "\n"))
		}
	}
}

// TestSteeringTakesAllInOrder checks that all messages that arrive while a tool runs are appended
// in order before the next model call.
func TestSteeringTakesAllInOrder(t *testing.T) {
	for _, parked := range []int{100, -1} {
		s := newWorkerPool(t, parked, `
turn
  call bash {"command": "echo ready; while [ ! -e go ]; do sleep 0.01; done"}
turn
  expect three
  text As you like.
`)
		id := s.start(engine.StartRequest{UserPrompt: "write", OneShot: true})
		s.sees(id, "ready")
		for _, text := range []string{"one", "two", "three"} {
			s.say(id, text)
		}
		s.touch("go")
		s.completed(id)
		got := s.conversation(id)
		if want := []string{"user: one", "user: two", "user: three", "assistant: As you like."}; !slices.Equal(got[len(got)-4:], want) {
			t.Errorf("the conversation is\n%s", strings.Join(got, "\n"))
		}
		if n := s.calls(); n != 2 {
			t.Errorf("%d model calls, want 2", n)
		}
	}
}

// TestSteeringDuringTheModelCall checks that the tool calls in a model's answer do not run if a
// message has arrived during the model call.
func TestSteeringDuringTheModelCall(t *testing.T) {
	for _, parked := range []int{100, -1} {
		s := emptyWorkerPool(t, `
turn
  call bash {"command": "touch effect"}
  call bash {"command": "touch effect"}
turn
  expect rather not
  text As you like.
`)
		s.work(parked, func(c *workerSetup) { c.noTasks = true })
		id := s.start(engine.StartRequest{UserPrompt: "write", OneShot: true})
		s.until(id, func(x *perdure.Execution) bool { return x.WaitReason == "task" })
		s.say(id, "rather not")
		s.work(parked, func(c *workerSetup) { c.noAgent = true })
		s.completed(id)
		if tools := s.tools(id); len(tools) != 0 {
			t.Errorf("what ran: %q", tools)
		}
		if got := strings.Join(s.conversation(id), "\n"); strings.Count(got, "skipped: the user sent a message") != 2 {
			t.Errorf("the conversation is\n%s", got)
		}
	}
}

// TestModelIsChosenTurnByTurn checks that Select chooses the model of each turn, and that usage is
// counted by model.
func TestModelIsChosenTurnByTurn(t *testing.T) {
	const script = "turn\n  call find {\"pattern\": \"*\"}\n  usage in=1 out=2\nturn\n  call find {\"pattern\": \"*.go\"}\n  usage in=10 out=20\nturn\n  text Done.\n  usage in=100 out=200\n"
	s := emptyWorkerPool(t, script)
	s.play("other", script)
	s.work(-1, func(c *workerSetup) {
		c.Select = func(turn react.Turn) perdure.ModelConfig { return turn.Models[turn.Index%2] }
	})
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true, Models: []perdure.ModelConfig{
		{Provider: "scripted", ModelID: "s"}, {Provider: "scripted", ModelID: "other"},
	}})
	var out perdure.ReactOutput
	if err := json.Unmarshal(s.completed(id).Output, &out); err != nil {
		t.Fatal(err)
	}
	one, two := out.UsageByModel["scripted/s"], out.UsageByModel["scripted/other"]
	if one.Calls != 2 || one.Input != 101 || one.Output != 202 || two.Calls != 1 || two.Input != 10 || two.Output != 20 {
		t.Errorf("the usage is %+v", out.UsageByModel)
	}
}

// TestOverloadIsRetried checks that a model call is retried if the provider is overloaded, and that
// clients see no error.
func TestOverloadIsRetried(t *testing.T) {
	s := newWorkerPool(t, 100, "turn\n  fail overloaded come back later\n")
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	s.until(id, func(*perdure.Execution) bool {
		return slices.ContainsFunc(s.log(id), func(r perdure.Record) bool { return r.Type == perdure.EventTaskRetrying })
	})
	s.play("s", "turn\n  text Here I am.\n")
	s.completed(id)
	if got := s.conversation(id); len(got) != 2 || got[1] != "assistant: Here I am." {
		t.Errorf("the conversation is %q", got)
	}
	if slices.ContainsFunc(s.log(id), func(r perdure.Record) bool { return r.Type == perdure.EventError }) {
		t.Error("an error was shown")
	}
}

// TestEntriesHaveTheirOrigin checks that the key of each entry identifies the input, task or signal
// from which the entry was made. After each answer of a model, there is an entry about the model
// call, with usage and cost.
func TestEntriesHaveTheirOrigin(t *testing.T) {
	s := newWorkerPool(t, -1, "turn\n  call find {\"pattern\": \"*\"}\n  usage in=3 out=4\nturn\n  text Done.\nturn\n  text Bye.\n")
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	x := s.idle(id, 0)
	if _, err := s.engine.Signal(t.Context(), "default", id, engine.SignalRequest{
		Name: perdure.UserMessage, ID: "s1", Value: json.RawMessage(`{"text":"bye"}`),
	}); err != nil {
		t.Fatal(err)
	}
	s.idle(id, x.CheckpointSeq)
	tasks, err := s.store.ListTasks(t.Context(), id, false, "", 100)
	if err != nil || len(tasks.Items) != 4 {
		t.Fatalf("%d tasks, %v", len(tasks.Items), err)
	}
	of := func(i int) string { return "task:" + tasks.Items[i].ID.String() }
	want := []string{"user input", "assistant " + of(0), "llm_call", "tool_result " + of(1), "assistant " + of(2), "llm_call", "user signal:s1", "assistant " + of(3), "llm_call"}
	entries, err := s.store.AllEntries(t.Context(), id, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range entries.Items {
		if e.Type != perdure.EntryLLMCall {
			got = append(got, fmt.Sprintf("%s %s", e.Role, e.Key))
			continue
		}
		got = append(got, "llm_call")
		if e.ParentID == nil || *e.ParentID != entries.Items[i-1].ID {
			t.Errorf("record %d hangs on %v, not on its answer", i, e.ParentID)
		}
		checkRecord(t, e)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the entries are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func checkRecord(t *testing.T, e perdure.Entry) {
	t.Helper()
	var record struct {
		Model      perdure.ModelConfig `json:"model"`
		Usage      *perdure.Usage      `json:"usage"`
		Cost       map[string]*float64 `json:"cost"`
		LatencyMs  *int64              `json:"latencyMs"`
		StopReason perdure.StopReason  `json:"stopReason"`
	}
	if err := json.Unmarshal(e.Metadata, &record); err != nil {
		t.Fatal(err)
	}
	if record.Model.String() != "scripted/s" || record.Usage == nil || record.Usage.Calls != 1 || record.Usage.Output == 0 ||
		record.Cost["input"] == nil || record.Cost["output"] == nil || record.Cost["total"] == nil || record.LatencyMs == nil || record.StopReason == "" {
		t.Errorf("the record of a model call is %s", e.Metadata)
	}
}

// TestTurnLimitIsTheStopReason checks that a response that has reached MaxTurns ends with the stop
// reason turn_limit.
func TestTurnLimitIsTheStopReason(t *testing.T) {
	s := newWorkerPool(t, 100, repair)
	one := 1
	id := s.start(engine.StartRequest{UserPrompt: "mend it", OneShot: true, Config: perdure.AgentConfig{MaxTurns: &one}})
	var out perdure.ReactOutput
	if err := json.Unmarshal(s.completed(id).Output, &out); err != nil || out.StopReason != perdure.StopTurnLimit || s.calls() != 1 {
		t.Errorf("after %d calls it ended with %+v (%v)", s.calls(), out, err)
	}
}
