package perdure_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// TestCutArgumentsProperties checks that cut arguments are a JSON object within the limit, that a
// second cut changes nothing, and that arguments within the limit stay as they are.
func TestCutArgumentsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 100).Draw(t, "times"))
		raw := text // arguments of a model may be no JSON
		if rapid.Bool().Draw(t, "json") {
			encoded, err := json.Marshal(map[string]string{"content": text})
			if err != nil {
				t.Fatal(err)
			}
			raw = string(encoded)
		}
		p := perdure.Part{Type: perdure.PartToolCall, ID: "c", Name: "n", RawArguments: raw, ThinkingSignature: "s"}
		if json.Valid([]byte(raw)) {
			p.Arguments = json.RawMessage(raw)
		}
		most := rapid.IntRange(0, 4000).Draw(t, "most")
		cut, again := perdure.CutArguments(p, most), perdure.CutArguments(p, most)
		if cut.RawArguments != again.RawArguments || cut.ID != "c" || cut.Name != "n" || cut.ThinkingSignature != "s" {
			t.Fatalf("%+v, then %+v", cut, again)
		}
		limit := max(most, 256)
		if len(raw) <= limit {
			if cut.RawArguments != raw {
				t.Fatalf("arguments within the limit became %q", cut.RawArguments)
			}
			return
		}
		var object map[string]string
		if err := json.Unmarshal([]byte(cut.RawArguments), &object); err != nil || object["left_out_by_compaction"] == "" {
			t.Fatalf("%q: %v", cut.RawArguments, err)
		}
		if len(cut.RawArguments) > limit || !bytes.Equal(cut.Arguments, []byte(cut.RawArguments)) {
			t.Fatalf("%d bytes, the limit is %d", len(cut.RawArguments), limit)
		}
		if twice := perdure.CutArguments(cut, most); twice.RawArguments != cut.RawArguments {
			t.Fatalf("a second cut changes %q to %q", cut.RawArguments, twice.RawArguments)
		}
	})
}

// TestContextEntryCutsCalls checks that a model sees the head and the tail of long arguments before a
// compaction, and that those of an entry without a limit are whole.
func TestContextEntryCutsCalls(t *testing.T) {
	raw := `{"content":"` + strings.Repeat("x", 100_000) + `"}`
	call := perdure.Part{Type: perdure.PartToolCall, ID: "c", Name: "n", RawArguments: raw, Arguments: json.RawMessage(raw)}
	short := perdure.Part{Type: perdure.PartToolCall, ID: "d", Name: "n", RawArguments: "{}", Arguments: json.RawMessage("{}")}
	e := perdure.ContextEntry{Entry: entryOf(t, said(perdure.RoleAssistant, call, short)), ResultBytes: 1000}
	m, err := e.Message()
	if err != nil || len(m.Parts[0].RawArguments) > 1000 || !json.Valid(m.Parts[0].Arguments) || m.Parts[1].RawArguments != "{}" {
		t.Errorf("%.200s, %v", m.Parts[0].RawArguments, err)
	}
	e.ResultBytes = 0
	if m, err := e.Message(); err != nil || m.Parts[0].RawArguments != raw {
		t.Errorf("arguments without a limit are changed, %v", err)
	}
}
