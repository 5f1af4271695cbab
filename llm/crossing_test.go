package llm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/llm/openairesponses"
)

// remotes are the four wires that a conversation may move between.
var remotes = []llmtest.Remote{
	{
		Wire: llmtest.Anthropic, Model: "claude-sonnet-4-5", BaseEnv: "ANTHROPIC_BASE_URL", KeyEnv: "ANTHROPIC_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return anthropic.New(anthropic.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.OpenAI, Model: "gpt-5", BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openai.New(openai.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.OpenAIResponses, Model: "gpt-5", BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openairesponses.New(openairesponses.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.Gemini, Model: "gemini-3-pro-preview", BaseEnv: "GOOGLE_GEMINI_BASE_URL", KeyEnv: "GEMINI_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return gemini.New(gemini.Config{Endpoints: e, Client: c})
		},
	},
}

// Any conversation that the transcript rules let be stored is accepted by every
// provider; a signature goes to nobody but its maker; and the bytes are the same
// each time, and by each process.
func TestAnyStoredConversationIsAccepted(t *testing.T) {
	type sender struct {
		remote llmtest.Remote
		here   llm.Provider
		server *llmtest.Server
	}
	var senders []sender
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		senders = append(senders, sender{r, p, server})
	}
	rapid.Check(t, func(t *rapid.T) {
		c := conversations{t: t}
		messages := c.draw()
		thinking := rapid.SampledFrom([]llm.Thinking{"", llm.ThinkingOff, llm.ThinkingHigh}).Draw(t, "thinking")
		for _, s := range senders {
			req := llm.Request{Model: s.remote.Model, System: "Be brief.", Thinking: thinking, Messages: messages}
			before := len(s.server.Requests())
			for range 2 {
				if _, _, err := llmtest.TryAsk(t.Context(), s.here, req); err != nil {
					t.Fatalf("%s: %v", s.here.Name(), err)
				}
			}
			got := s.server.Requests()[before:]
			if !bytes.Equal(got[0].Raw, got[1].Raw) {
				t.Fatalf("%s: the second request differs:\n%s\n%s", s.here.Name(), got[0].Raw, got[1].Raw)
			}
			if err := s.remote.Wire.Check(got[0].Raw); err != nil {
				t.Fatalf("%s would refuse: %v\n%s", s.here.Name(), err, got[0].Raw)
			}
			c.checkSignatures(llm.Model{Provider: s.here.Name(), ID: s.remote.Model}, got[0].Raw)
		}
	})
}

// conversations draws what the transcript rules allow, however odd.
type conversations struct {
	t      *rapid.T
	makers []llm.Model // of the signatures, by their number
	ids    int
}

// signature makes one that tells its maker, as base64.
func (c *conversations) signature(maker llm.Model) string {
	c.makers = append(c.makers, maker)
	return sealed(len(c.makers) - 1)
}

// sealed has a length that base64 takes without padding, so that it is found in
// any text that holds it.
func sealed(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "sealed-%05d", n))
}

func (c *conversations) checkSignatures(to llm.Model, request []byte) {
	for n, maker := range c.makers {
		if maker != to && bytes.Contains(request, []byte(sealed(n))) {
			c.t.Fatalf("a signature of %s went to %s:\n%s", maker, to, request)
		}
	}
}

func (c *conversations) draw() []perdure.Message {
	var messages []perdure.Message
	for range rapid.IntRange(0, 6).Draw(c.t, "messages") {
		switch rapid.IntRange(0, 3).Draw(c.t, "role") {
		case 0:
			messages = append(messages, message(perdure.RoleSystem, c.texts()))
		case 1:
			messages = append(messages, message(perdure.RoleUser, c.shown()))
		default:
			messages = append(messages, c.round()...)
		}
	}
	messages = append(messages, message(perdure.RoleUser, c.shown()))
	if rapid.Bool().Draw(c.t, "ends with a round") {
		if round := c.round(); len(round) > 1 {
			messages = append(messages, round...)
		}
	}
	c.checkStorable(messages)
	return messages
}

func message(role perdure.Role, parts []perdure.Part) perdure.Message {
	return perdure.Message{Role: role, Content: perdure.Content{Parts: parts}}
}

var oddTexts = []string{"hello", "", " ", "\n", "ünï → ✓ \u2028 <b>&", "\"}{[", "\x00", strings.Repeat("long ", 50)}

func (c *conversations) text() perdure.Part {
	return perdure.Text(rapid.SampledFrom(oddTexts).Draw(c.t, "text"))
}

func (c *conversations) texts() []perdure.Part {
	parts := []perdure.Part{}
	for range rapid.IntRange(0, 2).Draw(c.t, "texts") {
		parts = append(parts, c.text())
	}
	return parts
}

var image = perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgo=", MimeType: "image/png"}

func (c *conversations) shown() []perdure.Part {
	parts := c.texts()
	if rapid.Bool().Draw(c.t, "image") {
		parts = append(parts, image)
	}
	return parts
}

var makers = []llm.Model{
	{Provider: "anthropic", ID: "claude-sonnet-4-5"},
	{Provider: "anthropic", ID: "claude-opus-4-1"},
	{Provider: "openai", ID: "gpt-5"},
	{Provider: "openai-responses", ID: "gpt-5"},
	{Provider: "openai-responses", ID: "o3"},
	{Provider: "gemini", ID: "gemini-3-pro-preview"},
	{Provider: "gemini", ID: "gemini-2.5-pro"},
	{Provider: "scripted", ID: "x"},
}

// round is an answer of some model, and a result of each of its calls in any
// order.
func (c *conversations) round() []perdure.Message {
	maker := rapid.SampledFrom(makers).Draw(c.t, "maker")
	m := message(perdure.RoleAssistant, []perdure.Part{})
	m.Provider, m.Model = maker.Provider, maker.ID
	var results []perdure.Message
	used := map[string]bool{}
	for range rapid.IntRange(0, 5).Draw(c.t, "parts") {
		switch rapid.IntRange(0, 4).Draw(c.t, "part") {
		case 0:
			p := c.text()
			if maker.Provider == "gemini" && rapid.Bool().Draw(c.t, "signed") {
				p.TextSignature = c.signature(maker)
			}
			m.Parts = append(m.Parts, p)
		case 1:
			m.Parts = append(m.Parts, c.thinking(maker))
		case 2:
			m.Parts = append(m.Parts, image)
		default:
			p := c.call(maker)
			if used[p.ID] {
				continue
			}
			used[p.ID] = true
			m.Parts = append(m.Parts, p)
			r := llmtest.Result(p.ID, p.Name, c.shown()...)
			r.Parts[0].IsError = rapid.Bool().Draw(c.t, "error")
			results = append(results, r)
		}
	}
	return append([]perdure.Message{m}, rapid.Permutation(results).Draw(c.t, "order")...)
}

func (c *conversations) thinking(maker llm.Model) perdure.Part {
	p := perdure.Part{Type: perdure.PartThinking, Thinking: rapid.SampledFrom(oddTexts).Draw(c.t, "thinking")}
	if rapid.Bool().Draw(c.t, "unsigned") {
		return p
	}
	switch maker.Provider {
	case "openai":
		p.ThinkingSignature = "reasoning_content"
	case "openai-responses":
		id := rapid.SampledFrom([]string{"rs_1", "rs_2", "__fake_id__"}).Draw(c.t, "reasoning id")
		p.Native = json.RawMessage(`{"type":"reasoning","id":"` + id + `","summary":[{"type":"summary_text","text":"s"}]}`)
		p.ThinkingSignature = c.signature(maker)
	default:
		p.ThinkingSignature = c.signature(maker)
	}
	if maker.Provider == "anthropic" && rapid.Bool().Draw(c.t, "redacted") {
		p.Redacted, p.Thinking = true, ""
	}
	return p
}

// call has an id of our form, one that comes again in other messages, or one
// that hardly any provider takes.
func (c *conversations) call(maker llm.Model) perdure.Part {
	c.ids++
	id := rapid.SampledFrom([]string{
		fmt.Sprintf("call_AZk-mQW_cyuYx2rV1nTqSw_%d", c.ids), "again", "again_2", "an id: with \"odd\" characters é", strings.Repeat("long", 40),
	}).Draw(c.t, "id")
	p := perdure.Part{
		Type: perdure.PartToolCall, ID: id, Name: rapid.SampledFrom([]string{"bash", "read-file"}).Draw(c.t, "tool"),
		ProviderID:   rapid.SampledFrom([]string{"", "call_1", "call_1", "toolu_x", "again", "a:b", strings.Repeat("x", 65)}).Draw(c.t, "provider's id"),
		RawArguments: rapid.SampledFrom([]string{`{}`, ``, ` `, `{"a":9007199254740993,"A":1.0}`, `{"a"`, `[1]`, `"text"`, `null`}).Draw(c.t, "arguments"),
	}
	if json.Valid([]byte(p.RawArguments)) {
		p.Arguments = json.RawMessage(p.RawArguments)
	}
	if maker.Provider == "gemini" && rapid.Bool().Draw(c.t, "signed call") {
		p.ThinkingSignature = c.signature(maker)
	}
	return p
}

// checkStorable holds what was drawn to the transcript rules themselves.
func (c *conversations) checkStorable(messages []perdure.Message) {
	var parent *perdure.EntryHead
	for _, m := range messages {
		e, err := perdure.NewMessageEntry(m)
		if err != nil {
			c.t.Fatal(err)
		}
		open, err := perdure.CheckAppend(parent, e)
		if err == nil {
			err = perdure.CheckContent(e)
		}
		if err != nil {
			c.t.Fatalf("drew what cannot be stored: %v", err)
		}
		parent = &perdure.EntryHead{ID: e.ID, Type: e.Type, Open: slices.Clone(open)}
	}
}
