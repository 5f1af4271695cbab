package llm_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// plainPrompt computes a Prompt directly from its definition.
func plainPrompt(t *testing.T, r llm.Request) llm.Prompt {
	t.Helper()
	hash := func(n int) string {
		raw, err := json.Marshal(struct {
			System   string
			Tools    []llm.ToolSpec
			Messages []perdure.Message
		}{r.System, r.Tools, r.Messages[:n]})
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(append(raw, '\n'))
		return hex.EncodeToString(sum[:])
	}
	p := llm.Prompt{Messages: len(r.Messages), SHA256: hash(len(r.Messages))}
	for n := 0; n <= len(r.Messages); n += max(1, n/8) {
		p.Marks += hash(n)[:8]
	}
	for i, m := range r.Messages {
		if m.Role == perdure.RoleAssistant {
			p.Prefix = hash(i)
		}
	}
	return p
}

// TestIncrementalPromptHashEqualsFullHash checks that PromptHash returns the same hashes as a full
// computation, while a random conversation grows, is shortened, or gets another system prompt or
// other tools.
func TestIncrementalPromptHashEqualsFullHash(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var h llm.PromptHash
		req := llm.Request{Messages: []perdure.Message{}}
		for step := range 30 {
			same := len(req.Messages)
			switch r.IntN(10) {
			case 0:
				same = r.IntN(same + 1)
				req.Messages = append([]perdure.Message{}, req.Messages[:same]...)
			case 1:
				req.System = fmt.Sprint("system <", r.IntN(2), ">")
			case 2:
				req.Tools = []llm.ToolSpec{{Name: "a", Schema: json.RawMessage(fmt.Sprintf(`{"n": %d}`, r.IntN(2)))}}[:r.IntN(2)]
			case 3:
				same = r.IntN(same + 1) // the caller may state fewer equal messages than there are
			}
			for range r.IntN(4) {
				role := []perdure.Role{perdure.RoleUser, perdure.RoleAssistant, perdure.RoleToolResult}[r.IntN(3)]
				m := perdure.Message{Role: role}
				m.Parts = []perdure.Part{perdure.Text(fmt.Sprintf("%d <&> é\u2028", step))}
				req.Messages = append(req.Messages, m)
			}
			got, err := h.Of(req, same)
			if err != nil {
				t.Fatal(err)
			}
			if want := plainPrompt(t, req); got != want {
				t.Fatalf("seed %d, step %d, %d the same: %+v, want %+v", seed, step, same, got, want)
			}
		}
	}
}

// TestPromptsThatCannotBeHashed checks that Of returns an error for a message that cannot be
// encoded, and the right hashes in the next call.
func TestPromptsThatCannotBeHashed(t *testing.T) {
	var h llm.PromptHash
	good := llm.Request{Messages: []perdure.Message{{Role: perdure.RoleUser}}}
	bad := good
	odd := perdure.Message{Role: perdure.RoleAssistant}
	odd.Parts = []perdure.Part{{Type: perdure.PartToolCall, Arguments: json.RawMessage("{")}}
	bad.Messages = append([]perdure.Message{}, good.Messages[0], odd)
	if _, err := h.Of(good, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Of(bad, 1); err == nil {
		t.Error("arguments that are no JSON are hashed")
	}
	got, err := h.Of(good, 1)
	if want := plainPrompt(t, good); err != nil || got != want {
		t.Errorf("after that it gives %+v, %v, want %+v", got, err, want)
	}
}
