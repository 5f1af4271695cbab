package openai_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestARoundOfAConversationRepeatsNothing checks a client that runs tools, and sends the user's
// message and all earlier results again with each new result. The model receives each message and
// each result once.
func TestARoundOfAConversationRepeatsNothing(t *testing.T) {
	s := newStage(t, calls("", "ask", `{"a":1}`), calls("", "ask", `{"a":2}`, "ask", `{"a":3}`), calls("", "ask", `{"a":4}`), says("Done."), says("More."))
	conversation := `"conversation":"` + s.conversationOf(`{}`) + `",` + tools + `,`
	said := []string{`{"role":"user","content":[{"type":"input_text","text":"go"}]}`}
	want := []string{"user: go"}
	for round := 1; ; round++ {
		o := s.create(conversation + `"input":[` + strings.Join(said, ",") + `]`).object()
		s.wantPrompt(strings.Join(want, "\n"))
		if len(o.calls()) == 0 {
			break
		}
		want = append(want, "assistant: "+strings.Repeat("(ask)", len(o.calls())))
		for i, c := range o.calls() {
			text := fmt.Sprint(round, i)
			said = append(said, fmt.Sprintf(result, c.CallID, text))
			want = append(want, "tool_result: "+text)
		}
	}
	s.create(conversation + `"input":"go"`).object() // repeated
	s.wantPrompt(strings.Join(append(want, "assistant: Done.", "user: go"), "\n"))
}

// TestAnInputThatAnswersCallsMaySayMore checks that a create request that answers a call can also
// contain a new message.
func TestAnInputThatAnswersCallsMaySayMore(t *testing.T) {
	s := newStage(t, calls("", "ask", `{"a":1}`), says("Done."))
	conversation := `"conversation":"` + s.conversationOf(`{}`) + `",` + tools + `,`
	call := s.create(conversation + `"input":"go"`).object().calls()[0]
	s.create(conversation + `"input":[{"role":"user","content":"go on"},` + fmt.Sprintf(result, call.CallID, "7") + `]`).object()
	s.wantPrompt("user: go\nassistant: (ask)\ntool_result: 7\nuser: go on")
}
