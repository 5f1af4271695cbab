package questions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/schemas"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// showUnanswered prints a question for which the user gave no answer. It returns an error that lists the
// possible answers.
func showUnanswered(ctx context.Context, a *setup.App, c *client.Client, id uuid.UUID) error {
	q, err := c.Question(ctx, id)
	if err != nil {
		return err
	}
	if q.Status != perdure.QuestionOpen {
		return setup.NewUsageError("question "+id.String()+" is decided: "+terminal.Inline(terminal.QuestionOutcome(q)), "perdure questions lists those that are open")
	}
	details, err := Details(ctx, c, q)
	if err != nil {
		return err
	}
	if err := Print(a.Stderr, q, details); err != nil {
		return err
	}
	return setup.NewUsageError("the answer is missing", answersHelp(q))
}

// answerField is the name, in the server's errors, of the field with the value of an answer.
const answerField = "answer"

// isAboutAnswer reports whether err is the server's refusal of an answer's value.
func isAboutAnswer(err error) bool {
	var coded *perdure.Error
	if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument {
		return false
	}
	return slices.ContainsFunc(coded.Fields, func(f perdure.FieldError) bool {
		return f.Location == answerField || strings.HasPrefix(f.Location, answerField+".")
	})
}

// maxListedChoices is the maximum number of choices of a question that answersHelp lists. It prints
// one command for each of them.
const maxListedChoices = 10

// answersHelp returns the commands with which the user can answer a question, and a list of the fields of
// its form.
func answersHelp(q *perdure.Question) string {
	command := "perdure answer " + q.ID.String() + " "
	var lines []string
	switch {
	case q.OnWorker():
		return "what it asks is on its worker, which is not connected, so it can only be denied:\n  " + command + "deny"
	case len(q.Choices) > 0:
		lines = append(lines, "it takes one of its choices:")
		for i, c := range q.Choices {
			if i == maxListedChoices {
				lines = append(lines, fmt.Sprintf("  … (%d more)", len(q.Choices)-i))
				break
			}
			lines = append(lines, "  "+command+setup.ShellWord(terminal.Inline(c.Value)))
		}
	case q.TakesValue():
		lines = append(lines, "it takes a value as JSON")
		if text := schemas.Explain(q.Schema, strings.TrimSuffix(command, " ")); text != "" {
			lines = append(lines, text)
		}
	default:
		lines = append(lines, "approve it:  "+command+"approve")
		if q.Edit != "" {
			lines = append(lines, "change it:   "+command+"approve --edit JSON")
		}
		if q.Grantable() {
			lines = append(lines, "remember:    "+command+"approve --remember run")
		}
		return strings.Join(append(lines, "refuse it:   "+command+`deny --reason "..."`), "\n")
	}
	return strings.Join(append(lines, "refuse it: "+command+`deny --reason "..."`), "\n")
}
