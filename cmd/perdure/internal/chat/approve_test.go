package chat

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestShortIDsDiffer checks that the ids in a list are short, and long enough to differ from each
// other.
func TestShortIDsDiffer(t *testing.T) {
	all := []*perdure.Question{
		{ID: uuid.MustParse("11111111-0000-4000-8000-000000000000")},
		{ID: uuid.MustParse("11111111-2200-4000-8000-000000000000")},
		{ID: uuid.MustParse("33333333-0000-4000-8000-000000000000")},
	}
	for i, want := range []string{"11111111-0", "11111111-2", "33333333"} {
		if got := shortID(all[i].ID, all); got != want || len(beginWith(all, got)) != 1 {
			t.Errorf("the id of question %d is %s, want %s", i, got, want)
		}
	}
	if n := len(beginWith(all, "1111")); n != 2 {
		t.Errorf("1111 begins %d ids, want 2", n)
	}
}

// TestQuestionsAreListedInOneLine checks that a question is listed in one line, for any details and
// prompt.
func TestQuestionsAreListedInOneLine(t *testing.T) {
	for want, q := range map[string]perdure.Question{
		`bash  a ⏎ b`:        {QuestionTerms: perdure.QuestionTerms{Kind: "approval", Subject: "bash"}, Details: []byte("{\n  \"command\": \"a\\nb\"\n}")},
		`choice: Which one?`: {QuestionTerms: perdure.QuestionTerms{Kind: "choice", Prompt: "Which\n one?"}},
		`plan  "\u001b[2J"`:  {QuestionTerms: perdure.QuestionTerms{Kind: "plan"}, Details: []byte("\"\x1b[2J\"")},
	} {
		if got := askedText(&q); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
