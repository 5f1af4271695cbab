package llm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// composed returns a random conversation that follows all rules. It has parallel calls, images,
// thinking, a compaction, and answers of several models.
func composed(t *rapid.T) []perdure.Message {
	var path []perdure.Message
	if rapid.Bool().Draw(t, "system") {
		path = append(path, text(perdure.RoleSystem, "Rules."))
	}
	user := func(n int) perdure.Message {
		m := text(perdure.RoleUser, fmt.Sprintf("message %d", n))
		if rapid.Bool().Draw(t, "picture") {
			m.Parts = append(m.Parts, llmtest.Media[rapid.IntRange(0, len(llmtest.Media)-1).Draw(t, "medium")])
		}
		return m
	}
	path = append(path, user(0))
	if rapid.Bool().Draw(t, "compacted") {
		path[len(path)-1] = message(perdure.RoleUser, []perdure.Part{perdure.Compaction("goal")})
	}
	turns := rapid.IntRange(0, 4).Draw(t, "turns")
	for n := range turns {
		turn := answerOf(t, n)
		path = append(path, turn...)
		if len(turn) == 1 || rapid.Bool().Draw(t, "the user speaks") {
			path = append(path, user(n+1))
		}
	}
	return path
}

// answerOf returns a random answer of a model, followed by the results of its tool calls.
func answerOf(t *rapid.T, turn int) []perdure.Message {
	maker := rapid.SampledFrom([]llm.Model{
		{Provider: "anthropic", ID: "claude-sonnet-4-5"},
		{Provider: "openai", ID: "gpt-5"},
		{Provider: "openai-responses", ID: "gpt-5"},
		{Provider: "gemini", ID: "gemini-3-pro-preview"},
	}).Draw(t, "maker")
	m := perdure.Message{Role: perdure.RoleAssistant}
	m.Provider, m.Model = maker.Provider, maker.ID
	if rapid.Bool().Draw(t, "thinks") {
		p := perdure.Part{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "c2ln"}
		switch maker.Provider {
		case "openai":
			p.ThinkingSignature = "reasoning_content"
		case "openai-responses":
			p.Native = []byte(`{"type":"reasoning","id":"rs_1","summary":[]}`)
		}
		m.Parts = append(m.Parts, p)
	}
	m.Parts = append(m.Parts, perdure.Text("I look."))
	var results []perdure.Part
	for n := range rapid.IntRange(0, 3).Draw(t, "calls") {
		id := fmt.Sprintf("call_%d_%d", turn, n)
		m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartToolCall, ID: id, Name: "bash", RawArguments: "{}"})
		results = append(results, llmtest.Result(id, "bash", perdure.Text("ok")).Parts[0])
	}
	path := []perdure.Message{m}
	if len(results) > 1 && rapid.Bool().Draw(t, "results in one message") {
		return append(path, message(perdure.RoleToolResult, results))
	}
	for _, r := range rapid.Permutation(results).Draw(t, "order") {
		path = append(path, message(perdure.RoleToolResult, []perdure.Part{r}))
	}
	return path
}

// where returns the indexes of the messages for which the function `is` returns true.
func where(path []perdure.Message, is func(i int, m perdure.Message) bool) (all []int) {
	for i, m := range path {
		if is(i, m) {
			all = append(all, i)
		}
	}
	return all
}

func ofRole(role perdure.Role) func(int, perdure.Message) bool {
	return func(_ int, m perdure.Message) bool { return m.Role == role }
}

// breach describes a change that breaks one rule at one message.
type breach struct {
	rule llm.Rule
	// adapted says that there are providers that correct the messages when they convert them. Such
	// a provider sends the conversation and does not refuse it.
	adapted bool
	// at returns the indexes of the messages with which the function `do` can break the rule.
	at func(path []perdure.Message) []int
	// do breaks the rule at message i, and returns the index that the error must name.
	do func(path []perdure.Message, i int) ([]perdure.Message, int)
}

// with returns a function for the field breach.do, which applies `change` to message i.
func with(change func(m *perdure.Message)) func([]perdure.Message, int) ([]perdure.Message, int) {
	return func(path []perdure.Message, i int) ([]perdure.Message, int) {
		change(&path[i])
		return path, i
	}
}

func calling(least int) func([]perdure.Message) []int {
	return func(path []perdure.Message) []int {
		return where(path, func(_ int, m perdure.Message) bool { return len(m.ToolCalls()) >= least })
	}
}

func roles(role perdure.Role) func([]perdure.Message) []int {
	return func(path []perdure.Message) []int { return where(path, ofRole(role)) }
}

// callsOf calls the function `change` with each tool call of the message.
func callsOf(m *perdure.Message, change func(n int, call *perdure.Part)) {
	n := 0
	for i := range m.Parts {
		if m.Parts[i].Type == perdure.PartToolCall {
			change(n, &m.Parts[i])
			n++
		}
	}
}

func addPart(p perdure.Part) func([]perdure.Message, int) ([]perdure.Message, int) {
	return with(func(m *perdure.Message) { m.Parts = append(m.Parts, p) })
}

var breaches = map[string]breach{
	"nobody speaks": {llm.RuleNoMessages, true, func([]perdure.Message) []int { return []int{0} }, func(_ []perdure.Message, i int) ([]perdure.Message, int) {
		return nil, i
	}},
	"the assistant begins": {llm.RuleFirstNotUser, true, func(path []perdure.Message) []int {
		return where(path, func(i int, m perdure.Message) bool {
			return m.Role == perdure.RoleUser && i+1 < len(path) && path[i+1].Role == perdure.RoleAssistant && (i == 0 || path[i-1].Role == perdure.RoleSystem)
		})
	}, func(path []perdure.Message, i int) ([]perdure.Message, int) { return slices.Delete(path, i, i+1), i }},
	"the assistant ends": {llm.RuleLastNotUser, true, func(path []perdure.Message) []int { return []int{len(path)} }, func(path []perdure.Message, i int) ([]perdure.Message, int) {
		return append(path, madeBy("p", "M", "")), i
	}},
	"an unknown role":  {llm.RuleRoleUnknown, false, roles(perdure.RoleUser), with(func(m *perdure.Message) { m.Role = "robot" })},
	"no parts":         {llm.RuleMessageEmpty, true, roles(perdure.RoleUser), with(func(m *perdure.Message) { m.Parts = nil })},
	"blank texts":      {llm.RuleMessageEmpty, true, roles(perdure.RoleUser), with(func(m *perdure.Message) { m.Parts = []perdure.Part{perdure.Text(" "), perdure.Text("\n")} })},
	"a thinking user":  {llm.RulePartMisplaced, true, roles(perdure.RoleUser), addPart(perdure.Part{Type: perdure.PartThinking, Thinking: "x"})},
	"a calling user":   {llm.RulePartMisplaced, true, roles(perdure.RoleUser), addPart(perdure.Part{Type: perdure.PartToolCall, ID: "x", Name: "bash"})},
	"two in a summary": {llm.RulePartMisplaced, true, roles(perdure.RoleUser), addPart(perdure.Compaction("s"))},
	"an empty thought": {llm.RuleThinkingUnsigned, true, roles(perdure.RoleAssistant), addPart(perdure.Part{Type: perdure.PartThinking, Redacted: true})},
	"thinking of nobody": {llm.RuleThinkingUnowned, true, roles(perdure.RoleAssistant), with(func(m *perdure.Message) {
		m.Model = ""
		m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartThinking, Thinking: "x", ThinkingSignature: "c2ln"})
	})},
	"a call without an id": {llm.RuleCallIDMissing, false, calling(1), with(func(m *perdure.Message) {
		callsOf(m, func(_ int, call *perdure.Part) { call.ID = "" })
	})},
	"twice the same id": {llm.RuleCallIDRepeated, false, calling(2), with(func(m *perdure.Message) {
		callsOf(m, func(_ int, call *perdure.Part) { call.ID = "same" })
	})},
	"an id of a turn before": {llm.RuleCallIDReused, true, func(path []perdure.Message) []int {
		return calling(1)(path)[min(1, len(calling(1)(path))):]
	}, func(path []perdure.Message, i int) ([]perdure.Message, int) {
		old, now := path[calling(1)(path)[0]].ToolCalls()[0].ID, path[i].ToolCalls()[0].ID
		for n := i; n < len(path); n++ {
			for k := range path[n].Parts {
				if p := &path[n].Parts[k]; p.ID == now {
					p.ID = old
				} else if p.ToolCallID == now {
					p.ToolCallID = old
				}
			}
		}
		return path, i
	}},
	"a lost result": {llm.RuleResultMissing, false, calling(1), func(path []perdure.Message, i int) ([]perdure.Message, int) {
		path[i+1].Parts = path[i+1].Parts[1:]
		if len(path[i+1].Parts) == 0 {
			path = slices.Delete(path, i+1, i+2)
		}
		return path, i
	}},
	"a late result": {llm.RuleResultMissing, false, calling(1), func(path []perdure.Message, i int) ([]perdure.Message, int) {
		return slices.Insert(path, i+1, text(perdure.RoleUser, "and?")), i
	}},
	"a result of no call": {llm.RuleResultUnexpected, false, roles(perdure.RoleUser), func(path []perdure.Message, i int) ([]perdure.Message, int) {
		return slices.Insert(path, i+1, llmtest.Result("none", "bash", perdure.Text("x"))), i + 1
	}},
	"a result twice": {llm.RuleResultRepeated, false, roles(perdure.RoleToolResult), func(path []perdure.Message, i int) ([]perdure.Message, int) {
		return slices.Insert(path, i+1, message(perdure.RoleToolResult, path[i].Parts[:1])), i + 1
	}},
}

// TestComposedConversationsFollowTheRules checks that CheckMessages accepts random valid
// conversations for every provider, and that the requests follow the rules of the APIs. Then the
// test breaks one rule at one message. The error must name the rule and the message. A provider may
// send the broken conversation only if the provider corrects the messages. The request must then
// follow the rules of the provider's API.
func TestComposedConversationsFollowTheRules(t *testing.T) {
	type sender struct {
		llm.Provider
		remote llmtest.Remote
	}
	var senders []sender
	for _, r := range remotes {
		p, _ := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}}) // the server checks each request
		senders = append(senders, sender{p, r})
	}
	names := make([]string, 0, len(breaches))
	for name := range breaches {
		names = append(names, name)
	}
	slices.Sort(names)
	reported := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		path := composed(t)
		for _, s := range senders {
			if err := llm.CheckMessages(s, path); err != nil {
				t.Fatalf("a valid conversation: %v", err)
			}
			sends(t, s, s.remote.Model, path)
		}
		for _, name := range names {
			b := breaches[name]
			places := b.at(path)
			if len(places) == 0 {
				continue
			}
			reported[name]++
			bad, at := b.do(cloned(path), rapid.SampledFrom(places).Draw(t, name))
			for _, s := range senders {
				checkBreach(t, s, b, bad, at)
				if b.adapted {
					sends(t, s, s.remote.Model, bad)
				}
			}
		}
	})
	for _, name := range names {
		if reported[name] == 0 {
			t.Errorf("%s: the rule was never broken", name)
		}
	}
}

func cloned(path []perdure.Message) []perdure.Message {
	path = slices.Clone(path)
	for i := range path {
		path[i].Parts = slices.Clone(path[i].Parts)
	}
	return path
}

// checkBreach checks that CheckMessages returns the broken rule and the index `at`. CheckRequest must
// return the same, or no error if the provider corrects the messages.
func checkBreach(t *rapid.T, p llm.Provider, b breach, bad []perdure.Message, at int) {
	var rule *llm.RuleError
	if err := llm.CheckMessages(p, bad); !errors.As(err, &rule) || rule.Rule != b.rule || rule.Message != at || rule.Provider != p.Name() || rule.Detail == "" {
		t.Fatalf("%s: %v, want %s at %d in %+v", p.Name(), err, b.rule, at, bad)
	}
	err := llm.CheckRequest(p, llm.Request{Messages: bad})
	if b.adapted {
		if err != nil {
			t.Fatalf("%s: a conversation that is adapted to %s is refused: %v", p.Name(), b.rule, err)
		}
		return
	}
	var failed *llm.Error
	if !errors.As(err, &failed) || failed.Kind != llm.RuleBroken || failed.Retryable || !errors.As(err, &rule) || rule.Rule != b.rule || rule.Message != at || !strings.Contains(failed.Message, b.rule) {
		t.Fatalf("%s: the request is answered with %v, want %s at %d", p.Name(), err, b.rule, at)
	}
}

func sends(t *rapid.T, p llm.Provider, model string, path []perdure.Message) {
	if _, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Thinking: llm.ThinkingHigh, Messages: path, Tools: offered}); err != nil {
		t.Fatalf("%s: %v", p.Name(), err)
	}
}

// TestStoredConversationsAreNotRefused checks that CheckRequest refuses no conversation that may be
// stored.
func TestStoredConversationsAreNotRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := llm.CheckRequest(unable{}, llm.Request{Messages: llmtest.DrawPath(t).Messages}); err != nil {
			t.Fatal(err)
		}
	})
	if err := llm.CheckMessages(nil, []perdure.Message{perdure.UserText("hi")}); err != nil {
		t.Error(err)
	}
	var rule *llm.RuleError
	if err := llm.CheckMessages(nil, nil); !errors.As(err, &rule) || rule.Message != 0 || rule.Provider != "" {
		t.Errorf("no messages: %v", err)
	}
}
