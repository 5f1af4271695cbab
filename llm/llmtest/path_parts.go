package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

var oddTexts = []string{"hello", "", " ", "\n", "ünï → ✓ \u2028 <b>&", "\"}{[", "\x00", strings.Repeat("long ", 50)}

func (c *Path) text() perdure.Part {
	return perdure.Text(rapid.SampledFrom(oddTexts).Draw(c.t, "text"))
}

func (c *Path) texts() []perdure.Part {
	parts := []perdure.Part{}
	for range rapid.IntRange(0, 2).Draw(c.t, "texts") {
		parts = append(parts, c.text())
	}
	return parts
}

// picture is a part with a minimal image.
var picture = perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"}

func file(p perdure.Part) perdure.Part {
	p.Type = perdure.PartFile
	return p
}

// Media are images and files that clients send, with data, a URL or a file id. Some of the types
// are accepted by only some providers or by none.
var Media = []perdure.Part{
	picture,
	{Type: perdure.PartImage, Data: picture.Data, MimeType: picture.MimeType, Detail: "low"},
	{Type: perdure.PartImage, URL: "https://example.com/a.png?b=c#d", Detail: "original"},
	{Type: perdure.PartImage, URL: "http://example.com/picture"},
	file(perdure.Part{Data: "JVBERi0xLjQK", MimeType: "application/pdf", Filename: "a \"b\".pdf"}),
	file(perdure.Part{Data: "JVBERi0xLjQK", MimeType: "application/pdf"}),
	file(perdure.Part{Data: "aGVsbG8=", MimeType: "text/plain", Filename: "a.txt"}),
	file(perdure.Part{Data: "IAo=", MimeType: "text/plain"}), // blank text
	file(perdure.Part{Data: "YSxiCg==", MimeType: "text/csv"}),
	file(perdure.Part{Data: "UEsDBA==", MimeType: "application/zip", Filename: "a.zip"}),
	file(perdure.Part{URL: "https://example.com/a.pdf", Filename: "a.pdf"}),
	file(perdure.Part{URL: "https://example.com/a.docx"}),
	file(perdure.Part{URL: "https://example.com/download?id=7"}),
	file(perdure.Part{FileID: "file-abc"}),
}

func (c *Path) shown() []perdure.Part {
	parts := c.texts()
	for range rapid.IntRange(0, 2).Draw(c.t, "media") {
		parts = append(parts, rapid.SampledFrom(Media).Draw(c.t, "medium"))
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

// round returns a random answer of a random model, followed by result messages for its tool calls,
// in random order.
func (c *Path) round() []perdure.Message {
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
			m.Parts = append(m.Parts, picture)
		default:
			p := c.call(maker)
			if used[p.ID] {
				continue
			}
			used[p.ID] = true
			m.Parts = append(m.Parts, p)
			r := Result(p.ID, p.Name, c.shown()...)
			r.Parts[0].IsError = rapid.Bool().Draw(c.t, "error")
			results = append(results, r)
		}
	}
	return append([]perdure.Message{m}, rapid.Permutation(results).Draw(c.t, "order")...)
}

func (c *Path) thinking(maker llm.Model) perdure.Part {
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

// calledNames are tool names, valid and invalid, that models have used in tool calls.
var calledNames = []string{"bash", "read-file", "functions.bash", "a b", "7zip", "é", "-", perdure.UnnamedTool, strings.Repeat("x", 200)}

// call returns a random tool call that the model `maker` made. The id of the call is a new id in
// Perdure's form, an id that occurs in other messages, or an id that most providers refuse.
func (c *Path) call(maker llm.Model) perdure.Part {
	c.ids++
	id := rapid.SampledFrom([]string{
		fmt.Sprintf("call_AZk-mQW_cyuYx2rV1nTqSw_%d", c.ids), "again", "again_2", "an id: with \"odd\" characters é", strings.Repeat("long", 40),
	}).Draw(c.t, "id")
	p := perdure.Part{
		Type: perdure.PartToolCall, ID: id, Name: rapid.SampledFrom(calledNames).Draw(c.t, "tool"),
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
