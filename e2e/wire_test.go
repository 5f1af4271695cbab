package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// wire is the API of a provider, as the tests of this file use it.
type wire struct {
	model perdure.ModelConfig
	path  string // path of the API's calls
	// items says that the API takes the parts of one answer as separate items. The journal then
	// contains a message for each item: the text, and every call.
	items bool
}

var wires = []wire{
	{perdure.ModelConfig{Provider: "anthropic", ModelID: "claude-sonnet-4-5"}, "/v1/messages", false},
	{perdure.ModelConfig{Provider: "openai", ModelID: "gpt-5"}, "/v1/chat/completions", false},
	{perdure.ModelConfig{Provider: "openai-responses", ModelID: "gpt-5"}, "/v1/responses", true},
	{perdure.ModelConfig{Provider: "gemini", ModelID: "gemini-2.5-flash"}, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", false},
}

// answersBefore returns the number of the model's messages in the prompt of turn i.
func (w wire) answersBefore(turns []turn, i int) int {
	if !w.items {
		return i
	}
	n := 0
	for _, t := range turns[:i] {
		n += 1 + len(t.Calls)
	}
	return n
}

// TestConversationOverTheWire checks a conversation over the API of each provider. The conversation
// contains every tool, parallel calls, a call of a tool that does not exist, and a second message.
func TestConversationOverTheWire(t *testing.T) {
	for _, w := range wires {
		t.Run(w.model.Provider, func(t *testing.T) { conversationOver(t, w) })
	}
}

var toolNames = []string{"read-file", "write-file", "edit-file", "bash", "grep", "find"}

func conversationOver(t *testing.T, w wire) {
	turns := wireScript()
	fixtures := append(conversation("Mend the list", 0, 0, turns[:5]...), conversation("Thanks", 5, 0, turns[5:]...)...)
	for i := range fixtures {
		*fixtures[i].Match.TurnIndex = w.answersBefore(turns, i)
	}
	mock := startAimock(t, fixtures...)
	s := newDeployment(t, setup{env: mock.environment(w.model.Provider)})
	s.write("list.txt", "alpha\nbeta\ngamma\n")
	system := "You keep lists."
	id := s.start(client.StartRequest{
		UserPrompt: "Mend the list", SystemPrompt: &system, Tools: &toolNames,
		Models: []perdure.ModelConfig{w.model}, Config: perdure.AgentConfig{Thinking: "low"},
	})
	f := s.follow(id)
	s.idle(id, 1)
	s.say(id, "Thanks")
	s.idle(id, 2)
	if _, err := s.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	trace(t, s.sameLog(f, id))
	want, err := os.ReadFile("testdata/conversation.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), plain(s.transcript(id))+"\n"); d != "" {
		t.Errorf("the conversation (-want +got):\n%s", d)
	}
	if got := s.read("list.txt") + s.read("notes.md") + s.read("effects.txt"); got != "alpha\nBETA\ngamma\n# Notes\n3\n" {
		t.Errorf("the workspace holds %q", got)
	}
	checkWire(t, w, mock.calls(), turns, system)
	s.checkUsage(id, w, turns)
}

func wireScript() []turn {
	named := func(id, name string, arguments any) toolCall {
		return toolCall{ID: id, Name: name, Arguments: arguments}
	}
	turns := []turn{
		{Thinking: "I look first.", Text: "Let me look at it.", Calls: []toolCall{
			named("c1", "read-file", map[string]any{"path": "list.txt"}),
			named("c2", "grep", map[string]any{"pattern": "et", "path": "."}),
			named("c3", "find", map[string]any{"pattern": "*.txt"}),
		}},
		{Thinking: "Now I write.", Text: "Both files.", Calls: []toolCall{
			named("c4", "write-file", map[string]any{"path": "notes.md", "content": "# Notes\n"}),
			named("c5", "edit-file", map[string]any{"path": "list.txt", "oldString": "beta", "newString": "BETA"}),
			named("c6", "read-file", map[string]any{"path": "list.txt"}),
		}},
		{Thinking: "A command.", Text: "And a command.", Calls: []toolCall{
			named("c7", "bash", map[string]any{"command": "grep -c . list.txt >> effects.txt; echo broken >&2; exit 3"}),
		}},
		{Thinking: "Something new.", Text: "Another way.", Calls: []toolCall{
			named("c8", "teleport", map[string]any{"to": "moon"}),
			named("c9", "edit-file", map[string]any{"path": "../outside.txt", "oldString": "a", "newString": "b"}),
		}},
		{Thinking: "Done.", Text: "The list is mended: 3 lines, ünïcode → ✓."},
		{Thinking: "Polite.", Text: "You are welcome."},
	}
	for i := range turns {
		turns[i].Usage = tokens(1000+i, 100+i)
	}
	return turns
}

// checkUsage checks the usage in the record of each model call.
func (s *deployment) checkUsage(id uuid.UUID, w wire, turns []turn) {
	s.t.Helper()
	var records []perdure.Entry
	for e, err := range s.AllEntries(s.t.Context(), id) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Type == perdure.EntryLLMCall {
			records = append(records, e)
		}
	}
	if len(records) != len(turns) {
		s.t.Fatalf("%d records of model calls for %d answers", len(records), len(turns))
	}
	for i, e := range records {
		var record struct {
			Model perdure.ModelConfig `json:"model"`
			Usage perdure.Usage       `json:"usage"`
		}
		if err := json.Unmarshal(e.Metadata, &record); err != nil {
			s.t.Fatal(err)
		}
		u, want := record.Usage, turns[i].Usage
		if record.Model != w.model || u.Input != int64(want.Input) || u.Output != int64(want.Output) || u.Calls != 1 || u.Cost == nil || *u.Cost <= 0 {
			s.t.Errorf("the record of call %d is %s", i, e.Metadata)
		}
	}
}

// checkWire checks the requests that arrived at the provider.
func checkWire(t *testing.T, w wire, calls []modelCall, turns []turn, system string) {
	t.Helper()
	if len(calls) != len(turns) {
		t.Fatalf("%d calls for %d answers", len(calls), len(turns))
	}
	for i, c := range calls {
		if c.turn() != w.answersBefore(turns, i) || c.Path != w.path || c.Method != http.MethodPost || !c.Body.Stream || c.Body.Model != w.model.ModelID {
			t.Errorf("call %d: %s %s of %s, turn %d", i, c.Method, c.Path, c.Body.Model, c.turn())
		}
		var tools []string
		for _, tool := range c.Body.Tools {
			tools = append(tools, tool.Function.Name)
		}
		if !slices.Equal(tools, toolNames) {
			t.Errorf("call %d: the tools are %v", i, tools)
		}
		if first := c.Body.Messages[0]; first.text() != system || (first.Role != "system" && first.Role != "developer") {
			t.Errorf("call %d begins with %+v", i, first)
		}
		checkAnswered(t, i, whole(c.Body.Messages))
	}
}

// whole joins the items of each answer into one message.
func whole(messages []promptMessage) []promptMessage {
	var all []promptMessage
	for _, m := range messages {
		if last := len(all) - 1; last >= 0 && m.Role == "assistant" && all[last].Role == "assistant" {
			all[last].ToolCalls = append(slices.Clone(all[last].ToolCalls), m.ToolCalls...)
			continue
		}
		all = append(all, m)
	}
	return all
}

// checkAnswered checks the rule of all providers: each message with tool calls is followed
// immediately by the results, in the order of the calls.
func checkAnswered(t *testing.T, call int, messages []promptMessage) {
	t.Helper()
	var open []string
	for _, m := range messages {
		switch {
		case m.Role == "tool" && len(open) > 0 && open[0] == m.ToolCallID:
			open = open[1:]
		case m.Role == "tool" || len(open) > 0:
			t.Errorf("call %d: %s %s where an answer to %v has to stand", call, m.Role, m.ToolCallID, open)
			return
		}
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				t.Errorf("call %d: the arguments of %s are %q", call, c.Function.Name, c.Function.Arguments)
			}
			open = append(open, c.ID)
		}
	}
}
