package llm_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// cutLines contains a function for each provider. The function returns the data lines of a stream
// whose thinking, text and arguments are cut into the given pieces. A piece is the inside of a JSON
// string.
var cutLines = map[string]func(thinking, text, arguments []string) []string{
	"anthropic": func(thinking, text, arguments []string) []string {
		lines := []string{`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}`}
		for i, b := range []struct {
			start, kind, member string
			pieces              []string
		}{
			{`{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", thinking},
			{`{"type":"text","text":""}`, "text_delta", "text", text},
			{`{"type":"tool_use","id":"c","name":"f","input":{}}`, "input_json_delta", "partial_json", arguments},
		} {
			at := string(rune('0' + i))
			lines = append(lines, `{"type":"content_block_start","index":`+at+`,"content_block":`+b.start+`}`)
			for _, p := range b.pieces {
				lines = append(lines, `{"type":"content_block_delta","index":`+at+`,"delta":{"type":"`+b.kind+`","`+b.member+`":"`+p+`"}}`)
			}
			lines = append(lines, `{"type":"content_block_stop","index":`+at+`}`)
		}
		return append(lines, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)
	},
	"openai": func(thinking, text, arguments []string) []string {
		var lines []string
		add := func(delta string) {
			lines = append(lines, `{"id":"m","choices":[{"index":0,"delta":`+delta+`}]}`)
		}
		for _, p := range thinking {
			add(`{"reasoning_content":"` + p + `"}`)
		}
		for _, p := range text {
			add(`{"content":"` + p + `"}`)
		}
		add(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`)
		for _, p := range arguments {
			add(`{"tool_calls":[{"index":0,"function":{"arguments":"` + p + `"}}]}`)
		}
		return append(lines, `{"id":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":5}}`, `[DONE]`)
	},
	"openai-responses": func(thinking, text, arguments []string) []string {
		lines := []string{`{"type":"response.created","response":{"id":"m"}}`}
		for i, b := range []struct {
			item, end, kind string
			pieces          []string
		}{
			{`"type":"reasoning"`, `,"summary":[{"type":"summary_text","text":"` + strings.Join(thinking, "") + `"}]`, "response.reasoning_summary_text.delta", thinking},
			{`"type":"message","role":"assistant"`, `,"content":[{"type":"output_text","text":"` + strings.Join(text, "") + `"}]`, "response.output_text.delta", text},
			{
				`"type":"function_call","call_id":"c","name":"f"`, `,"arguments":"` + strings.Join(arguments, "") + `"`,
				"response.function_call_arguments.delta", arguments,
			},
		} {
			at := string(rune('0' + i))
			lines = append(lines, `{"type":"response.output_item.added","output_index":`+at+`,"item":{"id":"i`+at+`",`+b.item+`}}`)
			for _, p := range b.pieces {
				lines = append(lines, `{"type":"`+b.kind+`","output_index":`+at+`,"item_id":"i`+at+`","delta":"`+p+`"}`)
			}
			lines = append(lines, `{"type":"response.output_item.done","output_index":`+at+`,"item":{"id":"i`+at+`",`+b.item+b.end+`}}`)
		}
		return append(lines, `{"type":"response.completed","response":{"id":"m","usage":{"input_tokens":1,"output_tokens":5}}}`)
	},
	"gemini": func(thinking, text, arguments []string) []string {
		var lines []string
		add := func(part string) {
			lines = append(lines, `{"responseId":"m","candidates":[{"index":0,"content":{"role":"model","parts":[`+part+`]}}]}`)
		}
		for _, p := range thinking {
			add(`{"thought":true,"text":"` + p + `"}`)
		}
		for _, p := range text {
			add(`{"text":"` + p + `"}`)
		}
		var whole string // arguments are sent in one piece, as inline JSON
		if err := json.Unmarshal([]byte(`"`+strings.Join(arguments, "")+`"`), &whole); err != nil {
			panic(err)
		}
		add(`{"functionCall":{"id":"c","name":"f","args":` + whole + `}}`)
		return append(lines, `{"candidates":[{"index":0,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":5}}`)
	},
}

// TestCharactersCutBetweenDeltas checks for every provider that a character whose two escapes
// arrive in different deltas is joined, in text, thinking and arguments. Half of a surrogate pair
// without the other half becomes U+FFFD.
func TestCharactersCutBetweenDeltas(t *testing.T) {
	cases := map[string]struct {
		pieces []string
		want   string
	}{
		"cut":                      {[]string{`a\ud83d`, `\ude00b`}, "a😀b"},
		"each half alone":          {[]string{`\uD83D`, `\uDE00`, `\ud83d`, `\ude00`}, "😀😀"},
		"an empty delta between":   {[]string{`a\ud83d`, ``, `\ude00`}, "a😀"},
		"whole":                    {[]string{`\ud83d\ude00`, `é`}, "😀é"},
		"no other half":            {[]string{`a\ud83d`, `b`}, "a\uFFFDb"},
		"no first half":            {[]string{`a`, `\ude00b`}, "a\uFFFDb"},
		"two first halves":         {[]string{`\ud83d`, `\ud83d`, `\ude00`}, "\uFFFD😀"},
		"nothing after it":         {[]string{`a\ud83d`}, "a\uFFFD"},
		"an escaped backslash":     {[]string{`a\\`, `ud83d b`}, `a\ud83d b`},
		"characters like marks":    {[]string{"\U0010F83D\U0010FE00", `\udbfe\udc3d\udbff\ude00`}, "\U0010F83D\U0010FE00\U0010F83D\U0010FE00"},
		"a mark that is cut":       {[]string{`\udbff`, `\udfff`}, "\U0010FFFF"},
		"the replacement, as sent": {[]string{"\uFFFD", `\ufffd`}, "\uFFFD\uFFFD"},
	}
	wires := []string{"anthropic", "openai", "openai-responses", "gemini"}
	for i, r := range remotes[:len(wires)] {
		for name, c := range cases {
			// The arguments are JSON inside a JSON string, so the text in them is escaped twice.
			arguments := []string{`{\"t\":\"`}
			escaped := strings.Contains(name, "backslash")
			if !escaped {
				arguments = append(arguments, c.pieces...)
			}
			arguments = append(arguments, `\"}`)
			p, _ := r.Serve(t, llmtest.Answer{Raw: cutLines[wires[i]](c.pieces, c.pieces, arguments)})
			resp, deltas := llmtest.Ask(t, p, llm.Request{Model: r.Model, Messages: []perdure.Message{perdure.UserText("hi")}})
			raw := `{"t":"` + c.want + `"}`
			if escaped {
				raw = `{"t":""}`
			}
			want := []perdure.Part{
				{Type: perdure.PartThinking, Thinking: c.want},
				perdure.Text(c.want),
				{Type: perdure.PartToolCall, ProviderID: "c", Name: "f", RawArguments: raw, Arguments: []byte(raw)},
			}
			ignored := cmpopts.IgnoreFields(perdure.Part{}, "ThinkingSignature")
			if diff := cmp.Diff(want, resp.Parts, ignored); diff != "" {
				t.Errorf("%s, %s: parts (-want +got):\n%s", p.Name(), name, diff)
			}
			if diff := cmp.Diff(resp.Parts, llm.Fold(deltas), ignored); diff != "" {
				t.Errorf("%s, %s: (-returned +streamed):\n%s", p.Name(), name, diff)
			}
		}
	}
}

// TestHalvesAreMarkedWhereverTheNetworkCuts checks that MarkHalves returns the same bytes however
// the body is cut into reads, and that Escaped converts marks back to escapes.
func TestHalvesAreMarkedWhereverTheNetworkCuts(t *testing.T) {
	for _, body := range []string{
		`data: {"t":"a\ud83d"}` + "\n\n" + `data: {"t":"\ude00b"}` + "\n", `"\ud83d\ude00"`, `"\\ud83d\\\ud83d"`, `"\ud83d\n\ude00\ud83d`,
		"\"é😀\U0010F900\uFFFD\"", "broken \xf0\x9f\x98 \xff", `"\u12G4\ud8`, `\`, `"\ud83d\`, `"\udbfe\udc00"`, "\xf4\x8f",
	} {
		want := string(llm.Marked([]byte(body)))
		for name, in := range map[string]io.Reader{
			"whole": strings.NewReader(body), "bytes": iotest.OneByteReader(strings.NewReader(body)), "halves": iotest.HalfReader(strings.NewReader(body)),
			"the end with data": iotest.DataErrReader(strings.NewReader(body)),
		} {
			got, err := io.ReadAll(llm.MarkHalves(io.NopCloser(in)))
			if err != nil || string(got) != want {
				t.Errorf("%q by %s: %q, %v, want %q", body, name, got, err, want)
			}
		}
	}
	if got := string(llm.Escaped(llm.Marked([]byte(`{"t":"a\ud83d","u":"\ude00"}`)))); got != `{"t":"a\ud83d","u":"\ude00"}` {
		t.Errorf("given back as %s", got)
	}
}
