package response_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// TestToolIDsAreInjectiveOverManyCalls checks ten thousand calls of one conversation, to which
// providers have given only a few different ids. Each call gets a different id, which the provider
// accepts.
func TestToolIDsAreInjectiveOverManyCalls(t *testing.T) {
	const calls = 10_000
	var messages []perdure.Message
	for n := range calls {
		m := perdure.Message{Role: perdure.RoleAssistant}
		m.Provider = []string{"own", "other"}[n%2]
		m.Parts = []perdure.Part{{
			Type: perdure.PartToolCall, Name: "f",
			ID: []string{fmt.Sprint("call_", n), fmt.Sprint("ü", n)}[n%3%2], ProviderID: fmt.Sprint("c", n%7),
		}}
		messages = append(messages, m)
	}
	for name, rule := range map[string]response.IDRule{
		"any length": {Min: 1}, "at most 40": {Min: 1, Max: 40}, "at most 64": {Min: 1, Max: 64},
		"exactly 9": {Min: 9, Max: 9, Alphanumeric: true}, "at most 20": {Min: 1, Max: 20}, "digits and letters": {Min: 1, Alphanumeric: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := response.ToolIDs(messages, "own", rule)
			taken := map[string]bool{}
			for own, id := range got {
				if taken[id] || !rule.Valid(id) {
					t.Fatalf("%q is known by %q, which is taken or not valid", own, id)
				}
				taken[id] = true
			}
			if len(taken) != calls {
				t.Errorf("%d calls have %d ids", calls, len(taken))
			}
			few := response.ToolIDs(messages[:100], "own", rule)
			for own, id := range few {
				if got[own] != id {
					t.Errorf("%q is known by %q, and by %q later", own, id, got[own])
				}
			}
		})
	}
}

// TestToolIDsOfAShortRule checks the ids that ToolIDs derives from the hashes of invalid ids. The
// rule allows only three characters, so many hashes are equal in them. The derived ids must differ
// nevertheless.
func TestToolIDsOfAShortRule(t *testing.T) {
	rule := response.IDRule{Min: 3, Max: 3, Alphanumeric: true}
	var messages []perdure.Message
	for n := range 1000 {
		m := perdure.Message{Role: perdure.RoleAssistant}
		m.Parts = []perdure.Part{{Type: perdure.PartToolCall, Name: "f", ID: fmt.Sprint("call_", n)}}
		messages = append(messages, m)
	}
	taken := map[string]bool{}
	for _, id := range response.ToolIDs(messages, "p", rule) {
		if taken[id] || !rule.Valid(id) {
			t.Fatalf("%q is taken or not valid", id)
		}
		taken[id] = true
	}
}
