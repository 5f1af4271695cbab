package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// aimock is the model provider of these tests. One port serves the APIs of Anthropic, OpenAI and
// Gemini. The journal records every call.
type aimock struct {
	t   *testing.T
	url string
}

// turn is the model's output at one point of a conversation.
type turn struct {
	Thinking  string     `json:"reasoning,omitempty"`
	Text      string     `json:"content,omitempty"`
	Calls     []toolCall `json:"toolCalls,omitempty"`
	Usage     usage      `json:"usage,omitzero"`
	Signature string     `json:"reasoningSignature,omitempty"`
}

type toolCall struct {
	ID        string `json:"id"` // the provider's id
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
}

type usage struct {
	Input  int `json:"prompt_tokens"`
	Output int `json:"completion_tokens"`
	Total  int `json:"total_tokens"`
}

func tokens(in, out int) usage { return usage{Input: in, Output: out, Total: in + out} }

// fixture is a turn with the conditions under which it is returned: the number of model answers
// earlier in the conversation, and words in the user's last message.
type fixture struct {
	Match struct {
		UserMessage string `json:"userMessage,omitempty"`
		TurnIndex   *int   `json:"turnIndex,omitempty"`
		// ToolResult, if set, says whether a tool result must follow the user's last message (true)
		// or must not (false).
		ToolResult *bool `json:"hasToolResult,omitempty"`
	} `json:"match"`
	Response turn `json:"response"`
	// Latency is the pause before each chunk, in milliseconds.
	Latency   int `json:"latency,omitempty"`
	ChunkSize int `json:"chunkSize,omitempty"` // in characters
}

// conversation returns fixtures of turns that answer a message. The parameter `first` is the number
// of answers before the first turn, and `pace` is the pause before each chunk.
func conversation(message string, first int, pace time.Duration, turns ...turn) []fixture {
	var all []fixture
	for i, t := range turns {
		f := fixture{Response: t, Latency: int(pace.Milliseconds()), ChunkSize: 12}
		index := first + i
		f.Match.UserMessage, f.Match.TurnIndex = message, &index
		all = append(all, f)
	}
	return all
}

// startAimock serves the fixtures. A call that matches none of them is refused.
func startAimock(t *testing.T, fixtures ...fixture) *aimock {
	t.Helper()
	cli, err := filepath.Abs("aimock/node_modules/@copilotkit/aimock/dist/cli.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cli); err != nil {
		t.Fatal("aimock is not installed; run: make deps")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed; run: make deps")
	}
	raw, err := json.Marshal(map[string]any{"fixtures": fixtures})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "fixtures.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, command{
		name: "aimock", dir: dir, env: environment(dir, "AIMOCK_STRICT_TURN_INDEX=1", "AIMOCK_API_KEYS="+modelKey),
		argv: []string{node, cli, "--port", "0", "--strict", "--validate-on-load", "--journal-max", "0", "--fixtures", file},
	})
	return &aimock{t: t, url: p.says("listening on ")}
}

// modelKey is the key that aimock requires.
const modelKey = "key-of-the-worker"

// environment returns the variables that point a worker's provider to aimock.
func (a *aimock) environment(provider string) []string {
	switch provider {
	case "gemini":
		return []string{"GOOGLE_GEMINI_BASE_URL=" + a.url, "GEMINI_API_KEY=" + modelKey}
	case "openai", "openai-responses":
		return []string{"OPENAI_BASE_URL=" + a.url + "/v1", "OPENAI_API_KEY=" + modelKey}
	}
	return []string{"ANTHROPIC_BASE_URL=" + a.url, "ANTHROPIC_API_KEY=" + modelKey}
}

// modelCall is a call that aimock received, in the form of Chat Completions for every API.
type modelCall struct {
	Timestamp int64             `json:"timestamp"` // in Unix milliseconds
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"`
	Body      struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		Messages []promptMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	} `json:"body"`
	Response struct {
		Status      int  `json:"status"`
		Interrupted bool `json:"interrupted"`
	} `json:"response"`
}

type promptMessage struct {
	Role       string `json:"role"`
	Content    any    `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

// text returns the message's text. The content is a string or a list of parts.
func (m promptMessage) text() string {
	switch content := m.Content.(type) {
	case string:
		return content
	case []any:
		var all strings.Builder
		for _, part := range content {
			if part, ok := part.(map[string]any); ok {
				fmt.Fprint(&all, part["text"])
			}
		}
		return all.String()
	}
	return ""
}

// turn returns the number of answers in the prompt.
func (c modelCall) turn() int {
	n := 0
	for _, m := range c.Body.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// at returns the time at which the call arrived.
func (c modelCall) at() time.Time { return time.UnixMilli(c.Timestamp) }

// received reports whether the whole request arrived. If a client is killed while it sends a request,
// the journal contains that request without a body.
func (c modelCall) received() bool {
	return !c.Response.Interrupted || c.Response.Status != 0 || len(c.Body.Messages) > 0
}

// calls returns the requests in the journal, except those that did not arrive completely. The test
// fails if a response has another status than 200.
func (a *aimock) calls() []modelCall {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/__aimock/journal", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Close = true // an idle connection would look like a leak to goleak
	req.Header.Set("Authorization", "Bearer "+modelKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var calls []modelCall
	if err := json.NewDecoder(resp.Body).Decode(&calls); err != nil {
		a.t.Fatal(err)
	}
	calls = slices.DeleteFunc(calls, func(c modelCall) bool { return !c.received() })
	for i, c := range calls {
		if c.Response.Status != http.StatusOK {
			a.t.Errorf("call %d (%s %s, turn %d) was answered %d", i, c.Method, c.Path, c.turn(), c.Response.Status)
		}
	}
	return calls
}
