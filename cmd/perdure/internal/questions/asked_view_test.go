package questions

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// asked asks a question with the given input lines. It returns the output and the verdict.
func asked(t *testing.T, q *perdure.Question, headed bool, details string, answers ...string) (text string, verdict perdure.Verdict) {
	t.Helper()
	var out bytes.Buffer
	screen := terminal.NewScreen(&out)
	a := Terminal{
		Out: screen, Headed: func(*perdure.Question) bool { return headed },
		ReadLine: func(_ context.Context, p Prompt) (string, bool, error) {
			_ = screen.Linef("%s", p.Text)
			if len(answers) == 0 {
				return "", false, nil
			}
			line := answers[0]
			answers = answers[1:]
			return line, true, nil
		},
	}
	r, _, err := a.Ask(t.Context(), q, []byte(details))
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), r.Verdict
}

// TestAQuestionShowsTheCommandAndOnRequestAllOfIt checks that a question about a command shows the
// command and its id once, and the stored details only on request.
func TestAQuestionShowsTheCommandAndOnRequestAllOfIt(t *testing.T) {
	const details = `{"command": "echo \"a\"\ntouch b", "timeout": 5}`
	q := &perdure.Question{ID: uuid.New(), QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash", Prompt: "Commands are not confined."}}
	const shown = "  │ echo \"a\"\n  │ touch b\n  timeout: 5\ny to approve, r to approve and remember, v to view all, n to deny › \n"
	head := "\n? May bash run? Commands are not confined.\n  question " + q.ID.String() + "\n"
	text, verdict := asked(t, q, false, details, "v", "y")
	if want := head + shown + "    " + details + "\n" + shown[strings.Index(shown, "y to"):]; text != want || verdict != perdure.VerdictApprove {
		t.Errorf("the verdict is %q; shown is\n%s\nwant\n%s", verdict, text, want)
	}
	if text, _ = asked(t, q, true, details); text != shown {
		t.Errorf("below its heading, shown is\n%s", text)
	}
	q.Prompt = "one\ntwo"
	if text, _ = asked(t, q, true, details); text != "  one\n  two\n"+shown {
		t.Errorf("with a prompt of two lines, shown is\n%s", text)
	}
}

// TestAChoiceCanHaveTheNameOfTheRequest checks that the input "v" selects the choice "v", if the
// question has one. For other questions, "v" asks for all details.
func TestAChoiceCanHaveTheNameOfTheRequest(t *testing.T) {
	q := &perdure.Question{ID: uuid.New(), QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionChoice, Choices: []perdure.QuestionOption{{Value: "v"}}}}
	if text, verdict := asked(t, q, true, `{"a": 1}`, "v"); verdict != perdure.VerdictAnswer {
		t.Errorf("the verdict is %q:\n%s", verdict, text)
	}
}
