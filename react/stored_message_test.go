package react_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/tool"
)

// stored puts a userMessage signal into the store without checking it, as older servers did.
func (s *scriptedEngine) stored(id uuid.UUID, value string) {
	s.t.Helper()
	_, err := s.store.Do(s.t.Context(), store.Command{
		Name: "test", Lane: store.LaneCommits, Org: "default", Execution: id,
		Decide: func(st *store.State) (*store.Changes, error) {
			st.Execution.NextSignal++
			return &store.Changes{Execution: st.Execution, Signals: []perdure.Signal{{
				ID: "old", Name: perdure.UserMessage, Value: json.RawMessage(value), State: perdure.SignalPending,
				ResponseID: "resp_old", CreatedAt: st.Now, Order: st.Execution.NextSignal,
			}}}, nil
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestStoredMessagesEndNoRun checks that an invalid stored message becomes a text which says that
// the message cannot be read, and that the run continues. The message begins a response or joins
// one.
func TestStoredMessagesEndNoRun(t *testing.T) {
	longtest.Skip(t, "seconds")
	const unread = "user: (a message came that cannot be read: "
	for name, test := range map[string]struct{ value, want string }{
		"settings of nothing":     {`{"text":"hi","settings":{}}`, "user: hi"},
		"nothing but settings":    {`{"settings":{}}`, unread},
		"a call without a result": {`{"messages":[{"role":"assistant","parts":[{"type":"toolCall","id":"1","name":"bash"}]}]}`, unread},
		"a result of no call":     {`{"messages":[{"role":"tool_result","parts":[{"type":"toolResult","toolCallId":"x","parts":[]}]}]}`, unread},
		"a user that calls":       {`{"parts":[{"type":"toolCall","id":"1","name":"bash"}]}`, unread},
		"an unknown role":         {`{"messages":[{"role":"robot","parts":[{"type":"text","text":"x"}]}]}`, unread},
		"a message of no parts":   {`{"messages":[{"role":"user"}]}`, unread},
		"a number":                {`7`, unread},
		"another shape":           {`{"parts":"x"}`, unread},
	} {
		for _, prompt := range []string{"", "first"} {
			t.Run(name+" after "+prompt, func(t *testing.T) {
				s := emptyWorkerPool(t, "turn\n  text Fine.\n")
				s.work(100)() // registers the kinds, and stops the worker
				id := s.start(engine.StartRequest{UserPrompt: prompt})
				s.stored(id, test.value)
				s.work(100)
				x := s.until(id, func(x *perdure.Execution) bool {
					return x.Status.Terminal() || x.Panics > 0 || slices.Contains(s.conversation(id), "assistant: Fine.") && x.WaitReason == "signal"
				})
				said := s.conversation(id)
				if x.Status != perdure.StatusWaiting || !slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, test.want) }) {
					t.Errorf("it is %s with a score of %d for panics and %v\n%s", x.Status, x.Panics, x.Error, strings.Join(said, "\n"))
				}
			})
		}
	}
}

// findBy returns a copy of the tools in which the function `run` implements the tool "find".
func findBy(tools []tool.Tool, run func(context.Context, *tool.Call) (tool.Result, error)) []tool.Tool {
	tools = slices.Clone(tools)
	tools[slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == "find" })].Run = run
	return tools
}

// TestToolResultsEndNoRun checks a tool's result with a part that a conversation cannot contain. A
// text takes the place of the part, and the run completes.
func TestToolResultsEndNoRun(t *testing.T) {
	s := emptyWorkerPool(t, "turn\n  call find {\"pattern\": \"x\"}\nturn\n  text Fine.\n")
	s.work(100, func(c *workerSetup) {
		c.Tools = findBy(c.Tools, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Parts: []perdure.Part{{Type: perdure.PartToolCall, ID: "1", Name: "bash"}}}, nil
		})
	})
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	x := s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	said := strings.Join(s.conversation(id), "\n")
	if x.Status != perdure.StatusCompleted || !strings.Contains(said, `find(false) (a part of type "toolCall" stood here that cannot be shown)`) {
		t.Errorf("it is %s (%v)\n%s", x.Status, x.Error, said)
	}
}

// TestPanicsOfToolsLeaveNoStackInTheConversation checks that the conversation contains the message
// of a tool's panic, but not the stack.
func TestPanicsOfToolsLeaveNoStackInTheConversation(t *testing.T) {
	s := emptyWorkerPool(t, "turn\n  call find {\"pattern\": \"x\"}\nturn\n  text Fine.\n")
	s.work(100, func(c *workerSetup) {
		c.Tools = findBy(c.Tools, func(context.Context, *tool.Call) (tool.Result, error) { panic("boom") })
	})
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	s.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
	if said := strings.Join(s.conversation(id), "\n"); !strings.Contains(said, "boom") || strings.Contains(said, "goroutine") || strings.Contains(said, ".go:") {
		t.Errorf("the conversation holds\n%s", said)
	}
}
