package openaiapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// fold builds a response and its events from the records of its execution's log. The same records
// always produce the same events.
type fold struct {
	of      response.Identity
	first   int64 // position of the event of the input
	request request
	source

	into string // the response that the input has joined

	emitted    []Event // since the last take
	next       int64   // next sequence number
	created    perdure.Time
	completed  *perdure.Time
	status     string
	failure    *responseError
	incomplete string
	told       *response.Merger // collects usage and finish reasons of the whole response
	items      []*growing
	blocks     map[int64]*growing            // open blocks by seq
	calls      map[string]*growing           // calls made in this response, by call id
	order      []string                      // ids of calls in call order
	leaf       *uuid.UUID                    // the last entry of the response
	makers     map[uuid.UUID]perdure.Content // provider and model by entry
}

// source provides what the log does not contain.
type source struct {
	// entry reads an entry whose event does not contain its content.
	entry func(ctx context.Context, id uuid.UUID) (*perdure.Entry, error)
	// joined returns the response that the input has joined; "" if none.
	joined func(ctx context.Context) (string, error)
	// other begins the fold of that response.
	other func(ctx context.Context, id string) (*fold, error)
	// seal encrypts data so that only the response's org can open it; nil if no block is shown.
	seal func(plain []byte) string
	// noteEnd is called when the fold reaches the response's end, before any client sees the end.
	noteEnd func(ctx context.Context, f *fold)
	// steers is set if no client created a response for the input, so that the input may join
	// another response.
	steers bool
	// takesMessages is set if the agent's input can contain assistant messages.
	takesMessages bool
}

// newFold creates the fold of the response whose input event is at position first.
func newFold(of response.Identity, first int64, asked request, from source) *fold {
	return &fold{of: of, first: first, request: asked, source: from, told: response.NewMerger(of)}
}

// id returns the id of the response.
func (f *fold) id() string { return f.of.Response }

func (f *fold) ended() bool {
	return f.status != "" && f.status != statusQueued && f.status != statusInProgress
}

// begun reports whether the agent has taken the input.
func (f *fold) begun() bool { return f.leaf != nil }

// take returns the events since the last call. Events of an input that may join another response
// are held back until its response is known, so that the stream is the same whenever it is read.
func (f *fold) take() []Event {
	if f.steers && !f.begun() && !f.ended() {
		return nil
	}
	events := f.emitted
	f.emitted = nil
	return events
}

// apply applies a record. Records after the response's end change nothing.
func (f *fold) apply(ctx context.Context, r record) error {
	if f.ended() {
		return nil
	}
	if r.event == "" {
		if g := f.blocks[r.Seq]; g != nil {
			f.delta(g, "") // keeps the event numbers stable
		}
		return nil
	}
	if f.status == "" {
		if r.pos == f.first {
			f.begin(r)
		}
		return nil
	}
	if r.event.Ends() {
		f.executionEnded(r)
		return nil
	}
	switch {
	case r.waitsForInput():
		// An agent that waits without an end event has ended the response, or produced nothing from
		// the input. It would not wait with an unread message.
		f.finish(r, statusCompleted)
		return nil
	case r.ResponseID == f.id():
		return f.own(ctx, r)
	case r.event == perdure.EventEntry && f.steers && !f.begun():
		return f.join(ctx)
	}
	return nil
}

// join sets into if the input was taken as part of another response.
func (f *fold) join(ctx context.Context) (err error) {
	f.into, err = f.joined(ctx)
	return err
}

// own applies a record of the response.
func (f *fold) own(ctx context.Context, r record) error {
	switch r.event {
	case perdure.EventToken, perdure.EventThinking:
		f.grow(r)
	case perdure.EventBlockClosed:
		f.blockClosed(r)
	case perdure.EventTaskRetrying, perdure.EventTaskInterrupted:
		f.withdraw(func(g *growing) bool { return g.task == r.TaskID })
	case perdure.EventEntry:
		return f.entryAppended(ctx, r)
	case perdure.EventData:
		if e, ok := r.end(); ok {
			f.responseEnded(r, e)
		}
	}
	return nil
}

func (f *fold) begin(r record) {
	f.created, f.status = r.CreatedAt, statusInProgress
	f.blocks, f.calls, f.makers = map[int64]*growing{}, map[string]*growing{}, map[uuid.UUID]perdure.Content{}
	if f.request.Background {
		f.status = statusQueued
	}
	f.emitResponse("response.created")
	if f.status == statusQueued {
		f.emitResponse("response.queued")
	}
}

// entryAppended applies an entry: the input, an answer of the model, or the result of a tool.
func (f *fold) entryAppended(ctx context.Context, r record) error {
	if r.EntryType == perdure.EntryLLMCall {
		return nil
	}
	if !f.begun() {
		f.status = statusInProgress
		f.emitResponse("response.in_progress")
	}
	id := r.EntryID
	f.leaf = &id
	if r.Role != perdure.RoleAssistant && r.Role != perdure.RoleToolResult {
		return nil
	}
	content, err := f.contentOf(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case r.Role == perdure.RoleToolResult:
		f.answeredCalls(content)
	case f.said(content):
		f.answered(r, content)
	}
	return nil
}

// said reports whether an assistant message was produced by the agent, and is not input from a
// client. The react agent stores both kinds. A message of the model has the usage or the stop
// reason of its call, which a client cannot send. Other agents accept no assistant messages.
func (f *fold) said(c perdure.Content) bool {
	return !f.takesMessages || c.StopReason != "" || c.Usage != nil
}

func (f *fold) contentOf(ctx context.Context, r record) (perdure.Content, error) {
	var c perdure.Content
	raw := r.Content
	if r.ContentBytes > 0 {
		e, err := f.entry(ctx, r.EntryID)
		if err != nil {
			return c, err
		}
		raw = e.Content
	}
	if len(raw) == 0 || raw[0] != '{' {
		return c, nil // the execution's worker stores it
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, &perdure.Error{Code: perdure.Internal, Message: "entry " + r.EntryID.String() + " does not decode", Err: err}
	}
	return c, nil
}

// answered applies an answer of the model. Items that were shown while they grew are done, and the
// rest is shown at once.
func (f *fold) answered(r record, c perdure.Content) {
	f.told.Add(response.Update{ResponseID: f.id(), FinishReason: c.StopReason, Usage: c.Usage})
	f.makers[r.EntryID] = perdure.Content{Provider: c.Provider, Model: c.Model}
	blocks := f.sealedBlocks(r, c)
	if blocks.extra != "" {
		f.reasoningBlock(r, blocks.extra)
	}
	shown := slices.DeleteFunc(slices.Clone(f.items), func(g *growing) bool { return g.over || !g.isText() || g.message != r.MessageID })
	last := lastText(c)
	for i, p := range c.Parts {
		status := statusCompleted
		if i == last {
			status = statusIncomplete
		}
		switch {
		case p.Type == perdure.PartText && p.Text != "":
			f.complete(&shown, itemMessage, r, p, status, "")
		case p.Type == perdure.PartThinking && p.Thinking != "":
			f.complete(&shown, itemReasoning, r, p, status, blocks.of[i])
		case p.Type == perdure.PartToolCall:
			f.called(r, p)
		}
	}
	f.withdraw(func(g *growing) bool { return slices.Contains(shown, g) })
}

// lastText returns the index of the part in which an answer was cut off; -1 if the answer is
// complete.
func lastText(c perdure.Content) int {
	if _, broken := stops[c.StopReason]; !broken {
		return -1
	}
	last := len(c.Parts) - 1
	if last < 0 || c.Parts[last].Type == perdure.PartToolCall {
		return -1
	}
	return last
}

// complete finishes the first shown item of a kind, or shows a new one.
func (f *fold) complete(shown *[]*growing, kind string, r record, p perdure.Part, status, encrypted string) {
	text := p.Text
	if kind == itemReasoning {
		text = p.Thinking
	}
	var g *growing
	if i := slices.IndexFunc(*shown, func(g *growing) bool { return g.Type == kind }); i >= 0 {
		g = (*shown)[i]
		*shown = slices.Delete(*shown, i, i+1)
	} else {
		g = f.show(kind, r.MessageID)
		f.delta(g, text)
	}
	g.entry, g.part, g.Encrypted = r.EntryID, p, encrypted
	f.done(g, text, status)
}

// stops maps stop reasons to the status of a response, and to the reason why it is incomplete.
var stops = map[perdure.StopReason]struct{ status, why string }{
	perdure.StopMaxTokens: {statusIncomplete, "max_output_tokens"},
	perdure.StopTurnLimit: {statusIncomplete, "max_turns"},
	perdure.StopRefusal:   {statusIncomplete, "content_filter"},
	perdure.StopError:     {statusFailed, ""},
	perdure.StopCancelled: {statusCancelled, ""},
}

func (f *fold) responseEnded(r record, e end) {
	f.told.Add(response.Update{ResponseID: f.id(), FinishReason: e.StopReason})
	stop, other := stops[f.told.Response().FinishReason]
	if !other {
		stop.status = statusCompleted
	}
	f.incomplete = stop.why
	if stop.status == statusFailed {
		f.failure = &responseError{Code: typeServer, Message: e.Error}
	}
	f.finish(r, stop.status)
}

func (f *fold) executionEnded(r record) {
	switch r.event {
	case perdure.EventFailed:
		f.failure = &responseError{Code: typeServer, Message: r.Error}
		if r.Code != "" {
			f.failure.Code = r.Code
		}
		f.finish(r, statusFailed)
	case perdure.EventCancelled:
		f.finish(r, statusCancelled)
	default:
		f.finish(r, statusCompleted)
	}
}

// terminal maps statuses to the events that end a response. OpenAI publishes no event for a
// cancelled response: the event says incomplete, and the response has status cancelled.
var terminal = map[string]string{
	statusCompleted: "response.completed", statusIncomplete: "response.incomplete",
	statusFailed: "response.failed", statusCancelled: "response.incomplete",
}

// finish ends the response. Growing items keep the text that they have.
func (f *fold) finish(r record, status string) {
	for _, g := range f.items {
		switch {
		case g.over:
		case g.Type == itemToolCall:
			f.resulted(g, perdure.Part{IsError: true, Parts: []perdure.Part{perdure.Text("the response ended before the tool did")}})
		default:
			f.done(g, g.text.String(), statusIncomplete)
		}
	}
	f.status = status
	if at := r.CreatedAt; status == statusCompleted {
		f.completed = &at
	}
	f.emitResponse(terminal[status])
}

// object returns the current response object.
func (f *fold) object() Response {
	o := f.request.object()
	o.ID, o.Object, o.Status = f.id(), "response", f.status
	o.CreatedAt = f.created.Unix()
	if f.completed != nil {
		at := f.completed.Unix()
		o.CompletedAt = &at
	}
	o.Error = f.failure
	if f.incomplete != "" {
		o.IncompleteDetails = &incompleteDetails{f.incomplete}
	}
	o.Output = make([]Item, len(f.items))
	for i, g := range f.items {
		o.Output[i] = g.Item
	}
	if usage := f.told.Response().Usage; usage != nil {
		o.Usage = usageOf(*usage)
	}
	return o
}
