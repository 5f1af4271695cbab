package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/react"
)

// Outcome is the result of an execution. It has fixed names in place of ids, so that outcomes of
// different runs can be compared.
type Outcome struct {
	// Status is WAITING if the execution waits for a signal that the scenario never sends.
	Status perdure.Status
	Output json.RawMessage
	// Error is the error of a failed execution: the code, a colon and the message.
	Error string
	// Messages are the messages on the path, from the root.
	Messages []perdure.Message
	// Tasks are the scheduled tasks, sorted by kind and input. They include the steps; the kind of
	// a step is its name.
	Tasks []TaskOutcome
	// Signals are the taken signals, in order. Each is a line with the name, a space and the value.
	Signals []string
	// Questions are the questions, sorted by key. Each is a line with key, kind, status, verdict and
	// value.
	Questions []string

	// The fields below depend on the injected faults, and are not compared.

	// Ran is how often the code of each kind of task was called. ModelCalls is how often the model was
	// called.
	Ran        map[string]int
	ModelCalls int
	// Commits is the number of workers' calls that commit or that end an attempt.
	Commits int
	// Events is the number of events in the log, by type.
	Events map[perdure.EventType]int
	// Elapsed is the virtual time from the start to the end of the execution.
	Elapsed time.Duration
}

// TaskOutcome describes a task or step of the execution.
type TaskOutcome struct {
	Kind   string
	Step   bool
	Input  json.RawMessage
	Status perdure.TaskStatus
	Result json.RawMessage
	Error  string
}

// Text returns the conversation with one line for each message: its role and its text. A tool call
// is shown as "name(arguments)".
func (o Outcome) Text() string {
	var b strings.Builder
	for _, m := range o.Messages {
		b.WriteString(line(m) + "\n")
	}
	return b.String()
}

func line(m perdure.Message) string {
	said := []string{string(m.Role) + ":"}
	for _, p := range m.Parts {
		switch p.Type {
		case perdure.PartToolCall:
			said = append(said, fmt.Sprintf("%s(%s)", p.Name, p.RawArguments))
		case perdure.PartToolResult:
			said = append(said, fmt.Sprintf("%s = %s", p.ToolName, perdure.Content{Parts: p.Parts}.PlainText()))
		case perdure.PartThinking:
			said = append(said, fmt.Sprintf("(%s)", p.Thinking))
		case perdure.PartImage:
			said = append(said, imageText(p))
		case perdure.PartFile:
			said = append(said, "["+p.Describe()+"]")
		default:
			said = append(said, p.Text)
		}
	}
	return strings.Join(said, " ")
}

func imageText(p perdure.Part) string {
	if p.URL != "" {
		return "[" + p.Describe() + "]"
	}
	return fmt.Sprintf("[%s, %d bytes]", p.MimeType, len(p.Data))
}

// names maps ids to the names that replace them in outcomes.
type names struct {
	byID map[string]string
	call int // number of tool calls so far
}

var anID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (n *names) in(raw []byte) []byte {
	return anID.ReplaceAllFunc(raw, func(id []byte) []byte {
		if name, known := n.byID[string(id)]; known {
			return []byte(name)
		}
		return []byte("id")
	})
}

// reader has the methods of the store that `read` needs.
type reader interface {
	Now() perdure.Time
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (store.Page[*perdure.Task], error)
	Questions(ctx context.Context, org string, f store.QuestionFilter) (store.Page[*perdure.Question], error)
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error)
}

// read returns the outcome of an execution from the store.
func read(ctx context.Context, s reader, org string, id uuid.UUID) (Outcome, error) {
	x, err := s.Execution(ctx, org, id)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Status: x.Status, Events: map[perdure.EventType]int{}}
	n := &names{byID: map[string]string{id.String(): "execution"}}
	if o.Messages, err = readMessages(ctx, s, x, n); err != nil {
		return o, err
	}
	o.Output = n.in(x.Output)
	if x.Error != nil {
		o.Error = string(n.in([]byte(fmt.Sprintf("%s: %s", deref(x.ErrorCode), *x.Error))))
	}
	if o.Tasks, err = readTasks(ctx, s, id, n); err != nil {
		return o, err
	}
	if o.Questions, err = questionLines(ctx, s, org, id); err != nil {
		return o, err
	}
	end := s.Now()
	if x.CompletedAt != nil {
		end = *x.CompletedAt
	}
	o.Elapsed = end.Sub(x.CreatedAt.Time)
	return o, readEvents(ctx, s, id, o.Events)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func readMessages(ctx context.Context, s reader, x *perdure.Execution, n *names) ([]perdure.Message, error) {
	if x.Leaf == nil {
		return nil, nil
	}
	var entries []perdure.Entry
	for e, err := range s.Path(ctx, x.ID, *x.Leaf, nil, 0, false) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
		n.byID[e.ID.String()] = fmt.Sprintf("entry-%d", len(entries))
	}
	var messages []perdure.Message
	for _, e := range entries {
		e.Content = n.in(e.Content)
		m, err := e.Message()
		if err != nil {
			return nil, err
		}
		n.calls(m.Parts)
		messages = append(messages, m)
	}
	return messages, nil
}

// calls renames the ids of tool calls, and the ids that tool results refer to. A call comes before its
// result, so the new name is known when the result is renamed.
func (n *names) calls(parts []perdure.Part) {
	for i := range parts {
		p := &parts[i]
		if p.ID != "" {
			n.call++
			n.byID[p.ID] = fmt.Sprintf("call-%d", n.call)
			p.ID = n.byID[p.ID]
		}
		if name, known := n.byID[p.ToolCallID]; known {
			p.ToolCallID = name
		}
	}
}

func readTasks(ctx context.Context, s reader, id uuid.UUID, n *names) ([]TaskOutcome, error) {
	var tasks []TaskOutcome
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := s.ListTasks(ctx, id, true, cursor, 200)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Items {
			o := TaskOutcome{Kind: t.Kind, Step: t.Step, Input: n.in(t.Input), Status: t.Status, Result: n.in(t.Result)}
			if t.Error != nil {
				o.Error = string(n.in([]byte(t.Error.Error())))
			}
			tasks = append(tasks, o)
		}
		cursor = page.Next
	}
	slices.SortStableFunc(tasks, func(a, b TaskOutcome) int { return strings.Compare(a.line(), b.line()) })
	return tasks, nil
}

// line returns a text that represents the task. Tasks are sorted and compared by this text.
func (t TaskOutcome) line() string {
	if t.Step {
		return "step " + t.Kind
	}
	return fmt.Sprintf("%s(%s)", t.Kind, t.Input)
}

func readEvents(ctx context.Context, s reader, id uuid.UUID, count map[perdure.EventType]int) error {
	for after := int64(0); ; {
		records, _, err := s.Log(ctx, id, after, 1000)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			after = r.Pos
			if r.Chunk == nil {
				count[r.Type]++
			}
		}
	}
}

// modelTask is the kind of the tasks that call the model.
const modelTask = react.ModelTask
