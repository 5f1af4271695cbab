package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// TestACompactionOverTheWire checks a compaction of a conversation over the API of each provider.
// The answer to the second question fills the model's window, whose size the test sets. A question
// that arrives while the summary is written also gets an answer. aimock accepts each request, and
// no request has a question twice.
func TestACompactionOverTheWire(t *testing.T) {
	for _, w := range wires {
		t.Run(w.model.Provider, func(t *testing.T) { compactionOver(t, w) })
	}
}

const summaryRequest = "Write a summary of the conversation so far"

func compactionOver(t *testing.T, w wire) {
	look := toolCall{ID: "c1", Name: "read-file", Arguments: map[string]any{"path": "list.txt"}}
	summary := fixture{Response: turn{Text: strings.Repeat("## Goal: keep the list. ", 20), Usage: tokens(7000, 120)}, Latency: 25, ChunkSize: 12}
	summary.Match.UserMessage = summaryRequest
	answer := func(words string, in int) fixture { // its thinking is not sent after the compaction
		return fixture{Response: turn{Thinking: "I know.", Text: words, Usage: tokens(in, 10)}, ChunkSize: 12}
	}
	// Anthropic's API receives adjacent messages of the user as one message, so one message may
	// contain several questions. The fixture for the newest question therefore comes first, because
	// aimock returns the first fixture that matches.
	later := []fixture{answer("Answer three.", 3000), answer("Answer two.", 3000), answer("Answer one.", 7000)}
	for i := range later {
		later[i].Match.UserMessage = fmt.Sprint("Question ", 3-i)
	}
	mock := startAimock(t, append([]fixture{
		summary,
		say("Question 0", false, turn{Thinking: "I look.", Text: "Let me see.", Calls: []toolCall{look}, Usage: tokens(1000, 10)}),
		say("Question 0", true, turn{Thinking: "I see.", Text: "Answer zero.", Usage: tokens(1100, 10)}),
	}, later...)...)
	table := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(table, fmt.Appendf(nil, `{%q: {"window": 8000, "maxOutput": 1000}}`, w.model.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newDeployment(t, setup{env: append(mock.environment(w.model.Provider), "PERDURE_MODEL_TABLE="+table)})
	s.write("list.txt", "alpha\nbeta\n")
	id := s.start(client.StartRequest{UserPrompt: "Question 0?", Tools: &toolNames, Models: []perdure.ModelConfig{w.model}, Config: perdure.AgentConfig{Thinking: "low"}})
	f := s.follow(id)
	s.showIfFailed(f, id)
	s.answered(id, 1, "Answer zero.")
	s.sayAs(id, "Question 1?", "Question 1?"+strings.Repeat(" long", 2000)) // longer than the part of the conversation that a compaction keeps
	s.answered(id, 2, "Answer one.")
	s.say(id, "Question 2?")
	eventually(t, "a summary is written", func() bool { return f.has("data", `"started"`) })
	s.say(id, "Question 3?")
	s.answered(id, 4, "Answer three.")
	s.checkCompacted(id, mock.calls())
}

// has reports whether the follower has received an event of the given type whose data contains the
// words.
func (f *follower) has(kind perdure.EventType, words string) (found bool) {
	f.note(func() {
		for _, e := range f.events {
			found = found || e.Type == kind && strings.Contains(string(e.Data), words)
		}
	})
	return found
}

// answered waits until the run has the given number of questions, has the given last answer, and
// waits for the user's next message.
func (s *deployment) answered(id uuid.UUID, questions int, last string) {
	s.t.Helper()
	s.until(id, "the answer "+last, func(x *perdure.Execution) bool {
		if x.Status != perdure.StatusWaiting || x.WaitReason != "signal" {
			return false
		}
		lines := strings.Split(plain(s.transcript(id)), "\n")
		asked, answer := 0, ""
		for _, l := range lines {
			if strings.HasPrefix(l, "user Question ") {
				asked++
			}
			// A summary is written in the background. The compaction's entry comes after the
			// answers that arrived before the summary was complete.
			if text, ok := strings.CutPrefix(l, "assistant "); ok {
				answer = text
			}
		}
		return asked == questions && answer == last
	})
}

// checkCompacted checks that the conversation was compacted once, and that each question is stored
// once and occurs at most once in each request. It also checks that the requests after the compaction
// begin with the summary.
func (s *deployment) checkCompacted(id uuid.UUID, calls []modelCall) {
	s.t.Helper()
	lines := plain(s.transcript(id))
	for i := range 4 {
		if n := strings.Count(lines, fmt.Sprintf("user Question %d?", i)); n != 1 {
			s.t.Errorf("question %d is stored %d times:\n%s", i, n, lines)
		}
	}
	summaries, last := 0, ""
	for i, c := range calls {
		last = prompt(c)
		for q := range 4 {
			if n := strings.Count(last, fmt.Sprintf("Question %d?", q)); n > 1 {
				s.t.Errorf("call %d has question %d %d times:\n%s", i, q, n, last)
			}
		}
		if strings.Contains(last, summaryRequest) {
			summaries++
		}
	}
	if !strings.Contains(last, perdure.SummaryPrefix+"## Goal") || !strings.Contains(last, "Question 3?") {
		s.t.Errorf("the last call is\n%s", last)
	}
	seen, err := s.Context(s.t.Context(), id)
	if err != nil || seen.Compaction == nil || summaries != 1 {
		s.t.Errorf("%d summaries; the context is %+v, %v", summaries, seen, err)
	}
}

// prompt returns the texts of the messages in a model call.
func prompt(c modelCall) string {
	var all strings.Builder
	for _, m := range c.Body.Messages {
		all.WriteString(m.text() + "\n")
	}
	return all.String()
}
