package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// command is a command that the user of a chat types, such as /help.
type command struct {
	name, operand, about string
	run                  func(s *session, ctx context.Context, operand string) error
	// alone is set for a command that works without a run.
	alone bool
}

// commands returns the commands in the order in which /help lists them.
func commands() []command {
	return []command{
		{"/help", "", "list the commands and keys", (*session).help, true},
		{"/model", "[PROVIDER/MODEL]", "the model of the next turns; without operand, list the models", (*session).model, false},
		{"/cost", "", "tokens and cost of the run until now", (*session).cost, false},
		{"/tools", "", "the tools that the model may use", (*session).tools, false},
		{"/compact", "[INSTRUCTIONS]", "replace the older part of the conversation by a summary", (*session).compact, false},
		{"/retry", "", "ask the model again after it has failed", (*session).retry, false},
		{"/approve", "[ID]", "approve what is asked here, or list what is asked; with ID, show and ask it", (*session).approve, false},
		{"/new", "[PROMPT]", "leave this run and start another one", (*session).startNew, true},
		{"/resume", "[ID]", "leave this run and continue another one; without ID, list the newest", (*session).resume, true},
		{"/quit", "", "end the chat, as Ctrl-D does", (*session).end, true},
	}
}

// takeInputs handles the lines that the user enters, one after the other, until the input or ctx ends.
func (s *session) takeInputs(ctx context.Context) {
	for {
		text, ok, err := s.ed.Read(ctx)
		if err != nil {
			return
		}
		if !ok {
			s.quit(errInputEnd)
			return
		}
		if err := s.take(ctx, text); err != nil && ctx.Err() == nil {
			s.view.note(terminal.StyleError, terminal.ErrorMessage(err))
		}
	}
}

// take handles one line that the user has entered.
func (s *session) take(ctx context.Context, text string) error {
	asked := s.askedNow()
	word, operand, _ := strings.Cut(strings.TrimSpace(text), " ")
	if i := commandIndex(word); i >= 0 {
		c := commands()[i]
		if !c.alone && s.current() == uuid.Nil {
			return errors.New(c.name + " needs a run: type what is to be done")
		}
		return c.run(s, ctx, strings.TrimSpace(operand))
	}
	switch {
	case asked != nil:
		return s.answer(ctx, asked, strings.TrimSpace(text))
	case strings.TrimSpace(text) == "":
		return nil
	case strings.HasPrefix(text, "/") && !strings.Contains(word[1:], "/"):
		return unknownCommand(word)
	}
	return s.say(ctx, text)
}

// commandIndex returns the index of the command with a name; -1 if there is none.
func commandIndex(name string) int {
	return slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
}

// remembers reports whether a line belongs in the history of the input line. A line that answers a question
// does not: it fits only that question.
func (s *session) remembers(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return s.askedNow() == nil || commandIndex(word) >= 0
}

// unknownCommand returns an error for a command that does not exist. The error names the existing
// command with the most similar name.
func unknownCommand(word string) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	text := "there is no command " + word
	if near := setup.Nearest(word, names); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(text + "; /help lists the commands")
}

// say sends a message to the run. If the chat has no run yet, it starts one with the message as the prompt.
func (s *session) say(ctx context.Context, text string) error {
	parts, err := messageParts(s.workspaceRoot(), text)
	if err != nil {
		return err
	}
	if err := s.awaitOpen(ctx); err != nil {
		return err
	}
	id := s.current()
	if id == uuid.Nil {
		return s.startWith(text, parts)
	}
	q := client.UserMessage(text)
	if parts != nil {
		if q.Value, err = partsValue(parts); err != nil {
			return err
		}
	}
	q.ID = uuid.NewString()
	s.mu.Lock()
	s.waiting = append(s.waiting, text)
	queue := s.waiting
	s.mu.Unlock()
	s.ed.SetQueue(queue)
	if _, err := s.client().Signal(ctx, id, q); err != nil {
		s.mu.Lock()
		s.waiting = slices.DeleteFunc(slices.Clone(s.waiting), func(t string) bool { return t == text })
		queue = s.waiting
		s.mu.Unlock()
		s.ed.SetQueue(queue)
		return errors.New("the message was not sent: " + terminal.ErrorMessage(err))
	}
	return nil
}

// startWith starts a run with the message as its prompt and with the settings of the command that opened
// the chat.
func (s *session) startWith(text string, parts []perdure.Part) error {
	q, chosen, err := s.startRequest()
	if err != nil {
		return err
	}
	if chosen != "" && s.current() != uuid.Nil {
		s.view.note(terminal.StyleDim, "the new run asks "+chosen+", which you have chosen")
	}
	q.UserPrompt, q.Parts = text, parts
	if parts != nil {
		q.UserPrompt = ""
	}
	s.switchTo(Target{Start: &q})
	return nil
}

func (s *session) help(context.Context, string) error {
	var lines []string
	add := func(head, about string) {
		const column = 25
		lines = append(lines, terminal.Hanging(head, column, about, s.Stdout.Columns()))
	}
	for _, c := range commands() {
		add(strings.TrimSpace(c.name+" "+c.operand), c.about)
	}
	add("@PATH", "names a file; an image is sent along")
	add(`Alt-Enter, Ctrl-J, \`, "another line · Up, Down: earlier inputs · Tab: complete")
	add("Esc", "stops the turn · Ctrl-C twice leaves · Ctrl-D ends the chat")
	s.view.note(terminal.StyleNone, strings.Join(lines, "\n"))
	return nil
}

func (s *session) cost(ctx context.Context, _ string) error {
	s.connection.RLock()
	r, err := lookup.ReadResult(ctx, s.Conn, s.current())
	s.connection.RUnlock()
	if err != nil {
		return err
	}
	s.view.aside(func(t *terminal.TextView) { t.Usage(r) })
	return nil
}

func (s *session) tools(context.Context, string) error {
	s.mu.Lock()
	names := s.input.Tools
	s.mu.Unlock()
	text := "the model may use no tools"
	if len(names) > 0 {
		text = "the model may use: " + strings.Join(names, ", ")
	}
	s.view.note(terminal.StyleNone, text)
	return nil
}

func (s *session) compact(ctx context.Context, operand string) error {
	busy := s.isBusy() // a run that waits compacts at once
	_, err := s.client().Compact(ctx, s.current(), client.CompactRequest{Instructions: operand, IdempotencyKey: uuid.NewString()})
	if err == nil && busy {
		s.view.note(terminal.StyleDim, "the conversation is compacted before the next model call")
	}
	return err
}

// end ends the chat, as the end of the input does.
func (s *session) end(context.Context, string) error {
	s.quit(errInputEnd)
	return nil
}

// retry makes the run repeat its newest turn, which has failed.
func (s *session) retry(ctx context.Context, _ string) error {
	x, err := s.client().Get(ctx, s.current())
	if err != nil {
		return err
	}
	if !x.TurnFailed() {
		return errors.New("no turn has failed")
	}
	_, err = s.client().Signal(ctx, x.ID, client.SignalRequest{Name: perdure.RetrySignal, Value: json.RawMessage("null")})
	return err
}

func (s *session) startNew(_ context.Context, operand string) error {
	if operand == "" {
		if s.current() == uuid.Nil && s.options.Start != nil {
			return nil // the chat waits for the prompt already
		}
		return s.startWith("", nil)
	}
	parts, err := messageParts(s.workspaceRoot(), operand)
	if err != nil {
		return err
	}
	return s.startWith(operand, parts)
}

// maxOffered is the maximum number of runs that /resume lists.
const maxOffered = 10

func (s *session) resume(ctx context.Context, operand string) error {
	if operand == "" {
		return s.listRuns(ctx)
	}
	x, err := lookup.Find(ctx, s.client(), operand)
	if err != nil {
		return err
	}
	switch {
	case x.Status.Terminal():
		return fmt.Errorf("the run %s is %s", x.ID, strings.ToLower(string(x.Status)))
	case x.ID == s.current():
		return errors.New("that is this run")
	}
	s.switchTo(Target{Resume: x})
	return nil
}

// readRuns returns the newest runs that have not ended. From then on, the Tab key completes their ids.
func (s *session) readRuns(ctx context.Context) ([]*perdure.Execution, error) {
	all, err := s.client().ListPage(ctx, client.ExecutionFilter{
		Status: []perdure.Status{perdure.StatusPending, perdure.StatusRunning, perdure.StatusWaiting},
	}, client.PageOptions{Limit: maxOffered})
	if err != nil {
		return nil, err
	}
	s.offers.setRuns(all.Items)
	return all.Items, nil
}

func (s *session) listRuns(ctx context.Context) error {
	all, err := s.readRuns(ctx)
	if err != nil {
		return err
	}
	var lines []string
	for _, x := range all {
		if x.ID != s.current() {
			lines = append(lines, terminal.Inline(fmt.Sprintf("%s  %s  %s", x.ID, lookup.StatusText(x), lookup.Title(x))))
		}
	}
	if len(lines) == 0 {
		lines = []string{"there is no other run that goes on"}
	}
	s.view.note(terminal.StyleNone, strings.Join(lines, "\n"))
	return nil
}
