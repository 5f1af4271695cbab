package questions

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newAnswerCommand(a *setup.App) *cobra.Command {
	var (
		reason, id, edit, remember string
		forTime                    time.Duration
	)
	cmd := &cobra.Command{
		Use: "answer ID approve|deny|JSON", Short: "Answer a question of a run", GroupID: "runs",
		Long: `Answers a question. approve and deny are for questions that ask whether something
may happen. A question with a form or with choices takes a value: JSON that fits the
form, or one of the choices as it is; - reads it from standard input. deny refuses
any question.

The command reads the question first and prints what is answered. The answer counts
only for that: if the details have changed by then, it is refused.

Without an answer the command prints the question and the answers that it takes. An
answer that does not fit is refused with the fields of the form and an example.`,
		Example: `  perdure answer 0199d7e2-... approve
  perdure answer 0199d7e2-... approve --edit '{"command":"make test"}'
  perdure answer 0199d7e2-... approve --remember run:tool --for 8h
  perdure answer 0199d7e2-... deny --reason "Not on a Friday"
  perdure answer 0199d7e2-... '{"days": 3}'
  perdure answer 0199d7e2-... blue`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := parseID("question", "perdure questions", args[0])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if len(args) == 1 {
				return connection.Read(ctx, a, func(conn *connection.Conn) error { return showUnanswered(ctx, a, conn.Client, question) })
			}
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				q, err := conn.Question(ctx, question)
				if err != nil {
					return err
				}
				r := client.AnswerRequest{AnswerID: id, Reason: reason}
				if err := readVerdict(a, q, args[1], &r); err != nil {
					return err
				}
				if edit != "" {
					if err := readEdit(a, edit, &r); err != nil {
						return err
					}
				}
				if err := readRemember(remember, forTime, &r); err != nil {
					return err
				}
				return answer(ctx, a, conn.Client, q, r)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; the agent reads it")
	cmd.Flags().StringVar(&edit, "edit", "", "with approve: JSON that is approved instead, if the question permits edits; - reads standard input")
	cmd.Flags().StringVar(&remember, "remember", "", "with approve: later such calls run without a question: "+rememberForms)
	cmd.Flags().DurationVar(&forTime, "for", 0, "with --remember: for how long (default 720h, 30 days)")
	cmd.Flags().StringVar(&id, "id", "", "id of the answer: sending the same again changes nothing")
	a.JSONFlag(cmd)
	return cmd
}

// readVerdict parses the argument of perdure answer, and sets the verdict and the value in the request r.
func readVerdict(a *setup.App, q *perdure.Question, arg string, r *client.AnswerRequest) error {
	for _, c := range q.Choices {
		if c.Value == arg {
			r.Verdict, r.Value = perdure.VerdictAnswer, textValue(arg)
			return nil
		}
	}
	switch {
	case arg == string(perdure.VerdictDeny):
		r.Verdict = perdure.VerdictDeny
		return nil
	case q.OnWorker():
		return errOnWorker(q)
	case !q.TakesValue() && arg == string(perdure.VerdictApprove):
		r.Verdict = perdure.VerdictApprove
		return nil
	case !q.TakesValue():
		return setup.NewUsageError(terminal.Cut(terminal.Inline(arg), maxShownAnswer)+" is no answer to this question", "it takes approve or deny\n"+answersHelp(q))
	}
	if arg == "-" {
		raw, err := io.ReadAll(a.Stdin)
		if err != nil {
			return err
		}
		arg = string(raw)
	}
	if !json.Valid([]byte(arg)) && len(q.Choices) > 0 {
		return setup.NewUsageError(terminal.Cut(terminal.Inline(arg), maxShownAnswer)+" is none of the choices", answersHelp(q))
	}
	if !json.Valid([]byte(arg)) {
		return setup.NewUsageError("the answer is no JSON: "+terminal.Cut(terminal.Inline(arg), maxShownAnswer), `a text needs quotes of both kinds: '"like this"'`+"\n"+answersHelp(q))
	}
	r.Verdict, r.Value = perdure.VerdictAnswer, json.RawMessage(arg)
	return nil
}

// maxShownAnswer is the maximum number of columns with which an error message repeats the user's answer.
const maxShownAnswer = 120

// errOnWorker returns the error for an answer to a question whose content only a worker has. As that worker
// is not connected, the user could not see the content.
func errOnWorker(q *perdure.Question) error {
	return perdure.Errorf(perdure.Unavailable, "question %s can only be denied now: what it asks is on the worker of run %s, which is not connected; try again when it is", q.ID, q.ExecutionID)
}

// textValue returns a text as JSON.
func textValue(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return raw
}

// answer prints the question with its details, and then sends the answer r.
func answer(ctx context.Context, a *setup.App, c *client.Client, q *perdure.Question, r client.AnswerRequest) error {
	details, err := Details(ctx, c, q)
	if err != nil {
		return err
	}
	if !a.JSON {
		if err := Print(a.Stderr, q, details); err != nil {
			return err
		}
	}
	after, err := Send(ctx, c, q, details, r)
	var late *client.DecidedError
	if errors.As(err, &late) && !a.JSON {
		_ = a.Stderr.Linef("perdure: it was decided before: %s", terminal.QuestionOutcome(late.Question))
		return setup.ExitWith(setup.ExitFailed)
	}
	if isAboutAnswer(err) {
		return setup.NewUsageError(strings.TrimPrefix(terminal.ErrorMessage(err), answerField+": "), answersHelp(q))
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Stdout.PrintJSON(after)
	}
	return a.Stdout.Linef("%s", terminal.QuestionOutcome(after))
}

// Details reads the complete details of a question from the server; nil if the question has none.
func Details(ctx context.Context, c *client.Client, q *perdure.Question) ([]byte, error) {
	if q.DetailsBytes == 0 {
		return q.Details, nil
	}
	return c.QuestionDetails(ctx, q.ID)
}

// Send sends the answer r, with the hash of the details that the user has seen. The server refuses
// an approval if the details have changed since then; a denial is always possible.
func Send(ctx context.Context, c *client.Client, q *perdure.Question, details []byte, r client.AnswerRequest) (*perdure.Question, error) {
	shown := perdure.DetailsHash(q.Kind, q.Subject, details)
	if r.Verdict == perdure.VerdictDeny {
		shown = q.DetailsSHA256 // a question can be denied even if its shown details do not match its hash
	}
	r.DetailsSHA256 = &shown
	if r.AnswerID == "" {
		r.AnswerID = uuid.NewString()
	}
	return c.Answer(ctx, q.ID, r)
}

// Print prints a question with its details.
func Print(out *terminal.Screen, q *perdure.Question, details []byte) error {
	if err := out.Linef("question %s", q.ID); err != nil {
		return err
	}
	_ = out.Indented("  ", terminal.Inline(strings.TrimSpace("run: "+q.ExecutionID.String()+" "+q.ExecutionTitle)))
	name := string(q.Kind)
	if q.Subject != "" {
		name += ": " + q.Subject
	}
	_ = out.Linef("  %s", name)
	if q.OnWorker() {
		_ = out.Linef("  what is asked is on the worker of the run, which is not connected; it can only be denied")
	}
	if prompt := strings.TrimSpace(terminal.Clean(q.Prompt)); prompt != "" {
		_ = out.Indented("  ", prompt)
	}
	if details != nil {
		_ = out.Linef("  details:")
		_ = out.Indented("    ", strings.TrimSpace(string(details)))
	}
	listChoices(out, q)
	return nil
}

// listChoices prints the choices of a question with their numbers.
func listChoices(out *terminal.Screen, q *perdure.Question) {
	for i, c := range q.Choices {
		label := c.Value
		if c.Label != "" {
			label += " (" + c.Label + ")"
		}
		if c.Description != "" {
			label += ": " + c.Description
		}
		_ = out.Linef("  %d  %s", i+1, label)
	}
}
