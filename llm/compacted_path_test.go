package llm_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// compactedPath is a random path of entries with compactions, as a run stores it.
type compactedPath struct {
	t       *rapid.T
	entries []perdure.Entry
	heads   []perdure.EntryHead
	from    int // index of the first entry that a compaction may keep
	number  int // number of secrets and ids so far
	// The map `thoughts` contains the texts and signatures in the thinking of each entry. The map
	// `signed` contains the signatures of each entry's tool calls.
	thoughts, signed map[uuid.UUID][]string
	makers           map[uuid.UUID]llm.Model
}

// pathMakers are the models that answer in a compactedPath.
var pathMakers = []llm.Model{
	{Provider: "anthropic", ID: "claude-sonnet-4-5"},
	{Provider: "openai", ID: "gpt-5"},
	{Provider: "openai-responses", ID: "gpt-5"},
	{Provider: "gemini", ID: "gemini-3-pro-preview"},
}

// drawCompactedPath returns a random path. It ends where an agent would make the next model call.
func drawCompactedPath(t *rapid.T) *compactedPath {
	c := &compactedPath{t: t, thoughts: map[uuid.UUID][]string{}, signed: map[uuid.UUID][]string{}, makers: map[uuid.UUID]llm.Model{}}
	if rapid.Bool().Draw(t, "system") {
		c.add(text(perdure.RoleSystem, "Rules."))
	}
	c.user()
	maker := rapid.SampledFrom(pathMakers).Draw(t, "maker")
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		switch rapid.IntRange(0, 6).Draw(t, "step") {
		case 0:
			c.user()
		case 1, 2:
			c.compact()
		case 3:
			maker = rapid.SampledFrom(pathMakers).Draw(t, "another maker")
		default:
			c.answer(maker)
		}
	}
	if last := c.entries[len(c.entries)-1]; last.Role != perdure.RoleToolResult {
		c.user()
	}
	return c
}

// add appends a message. It fails the test if the transcript rules do not allow the message.
func (c *compactedPath) add(m perdure.Message) perdure.Entry {
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.addEntry(e)
}

func (c *compactedPath) addEntry(e perdure.Entry) perdure.Entry {
	var parent *perdure.EntryHead
	if n := len(c.heads); n > 0 {
		parent = &c.heads[n-1]
	}
	open, err := perdure.CheckAppend(parent, e)
	if err == nil {
		err = perdure.CheckContent(e)
	}
	if err != nil {
		c.t.Fatalf("drew what cannot be stored: %v", err)
	}
	c.entries = append(c.entries, e)
	c.heads = append(c.heads, perdure.EntryHead{ID: e.ID, Type: e.Type, Role: e.Role, Open: slices.Clone(open)})
	return e
}

func (c *compactedPath) user() {
	m := text(perdure.RoleUser, "question")
	if rapid.Bool().Draw(c.t, "picture") {
		m.Parts = append(m.Parts, rapid.SampledFrom(llmtest.Media).Draw(c.t, "medium"))
	}
	c.add(m)
}

// secret returns a new text, which occurs nowhere else. The text is base64, so it can also be used
// as a signature.
func (c *compactedPath) secret() string {
	c.number++
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "secret-%05d", c.number))
}

// answer adds an answer with thinking, texts and parallel calls, and the results of the calls.
func (c *compactedPath) answer(maker llm.Model) {
	m := perdure.Message{Role: perdure.RoleAssistant}
	m.Provider, m.Model, m.StopReason = maker.Provider, maker.ID, perdure.StopEndTurn
	var thoughts, signed []string
	for range rapid.IntRange(0, 2).Draw(c.t, "thoughts") {
		p := c.thought(maker)
		thoughts = append(thoughts, p.Thinking, p.ThinkingSignature)
		m.Parts = append(m.Parts, p)
	}
	said := rapid.SampledFrom([]string{"I look.", "I look.", " ", ""}).Draw(c.t, "said")
	if len(m.Parts) == 0 {
		said = "I look." // an answer must not be blank
	}
	if said != "" {
		m.Parts = append(m.Parts, perdure.Text(said))
	}
	var results []perdure.Message
	for n := range rapid.IntRange(0, 3).Draw(c.t, "calls") {
		c.number++
		p := perdure.Part{Type: perdure.PartToolCall, ID: fmt.Sprintf("call_%d", c.number), Name: "bash", RawArguments: "{}"}
		if maker.Provider == "gemini" && n == 0 {
			p.ThinkingSignature = c.secret()
			signed = append(signed, p.ThinkingSignature)
		}
		m.Parts = append(m.Parts, p)
		results = append(results, llmtest.Result(p.ID, p.Name, c.output()...))
	}
	e := c.add(m)
	c.thoughts[e.ID], c.signed[e.ID], c.makers[e.ID] = thoughts, signed, maker
	for _, r := range rapid.Permutation(results).Draw(c.t, "order") {
		c.add(r)
	}
}

func (c *compactedPath) thought(maker llm.Model) perdure.Part {
	p := perdure.Part{Type: perdure.PartThinking, Thinking: c.secret(), ThinkingSignature: c.secret()}
	switch {
	case maker.Provider == "openai":
		p.ThinkingSignature = "reasoning_content"
	case maker.Provider == "openai-responses":
		p.Native = json.RawMessage(fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[]}`, c.number))
	case maker.Provider == "anthropic" && rapid.Bool().Draw(c.t, "redacted"):
		p.Thinking, p.Redacted = "", true
	}
	return p
}

// output returns the parts of a tool result. Some results have a long text or a picture.
func (c *compactedPath) output() []perdure.Part {
	parts := []perdure.Part{perdure.Text(string(slices.Repeat([]byte("ä"), rapid.IntRange(1, 300).Draw(c.t, "length"))))}
	if rapid.Bool().Draw(c.t, "a picture as result") {
		parts = append(parts, llmtest.Media[0])
	}
	return parts
}

// compact adds a compaction that covers the entries up to the end of a random turn. It does nothing
// if a tool call has no result yet, or if there is nothing to cover.
func (c *compactedPath) compact() {
	var ends []int // indexes of the last entries of turns
	for i := c.from; i < len(c.entries); i++ {
		next := i + 1
		if len(c.heads[i].Open) == 0 && (next == len(c.entries) || c.entries[next].Type != perdure.EntryCompaction) && c.entries[i].Type != perdure.EntryCompaction {
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 || len(c.heads[len(c.heads)-1].Open) > 0 {
		return
	}
	last := rapid.SampledFrom(ends).Draw(c.t, "last")
	r := perdure.CompactionRecord{
		Last: c.entries[last].ID, Reason: perdure.CompactionAutomatic,
		Pinned: c.pinned(last), ResultBytes: rapid.SampledFrom([]int{0, 100, 1000}).Draw(c.t, "result bytes"),
	}
	c.from = last + 1
	if c.from < len(c.entries) {
		r.KeepFrom = &c.entries[c.from].ID
	}
	e, err := perdure.NewMessageEntry(message(perdure.RoleUser, []perdure.Part{perdure.Compaction("goal")}))
	if err != nil {
		c.t.Fatal(err)
	}
	if e.Metadata, err = json.Marshal(r); err != nil {
		c.t.Fatal(err)
	}
	e.Type = perdure.EntryCompaction
	c.addEntry(e)
}

// pinned returns the ids of the messages that stay in the context although a compaction covers them:
// random user and system messages among the entries up to the index `last`.
func (c *compactedPath) pinned(last int) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, e := range c.entries[:last+1] {
		if e.Type == perdure.EntryMessage && (e.Role == perdure.RoleUser || e.Role == perdure.RoleSystem) && rapid.Bool().Draw(c.t, "pinned") {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
