package llm_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func assistant(provider string, calls ...perdure.Part) perdure.Message {
	for i := range calls {
		calls[i].Type, calls[i].Name = perdure.PartToolCall, "f"
	}
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Provider: provider, Parts: calls}}
}

func TestToolIDs(t *testing.T) {
	long := strings.Repeat("x", 41)
	messages := []perdure.Message{
		assistant("openai", perdure.Part{ID: "own-1", ProviderID: "call_a"}),
		assistant("anthropic", perdure.Part{ID: "own-2", ProviderID: "toolu_b"}),
		assistant("openai", perdure.Part{ID: "own-3", ProviderID: "call_a"}), // the id is already used
		assistant("openai", perdure.Part{ID: "own-4", ProviderID: long}),
		assistant("openai", perdure.Part{ID: "own-5", ProviderID: ""}),
		assistant("openai", perdure.Part{ID: "ü" + long, ProviderID: "own-5"}), // the provider's id equals our id of another call, and our id is not valid
	}
	got := llm.ToolIDs(messages, "openai", llm.OpenAIChatIDs)
	derived := got["ü"+long]
	want := map[string]string{
		"own-1": "call_a", "own-2": "own-2", "own-3": "own-3", "own-4": "own-4", "own-5": "own-5",
		"ü" + long: derived,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if !llm.OpenAIChatIDs.Valid(derived) {
		t.Errorf("derived id %q is not valid", derived)
	}
}

// TestToolIDsProperties checks that the ids of random calls are valid for the provider and unique,
// and that the id of a call does not change when the conversation grows.
func TestToolIDsProperties(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b", "call_a", "call.a", "__fake_id__", "ü", strings.Repeat("z", 64)})
	rules := map[string]llm.IDRule{"openai": llm.OpenAIChatIDs, "anthropic": llm.AnthropicIDs, "mistral": llm.MistralIDs}
	valid := map[string]*regexp.Regexp{
		"openai":    regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`),
		"anthropic": regexp.MustCompile(`^[a-zA-Z0-9_-]+$`),
		"mistral":   regexp.MustCompile(`^[a-zA-Z0-9]{9}$`),
	}
	rapid.Check(t, func(t *rapid.T) {
		provider := rapid.SampledFrom([]string{"openai", "anthropic", "mistral"}).Draw(t, "provider")
		var messages []perdure.Message
		for i := range rapid.IntRange(1, 6).Draw(t, "messages") {
			own := fmt.Sprintf("%s%d", text.Draw(t, "own"), i)
			maker := rapid.SampledFrom([]string{"openai", "anthropic", "mistral"}).Draw(t, "maker")
			messages = append(messages, assistant(maker, perdure.Part{ID: own, ProviderID: text.Draw(t, "provider id")}))
		}
		all := llm.ToolIDs(messages, provider, rules[provider])
		used := map[string]bool{}
		for own, id := range all {
			if used[id] || !valid[provider].MatchString(id) {
				t.Fatalf("%q became %q: taken or not valid", own, id)
			}
			used[id] = true
		}
		for n := range messages {
			for own, id := range llm.ToolIDs(messages[:n], provider, rules[provider]) {
				if all[own] != id {
					t.Fatalf("%q changed from %q to %q", own, id, all[own])
				}
			}
		}
	})
}

func TestOutwardArguments(t *testing.T) {
	for raw, want := range map[string]string{
		``:                           `{}`,
		"  ":                         `{}`,
		`{ "a" : 1.0 }`:              `{ "a" : 1.0 }`,
		`{"a":`:                      `{"invalid_arguments":"{\"a\":"}`,
		`[1]`:                        `{"invalid_arguments":"[1]"}`,
		`{"a":1}{"b":2}`:             `{"invalid_arguments":"{\"a\":1}{\"b\":2}"}`,
		`null`:                       `{"invalid_arguments":"null"}`,
		`{"n":12345678901234567890}`: `{"n":12345678901234567890}`,
	} {
		if got := llm.OutwardArguments(perdure.Part{RawArguments: raw}); got != want {
			t.Errorf("%q goes out as %s, want %s", raw, got, want)
		}
	}
	if got := llm.OutwardArguments(perdure.Part{Arguments: []byte(`{"a":1}`)}); got != `{"a":1}` {
		t.Errorf("arguments without text go out as %s", got)
	}
}

func TestResultsComeTogetherInCallOrder(t *testing.T) {
	result := func(id string) perdure.Message {
		return perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartToolResult, ToolCallID: id}}}}
	}
	messages := []perdure.Message{
		assistant("openai", perdure.Part{ID: "a"}, perdure.Part{ID: "b"}),
		result("stray"), result("b"), result("a"), perdure.UserText("go on"),
	}
	var got []string
	for m, results := range llm.Turns(messages) {
		got = append(got, string(m.Role))
		for _, r := range results {
			got = append(got, r.ToolCallID)
		}
	}
	if diff := cmp.Diff([]string{"assistant", "tool_result", "a", "b", "stray", "user"}, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// TestDistinct checks that Distinct gives a new id to a call whose id was used before, and to the
// result of that call. Distinct must not change its argument.
func TestDistinct(t *testing.T) {
	call := func(ids ...string) perdure.Message {
		m := perdure.Message{Role: perdure.RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartToolCall, ID: id, Name: "f"})
		}
		return m
	}
	messages := []perdure.Message{
		call("a", "a_2"), llmtest.Result("a", "f"), llmtest.Result("a_2", "f"),
		call("a", "b"), llmtest.Result("b", "f"), llmtest.Result("a", "f"),
		call("a_2"), llmtest.Result("a_2", "f"),
	}
	var got []string
	for _, m := range llm.Distinct(messages) {
		for _, p := range m.Parts {
			got = append(got, p.ID+p.ToolCallID)
		}
	}
	want := []string{"a", "a_2", "a", "a_2", "a_3", "b", "b", "a_3", "a_2_2", "a_2_2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if messages[3].Parts[0].ID != "a" {
		t.Error("the input was changed")
	}
}
