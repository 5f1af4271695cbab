package perdure_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// argumentText draws the text of arguments: JSON of any form, or a text that a model returned instead.
// It may have escapes, control characters and bytes that are not UTF-8.
func argumentText(t *rapid.T) string {
	text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 100).Draw(t, "times"))
	switch rapid.SampledFrom([]string{"text", "bytes", "object", "nested"}).Draw(t, "form") {
	case "bytes":
		return text + strings.Repeat(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")), 20)
	case "object":
		return encoded(t, map[string]string{"content": text})
	case "nested":
		return encoded(t, nestedValue(text).Draw(t, "value"))
	}
	return text
}

func encoded(t *rapid.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// nestedValue generates values of JSON: objects and arrays with texts and numbers.
func nestedValue(text string) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](text), rapid.Map(rapid.Float64(), toAny), rapid.Map(rapid.String(), toAny), rapid.Just[any](nil))
	list := rapid.Map(rapid.SliceOf(leaf), toAny)
	return rapid.Map(rapid.MapOf(rapid.String(), rapid.OneOf(leaf, list)), toAny)
}

func toAny[V any](v V) any { return v }

// TestCutArgumentsProperties checks that shortened arguments are a JSON object within the limit,
// with the beginning and the end of the text. Equal arguments have equal results, a second call
// with shortened arguments changes nothing, and arguments within the limit are unchanged.
func TestCutArgumentsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := argumentText(t)
		p := perdure.Part{Type: perdure.PartToolCall, ID: "c", Name: "n", RawArguments: text, ThinkingSignature: "s"}
		if json.Valid([]byte(text)) {
			p.Arguments = json.RawMessage(text)
			if rapid.Bool().Draw(t, "without the text") {
				p.RawArguments = ""
			}
		}
		before := encoded(t, p)
		most := rapid.IntRange(-1, 4000).Draw(t, "most")
		same := p
		same.RawArguments, same.Arguments = strings.Clone(p.RawArguments), bytes.Clone(p.Arguments)
		cut, again := perdure.CutArguments(p, most), perdure.CutArguments(same, most)
		if encoded(t, cut) != encoded(t, again) || cut.ID != "c" || cut.Name != "n" || cut.ThinkingSignature != "s" {
			t.Fatalf("%+v, then %+v", cut, again)
		}
		if encoded(t, p) != before {
			t.Fatal("the part itself is changed")
		}
		limit := max(most, 256)
		if len(text) <= limit {
			if encoded(t, cut) != before {
				t.Fatalf("arguments within the limit became %q", cut.RawArguments)
			}
			return
		}
		checkCut(t, cut, text, limit)
		if twice := perdure.CutArguments(cut, most); twice.RawArguments != cut.RawArguments {
			t.Fatalf("a second cut changes %q to %q", cut.RawArguments, twice.RawArguments)
		}
	})
}

// checkCut checks the object that replaces arguments over the limit.
func checkCut(t *rapid.T, cut perdure.Part, text string, limit int) {
	if len(cut.RawArguments) > limit || !bytes.Equal(cut.Arguments, []byte(cut.RawArguments)) {
		t.Fatalf("%d bytes, the limit is %d", len(cut.RawArguments), limit)
	}
	var object map[string]string
	if err := json.Unmarshal([]byte(cut.RawArguments), &object); err != nil || len(object) != 3 || object["left_out_by_compaction"] == "" {
		t.Fatalf("%q: %v", cut.RawArguments, err)
	}
	head, tail := object["head"], object["tail"]
	if utf8.ValidString(text) && (head == "" || tail == "" || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail)) {
		t.Fatalf("the head is %q, the tail %q", head, tail)
	}
}

// TestContextEntryCutsCalls checks that a model sees only the head and the tail of long arguments in
// an entry before a compaction. The arguments of an entry without a limit are complete.
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
