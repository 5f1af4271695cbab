package rest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

const callPath = "/agent-executions/{id}/calls/{callId}"

// CallInput is the input of an operation on a model call. It is exported because huma ignores
// unexported embedded structs.
type CallInput struct {
	operation.IDInput
	CallID string `path:"callId" doc:"The id of the task that makes the call."`
}

type getCallInput struct {
	CallInput
	operation.PageInput
}

// shownCall is the JSON form of a model call, with one page of its messages.
type shownCall struct {
	*perdure.ModelCall
	SystemPromptBytes int               `json:"systemPromptBytes,omitempty" doc:"The size of a system prompt that is left out because it has more than 256 KiB."`
	AnswerBytes       int               `json:"answerBytes,omitempty" doc:"The size of the parts of an answer that are left out because they have more than 256 KiB."`
	LeftOut           []perdure.LeftOut `json:"leftOut" nullable:"false" doc:"The parts of the conversation that the model does not see, oldest first, and why."`
	Messages          []shownMessage    `json:"messages" nullable:"false" doc:"As the model sees them, without the system prompt."`
	NextCursor        *string           `json:"nextCursor" doc:"Where the next page of messages begins; null at the end."`
}

// shownMessage is a message of a model call, in the form that the model received.
type shownMessage struct {
	Role  perdure.Role    `json:"role"`
	Bytes int             `json:"bytes" doc:"The size of the content."`
	Parts json.RawMessage `json:"parts" doc:"null if they have more than 256 KiB."`
}

// maxCallBytes is the maximum size in bytes of a conversation that the server loads to show a model
// call.
const maxCallBytes = 32 << 20

// storedCall returns the stored data of a model call. Errors: not_found; conflict for a LOCAL
// execution; unsupported if the program in which the server runs cannot rebuild the requests of model
// calls (it has not set perdure.Catalog.Calls).
func (s *server) storedCall(ctx context.Context, in CallInput) (x *perdure.Execution, call perdure.StoredCall, err error) {
	if x, err = s.execution(ctx, in.IDInput); err != nil {
		return nil, call, err
	}
	id, err := idOf(x.ID, "model call", in.CallID)
	if err != nil {
		return nil, call, err
	}
	whole := s.Engine.Read()
	tasks, err := whole.Tasks(ctx, x.ID, []uuid.UUID{id}, false)
	if err != nil {
		return nil, call, err
	}
	if tasks[0] == nil || tasks[0].Kind != perdure.ModelTaskKind {
		return nil, call, perdure.Errorf(perdure.NotFound, "execution %s has no model call %s", x.ID, id)
	}
	if x.PersistenceMode == perdure.Local {
		return nil, call, perdure.Errorf(perdure.Conflict, "the contents of execution %s are on its worker; promote it to inspect its model calls", x.ID)
	}
	if s.Catalog.Calls == nil {
		return nil, call, perdure.Errorf(perdure.Unsupported, "this server's program cannot rebuild model calls")
	}
	full, err := whole.Execution(ctx, in.Org, x.ID)
	if err != nil {
		return nil, call, err
	}
	call = perdure.StoredCall{Task: tasks[0], Input: full.Input, ContextPath: func(leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
		return limited(whole.ContextPath(ctx, x.ID, leaf, nil, false))
	}}
	call.FindTasks = limitedTasks(func(ids []uuid.UUID) ([]*perdure.Task, error) { return whole.Tasks(ctx, x.ID, ids, false) })
	call.Tools, err = s.toolsOf(ctx, in.Org)
	return x, call, err
}

// inspect waits until the server may load another conversation of a model call. Conversations are
// large, so only maxInspections of them may be in memory at the same time. The caller must call the
// function `over` when the conversation is no longer needed. If ctx ends first, inspect returns the
// error of ctx.
func (s *server) inspect(ctx context.Context) (over func(), err error) {
	select {
	case s.inspections <- struct{}{}:
		return func() { <-s.inspections }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxInspections is the maximum number of model calls whose conversations are in memory at the same
// time.
const maxInspections = 4

// limitedTasks returns a function that reads tasks by calling the function `read`. The returned
// function fails once the tasks of all its calls together exceed maxCallBytes.
func limitedTasks(read func(ids []uuid.UUID) ([]*perdure.Task, error)) func(ids ...uuid.UUID) ([]*perdure.Task, error) {
	bytes := 0
	return func(ids ...uuid.UUID) ([]*perdure.Task, error) {
		found, err := read(ids)
		for _, t := range found {
			if t != nil {
				bytes += len(t.Input) + len(t.Result)
			}
		}
		if err == nil && bytes > maxCallBytes {
			err = tooLargeToShow()
		}
		return found, err
	}
}

func tooLargeToShow() error {
	return perdure.Errorf(perdure.PayloadTooLarge, "the conversation of the call has over %d MiB and is not shown", maxCallBytes>>20)
}

// limited yields the entries of the iterator `path`. The iteration ends with an error if the
// contents of the entries together exceed maxCallBytes.
func limited(path iter.Seq2[perdure.Entry, error]) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		bytes := 0
		for e, err := range path {
			if bytes += len(e.Content); err == nil && bytes > maxCallBytes {
				err = tooLargeToShow()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// toolsOf returns the tools that workers of the org have registered, followed by those tools of the
// program that no worker has registered.
func (s *server) toolsOf(ctx context.Context, org string) ([]perdure.ToolInfo, error) {
	known, err := s.readWhole().Kinds(ctx, org)
	if err != nil {
		return nil, err
	}
	var all []perdure.ToolInfo
	registered := map[string]bool{}
	for _, k := range known {
		if !k.Agent {
			all = append(all, perdure.ToolInfo{Name: k.Spec.Kind, Description: k.Spec.Description, InputSchema: k.Spec.InputSchema})
			registered[k.Spec.Kind] = true
		}
	}
	for _, t := range s.Catalog.Tools {
		if !registered[t.Name] {
			all = append(all, t)
		}
	}
	return all, nil
}

func (s *server) getCall(ctx context.Context, in *getCallInput) (*operation.Body[shownCall], error) {
	over, err := s.inspect(ctx)
	if err != nil {
		return nil, err
	}
	defer over()
	x, stored, err := s.storedCall(ctx, in.CallInput)
	if err != nil {
		return nil, err
	}
	call, err := s.Catalog.Calls.Rebuild(stored)
	if err != nil {
		return nil, err
	}
	shown := shownCall{ModelCall: call, LeftOut: []perdure.LeftOut{}}
	from := 0
	if in.Cursor != "" {
		if from, err = strconv.Atoi(in.Cursor); err != nil || from < 1 || from >= len(call.Messages) {
			return nil, noCursor()
		}
	}
	if err := errors.Join(shown.cut(), shown.page(from, in.Limit)); err != nil {
		return nil, err
	}
	if call.LeafEntryID != nil {
		seen, err := s.contextOf(ctx, x, *call.LeafEntryID, false)
		if err != nil {
			return nil, err
		}
		shown.LeftOut = append(shown.LeftOut, seen.LeftOut...)
	}
	return operation.BodyOf(shown), nil
}

// cut removes the system prompt and parts of the model's message if they are too large to be shown.
func (c *shownCall) cut() error {
	if n := len(c.SystemPrompt); n > perdure.ShownLimit {
		c.SystemPrompt, c.SystemPromptBytes = "", n
	}
	if c.Answer == nil {
		return nil
	}
	parts, err := json.Marshal(c.Answer.Parts)
	if n := len(parts); n > perdure.ShownLimit {
		c.Answer.Parts, c.AnswerBytes = []perdure.Part{}, n
	}
	return err
}

// page keeps only one page of the call's messages: at most `limit` messages, beginning with the
// index `from`. The page ends earlier at a size of about store.PageBytes.
func (c *shownCall) page(from, limit int) error {
	c.Messages = []shownMessage{}
	bytes := 0
	for i := from; i < len(c.ModelCall.Messages); i++ {
		if len(c.Messages) == limit || bytes > store.PageBytes {
			next := strconv.Itoa(i)
			c.NextCursor = &next
			return nil
		}
		m := c.ModelCall.Messages[i]
		parts, err := json.Marshal(m.Parts)
		if err != nil {
			return err
		}
		shown := shownMessage{Role: m.Role, Bytes: len(parts)}
		if len(parts) <= perdure.ShownLimit {
			shown.Parts = parts
			bytes += len(parts)
		}
		c.Messages = append(c.Messages, shown)
	}
	return nil
}

type callBodyInput struct {
	CallInput
	As string `query:"as" doc:"The provider whose request is shown; default the provider of the call."`
}

// callBody contains the body of a model call's request, as the code that calls a model provider
// builds it. It is sent to the client unchanged.
type callBody struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func asCallBody(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "The body of the request",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{}}},
	}
}

func (s *server) callRequest(ctx context.Context, in *callBodyInput) (*callBody, error) {
	over, err := s.inspect(ctx)
	if err != nil {
		return nil, err
	}
	defer over()
	_, stored, err := s.storedCall(ctx, in.CallInput)
	if err != nil {
		return nil, err
	}
	body, err := s.Catalog.Calls.Body(ctx, stored, in.As)
	if err != nil {
		return nil, err
	}
	return &callBody{ContentType: "application/json", Body: body}, nil
}
