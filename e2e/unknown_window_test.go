package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// TestAModelWithoutAWindow checks that the worker assumes a window of 128,000 tokens for a model
// that no table contains. A context of 60,000 tokens is not compacted, and one of 97,000 tokens is.
// The worker logs the assumption once.
func TestAModelWithoutAWindow(t *testing.T) {
	fixtures := []fixture{{Response: turn{Text: "## Goal: an answer.", Usage: tokens(30_000, 10)}}}
	fixtures[0].Match.UserMessage = summaryRequest
	for i, size := range []int{30_000, 60_000, 97_000, 25_000} {
		f := fixture{Response: turn{Text: fmt.Sprintf("Answer %d.", i), Usage: tokens(size, 10)}}
		f.Match.UserMessage = fmt.Sprint("Question ", i)
		fixtures = append(fixtures, f)
	}
	mock := startAimock(t, fixtures...)
	s := newDeployment(t, setup{env: mock.environment("openai")})
	model := perdure.ModelConfig{Provider: "openai", ModelID: "gpt-unheard-of"}
	id := s.start(client.StartRequest{UserPrompt: "Question 0?", Tools: &toolNames, Models: []perdure.ModelConfig{model}})
	f := s.follow(id)
	s.showIfFailed(f, id)
	s.answered(id, 1, "Answer 0.")
	long := strings.Repeat(" long", 20_000) // longer than the part of the conversation that a compaction keeps
	for i := 1; i < 3; i++ {
		s.sayAs(id, fmt.Sprint(i), fmt.Sprintf("Question %d?%s", i, long))
		s.answered(id, i+1, fmt.Sprintf("Answer %d.", i))
		if i == 1 && s.compactions(id) != 0 {
			t.Error("a context of 60,000 tokens was compacted")
		}
	}
	s.sayAs(id, "3", "Question 3?")
	s.answered(id, 4, "Answer 3.")
	if n := s.compactions(id); n != 1 {
		t.Errorf("%d compactions", n)
	}
	mock.calls() // fails if a call was not answered
	text := s.worker.output.String()
	if strings.Count(text, `"msg":"the window of a model is not known`) != 1 || !strings.Contains(text, `"model":"openai/gpt-unheard-of","window":128000`) {
		t.Errorf("the worker wrote\n%s", text)
	}
}

// compactions returns the number of compactions on the run's path.
func (s *deployment) compactions(id uuid.UUID) (n int) {
	s.t.Helper()
	for e, err := range s.Entries(s.t.Context(), id) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Type == perdure.EntryCompaction {
			n++
		}
	}
	return n
}
