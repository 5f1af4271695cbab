package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Terminal asks the person at a terminal the open questions of a run.
type Terminal struct {
	Out *terminal.Screen
	// ReadLine shows a prompt and reads a line; ok is false at the end of the input.
	ReadLine func(ctx context.Context, p Prompt) (line string, ok bool, err error)
	// Edit lets the person change a text in an editor.
	Edit func(ctx context.Context, text []byte) ([]byte, error)
	// Headed reports whether the last output on the screen is the heading of the question. The view of the
	// log prints that heading for the event of the question. nil means that the heading is not on the
	// screen.
	Headed func(q *perdure.Question) bool
}

// Prompt is the text that a person sees before typing a line of an answer.
type Prompt struct {
	// Text ends with a sign that invites input. It is safe for a terminal.
	Text string
	// Part reports whether the line is only a part of an answer that has begun: its reason, or a
	// field of its form.
	Part bool
}

// Ask shows a question and reads the answer. ok is false at the end of the input.
func (t Terminal) Ask(ctx context.Context, q *perdure.Question, details []byte) (r client.AnswerRequest, ok bool, err error) {
	exact, err := t.show(q, details)
	if err != nil {
		return r, false, err
	}
	form := formOf(q)
	for {
		line, ok, err := t.prompt(ctx, form.help(q, !exact), false)
		if !ok || err != nil {
			return r, false, err
		}
		r, wrong := readLine(q, line)
		if wrong != "" && strings.EqualFold(line, terminal.ViewAll) && details != nil {
			_ = t.Out.Indented("    ", string(details))
			continue
		}
		if word, rest, _ := strings.Cut(line, " "); word == "r" && q.Grantable() {
			r, wrong = remembered(rest)
		}
		if q.Edit != "" && line == "e" && !q.OnWorker() {
			r, wrong = t.edited(ctx, details)
		}
		if form != nil && line == "" {
			r.Verdict = perdure.VerdictAnswer
			r.Value, ok, err = t.fill(ctx, form)
			if !ok || err != nil {
				return r, false, err
			}
			wrong = ""
		}
		if wrong == "" && r.Verdict == perdure.VerdictDeny && r.Reason == "" {
			r.Reason, ok, err = t.prompt(ctx, "reason (may be empty)", true)
			if !ok || err != nil {
				return r, false, err
			}
		}
		if wrong == "" {
			return r, true, nil
		}
		_ = t.Out.Linef("  %s", wrong)
	}
}

func (t Terminal) prompt(ctx context.Context, text string, part bool) (string, bool, error) {
	line, ok, err := t.ReadLine(ctx, Prompt{Text: terminal.Inline(text) + " › ", Part: part})
	return strings.TrimSpace(line), ok, err
}

// readLine parses a line and returns the answer. If the line is not valid, it returns the problem
// instead.
func readLine(q *perdure.Question, line string) (r client.AnswerRequest, wrong string) {
	word, rest, _ := strings.Cut(line, " ")
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Choices) {
		return client.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: textValue(q.Choices[n-1].Value)}, ""
	}
	for _, c := range q.Choices {
		if c.Value == line {
			return client.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: textValue(line)}, ""
		}
	}
	switch strings.ToLower(word) {
	case "n", "no", "deny":
		return client.AnswerRequest{Verdict: perdure.VerdictDeny, Reason: strings.TrimSpace(rest)}, ""
	}
	if q.OnWorker() {
		return r, "n; what is asked is on the worker of the run, which is not connected"
	}
	switch strings.ToLower(word) {
	case "y", "yes", "approve":
		if !q.TakesValue() && rest == "" {
			return client.AnswerRequest{Verdict: perdure.VerdictApprove}, ""
		}
	}
	switch {
	case len(q.Choices) > 0:
		return r, fmt.Sprintf("a number from 1 to %d, or n", len(q.Choices))
	case !q.TakesValue():
		return r, "y or n; n with words after it tells the agent why"
	case !json.Valid([]byte(line)):
		return r, `JSON, or n; a text needs quotes: "like this"`
	}
	return client.AnswerRequest{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(line)}, ""
}

// form is the part of an object's schema that the terminal needs to ask for the object field by
// field.
type form struct {
	Type       string               `json:"type"`
	Properties map[string]formField `json:"properties"`
	Required   []string             `json:"required"`
	names      []string
}

type formField struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
}

// formOf returns the form of a question whose schema is an object of plain values; otherwise nil.
func formOf(q *perdure.Question) *form {
	var f form
	if q.Schema == nil || json.Unmarshal(q.Schema, &f) != nil || f.Type != "object" || len(f.Properties) == 0 {
		return nil
	}
	for name, p := range f.Properties {
		if !slices.Contains([]string{"string", "integer", "number", "boolean"}, p.Type) {
			return nil
		}
		f.names = append(f.names, name)
	}
	// The required fields come first, in the order of the schema's "required". Other fields are sorted
	// by name, because members of a JSON object have no order.
	slices.SortFunc(f.names, func(a, b string) int { return f.rank(a) - f.rank(b) + strings.Compare(a, b) })
	return &f
}

// rank returns the place of a field in the order of a form's fields. Different ranks differ by at
// least 10. The caller adds the result of strings.Compare, from -1 to 1, to the difference of two
// ranks. The names therefore decide only between fields of equal rank.
func (f *form) rank(name string) int {
	if i := slices.Index(f.Required, name); i >= 0 {
		return 10 * i
	}
	return 10 * len(f.Required)
}

// help lists the answers that a question takes. If the parameter `all` is set, the list includes
// the input that shows the details in full.
func (f *form) help(q *perdure.Question, all bool) string {
	var answers []string
	or := "or "
	switch {
	case q.OnWorker():
		return "n to deny"
	case f != nil:
		answers = []string{"Enter to fill in the fields", "JSON"}
	case len(q.Choices) > 0:
		answers = []string{"number"}
	case q.TakesValue():
		answers = []string{"JSON"}
	default:
		answers, or = approvals(q), ""
	}
	if all {
		answers = append(answers, terminal.ViewAll+" to view all")
	}
	return strings.Join(append(answers, or+"n to deny"), ", ")
}

// approvals returns the answers that approve a question.
func approvals(q *perdure.Question) []string {
	answers := []string{"y to approve"}
	if q.Grantable() {
		answers = append(answers, "r to approve and remember")
	}
	if q.Edit != "" {
		answers = append(answers, "e to edit")
	}
	return answers
}

// fill asks for each field of a form.
func (t Terminal) fill(ctx context.Context, f *form) (json.RawMessage, bool, error) {
	values := map[string]any{}
	for _, name := range f.names {
		for {
			line, ok, err := t.prompt(ctx, "  "+f.label(name), true)
			if !ok || err != nil {
				return nil, false, err
			}
			if line == "" && !slices.Contains(f.Required, name) {
				break
			}
			value, wrong := f.Properties[name].read(line)
			if wrong == "" {
				values[name] = value
				break
			}
			_ = t.Out.Linef("  %s", wrong)
		}
	}
	raw, err := json.Marshal(values)
	return raw, true, err
}

func (f *form) label(name string) string {
	p := f.Properties[name]
	label := name
	if p.Title != "" {
		label = p.Title + " (" + name + ")"
	}
	if p.Description != "" {
		label += ", " + p.Description
	}
	if len(p.Enum) > 0 {
		label += fmt.Sprintf(", one of %v", p.Enum)
	} else if p.Type != "string" {
		label += ", " + p.Type
	}
	if !slices.Contains(f.Required, name) {
		label += ", may be empty"
	}
	return label
}

// read returns the value of a field; the server compares it with the schema.
func (p formField) read(line string) (any, string) {
	switch p.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return true, ""
		case "n", "no", "false":
			return false, ""
		}
		return nil, "y or n"
	case "integer", "number":
		if _, err := strconv.ParseFloat(line, 64); err != nil || !json.Valid([]byte(line)) {
			return nil, "a number"
		}
		return json.Number(line), ""
	}
	return line, ""
}
