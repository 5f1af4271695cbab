package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// TestAStartAnswersWithTheStoredRow checks that a start returns the execution as it is stored,
// without reading it from the store.
func TestAStartAnswersWithTheStoredRow(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", perdure.InlineLimit+1) + `"`)
	prompt := "hello"
	onEach(t, func(t *testing.T, p *place) {
		for name, r := range map[string]StartRequest{
			"plain":     {Kind: "agent"},
			"input":     {Kind: "agent", Input: json.RawMessage(`{"b":1, "a":[2]}`), Queue: "other", Workspace: "a/../b"},
			"large":     {Kind: "agent", Input: large},
			"metadata":  {Kind: "agent", Metadata: json.RawMessage(`{"k":"v"}`), Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			"local":     {Kind: "agent", Input: json.RawMessage(`{"secret":1}`), PersistenceMode: perdure.Local},
			"react":     {UserPrompt: "hi", SystemPrompt: &prompt, Models: scripted},
			"with key":  {Kind: "agent", IdempotencyKey: "k"},
			"same key":  {Kind: "agent", IdempotencyKey: "k"},
			"responses": {UserPrompt: "hi", Models: scripted, Response: &rules.ResponseRequest{Request: json.RawMessage(`{}`)}},
		} {
			got, err := p.e.Start(t.Context(), org, r)
			p.must(err)
			stored, err := p.s.Execution(t.Context(), org, got.ID)
			p.must(err)
			if diff := cmp.Diff(stored, got); diff != "" {
				t.Errorf("%s: (-stored +answered)\n%s", name, diff)
			}
		}
	})
}
