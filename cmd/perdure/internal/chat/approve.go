package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// approve handles /approve. With an id, the terminal shows the question that has the id and asks
// it, so that nobody approves what was not shown. Without an id, approve lists the open questions;
// but if only one question is open and the terminal already asks it, approve approves that
// question.
func (s *session) approve(ctx context.Context, operand string) error {
	open, err := s.readQuestions(ctx, s.current())
	if err != nil {
		return err
	}
	asked := s.askedNow()
	switch {
	case operand != "":
		id, err := s.findQuestion(ctx, open, operand)
		if err == nil {
			s.chooseNext(id)
		}
		return err
	case asked != nil && len(open) == 0, asked != nil && len(open) == 1 && asked.question.ID == open[0].ID:
		return s.approveAsked(ctx, asked)
	case len(open) == 0:
		return errors.New("the run asks nothing")
	}
	s.listQuestions(open, asked)
	return nil
}

// approveAsked answers y to the question that the terminal asks.
func (s *session) approveAsked(ctx context.Context, asked *askedHere) error {
	switch {
	case asked.prompt.Part:
		return errors.New("finish the answer that you have begun; nothing was sent")
	case asked.question.TakesValue():
		return errors.New("this question takes a value: type it, or n to deny; nothing was sent")
	}
	return s.answer(ctx, asked, "y")
}

// listQuestions lists the open questions of the run, and marks the one that the terminal asks.
func (s *session) listQuestions(open []*perdure.Question, asked *askedHere) {
	lines := []string{"the open questions of the run, newest first:"}
	for _, q := range open {
		mark := "  "
		if asked != nil && asked.question.ID == q.ID {
			mark = "→ "
		}
		lines = append(lines, mark+shortID(q.ID, open)+"  "+askedText(q))
	}
	lines = append(lines, "/approve ID shows one of them and asks it")
	for i, line := range lines {
		lines[i] = terminal.Cut(line, s.Stdout.Columns())
	}
	s.view.note(terminal.StyleNone, strings.Join(lines, "\n"))
}

// askedText returns a question in one line: its tool or kind, and the call or the prompt.
func askedText(q *perdure.Question) string {
	if len(q.Details) == 0 {
		return terminal.Inline(terminal.QuestionTitle(q))
	}
	name := q.Subject
	if name == "" {
		name = string(q.Kind)
	}
	return terminal.Inline(name + "  " + terminal.CallSummary(q.Details))
}

// shortIDLength is the length to which listed ids of questions are cut, unless that makes two of them
// equal.
const shortIDLength = 8

// shortID returns the beginning of a question's id. It is long enough to differ from the ids of the
// other questions.
func shortID(id uuid.UUID, all []*perdure.Question) string {
	text, n := id.String(), shortIDLength
	for _, q := range all {
		for q.ID != id && strings.HasPrefix(q.ID.String(), text[:n]) {
			n++
		}
	}
	return text[:n]
}

// findQuestion returns the id of the run's question whose id begins with the text. `open` has the
// open questions. It returns an error if no id or several ids begin with the text, or if the
// question is no longer open.
func (s *session) findQuestion(ctx context.Context, open []*perdure.Question, text string) (id uuid.UUID, err error) {
	if strings.ContainsAny(text, " \t\n") {
		return id, errors.New("/approve takes one id, and the answer is asked for afterwards; nothing was sent")
	}
	found := beginWith(open, text)
	if len(found) == 0 {
		all, err := lookup.AllQuestions(ctx, s.client(), s.current())
		if err != nil {
			return id, err
		}
		found = beginWith(all, text)
	}
	switch {
	case len(found) == 0:
		return id, fmt.Errorf("the run has no question %s; /approve lists those that are open", text)
	case len(found) > 1:
		return id, fmt.Errorf("%d questions have ids that begin with %s; type more of it", len(found), text)
	case found[0].Status.Final():
		return id, fmt.Errorf("the question %s is not open any more: %s", text, terminal.QuestionOutcome(found[0]))
	}
	return found[0].ID, nil
}

// beginWith returns the questions whose ids begin with a text.
func beginWith(all []*perdure.Question, text string) []*perdure.Question {
	var found []*perdure.Question
	for _, q := range all {
		if strings.HasPrefix(q.ID.String(), strings.ToLower(text)) {
			found = append(found, q)
		}
	}
	return found
}

// refreshWithin is the time in which the server must list the questions that completion offers.
const refreshWithin = 10 * time.Second

// refreshQuestions reads the open questions, for completion. It does not block.
func (s *session) refreshQuestions() {
	s.reads.Go(func() {
		s.offers.refreshing.Lock()
		defer s.offers.refreshing.Unlock()
		ctx, cancel := context.WithTimeout(s.live, refreshWithin)
		defer cancel()
		id := s.current()
		if id == uuid.Nil {
			return
		}
		_, _ = s.readQuestions(ctx, id) // after an error, completion offers the previous list
	})
}

// readQuestions returns the open questions of a run with their details, newest first. From then on, the
// Tab key completes their ids, and the status line shows how many there are.
func (s *session) readQuestions(ctx context.Context, run uuid.UUID) ([]*perdure.Question, error) {
	c := s.client()
	open, err := lookup.OpenQuestions(ctx, c, run, false)
	if err != nil {
		return nil, err
	}
	slices.Reverse(open)
	for i, q := range open {
		if known := s.offers.question(q.ID); known != nil && known.Version == q.Version {
			open[i] = known
		} else if open[i], err = c.Question(ctx, q.ID); err != nil { // the list leaves the arguments of calls out
			return nil, err
		}
	}
	s.offers.setQuestions(open)
	s.showStatus()
	return open, nil
}
