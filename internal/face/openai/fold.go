package openai

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
	logfold "github.com/perdure/perdure/internal/log/fold"
	"github.com/perdure/perdure/internal/response"
)

// fold computes a response and its events from the log of the execution. The same log records
// always produce the same events.
type fold struct {
	of      response.Identity
	first   int64 // position of the event that stored the input
	request request
	source

	into string // id of the response that took the input, if it is another one than the response of the fold
	asks bool   // the agent has begun to wait for a question at a position after asksAfter
	// asksAfter is the position in the log up to which the client has answered the questions. The
	// fold ignores waits for a question up to this position. last is the position of the newest
	// item that the fold has applied.
	asksAfter, last int64

	emitted    []Event // events since the last call of take
	next       int64   // the next sequence_number
	created    perdure.Time
	completed  *perdure.Time
	status     string
	failure    *responseError
	incomplete string
	tree       *logfold.Tree // the part of the log that belongs to the response
	items      []*growing
	parts      map[*logfold.Part]*growing
	calls      []*growing                    // tool calls in their order
	leaf       *uuid.UUID                    // the newest entry of the response
	makers     map[uuid.UUID]perdure.Content // provider and model that wrote an entry, by the entry's id
	// compactions is the token usage of the model calls that wrote summaries; nil if there were none.
	compactions *perdure.Usage
}

// source provides what a fold needs and cannot find in the log.
type source struct {
	// entry reads an entry whose content is too large for its event.
	entry func(ctx context.Context, id uuid.UUID) (*perdure.Entry, error)
	// joined returns the id of the response that has taken the input, or "" if that is the fold's
	// own response.
	joined func(ctx context.Context) (string, error)
	// other creates the fold of the response with the id that `joined` has returned.
	other func(ctx context.Context, id string) (*fold, error)
	// seal encrypts a provider's signed reasoning so that only the response's org can decrypt it. It
	// is nil if the response does not show signed reasoning.
	seal func(plain []byte) string
	// sealSummary encrypts the summary of a compaction. It is nil if the response shows no
	// compactions.
	sealSummary func(plain []byte) string
	// noteEnd is called when the fold reaches the response's end, before any client sees the end.
	noteEnd func(ctx context.Context, f *fold)
	// steers is set if the input was sent without a create request. Another response that is still
	// running may then take the input.
	steers bool
	// takesMessages is set if the input of the agent can contain assistant messages.
	takesMessages bool
}

// newFold creates the fold of a response. The parameter `first` is the position in the log of the
// event that stored the response's input.
func newFold(of response.Identity, first int64, asked request, from source) *fold {
	return &fold{of: of, first: first, request: asked, source: from, tree: logfold.NewTree(of.Execution)}
}

// id returns the id of the response.
func (f *fold) id() string { return f.of.Response }

func (f *fold) ended() bool {
	return f.status != "" && f.status != statusQueued && f.status != statusInProgress
}

// begun reports whether the agent has already read the input that begins the response.
func (f *fold) begun() bool { return f.leaf != nil }

// take returns the events since the last call of take. While another response may still take the
// input, take returns none, so that the stream is the same whenever it is read.
func (f *fold) take() []Event {
	if f.steers && !f.begun() && !f.ended() {
		return nil
	}
	events := f.emitted
	f.emitted = nil
	return events
}

// merged returns the stored messages of the response as one message. The finish reason and the
// token usage are set if they are known.
func (f *fold) merged() response.Response {
	if r := f.tree.Response(f.id()); r != nil {
		return r.Merged()
	}
	return response.Response{}
}

// apply applies an item of the log. Items after the end of the response change nothing.
func (f *fold) apply(ctx context.Context, i eventlog.Item) error {
	switch {
	case f.ended():
		return nil
	case i.Event == "":
		if g := f.parts[f.tree.Part(i.Seq)]; g != nil {
			f.delta(g, "") // keeps the event numbers stable
		}
		return nil
	case i.Record == nil:
		return nil
	case f.status == "":
		if i.Cursor.Pos == f.first {
			f.begin(i.Record)
		}
		return nil
	case i.Event.Ends():
		return f.executionEnded(i.Record)
	}
	waits, err := f.waitsForInput(i)
	switch {
	case err != nil:
		return err
	case waits:
		// An agent that waits for input has finished the response, even if it has produced nothing
		// and the log has no event about the end: it waits only after it has read all input.
		f.finish(i.Record, statusCompleted)
		return nil
	case i.Record.Place.ResponseID == f.id():
		return f.own(ctx, i)
	case f.showsCompaction(i):
		return f.compacted(ctx, i.Entry)
	case i.Event == perdure.EventEntry && f.steers && !f.begun():
		return f.join(ctx)
	}
	return nil
}

// waitsForInput reports whether the record says that the agent waits for input, which ends a
// response. A wait for the answer to a question does not end the response.
func (f *fold) waitsForInput(i eventlog.Item) (bool, error) {
	if i.Record.Type != perdure.EventWaiting {
		return false, nil
	}
	w, err := logfold.WaitingOf(i.Record)
	f.asks = f.asks || w.Reason == waitsForQuestion && f.begun() && i.Cursor.Pos > f.asksAfter
	return w.Reason == "signal" && w.Wait != nil && w.Wait.TakesSignal(perdure.UserMessage), err
}

// join looks up whether another response has taken the input. If so, f.into is the id of that
// response.
func (f *fold) join(ctx context.Context) (err error) {
	f.into, err = f.joined(ctx)
	return err
}

// own applies a record that belongs to this response.
func (f *fold) own(ctx context.Context, i eventlog.Item) error {
	if i.Event == perdure.EventTerminal {
		return nil // this API does not show terminal output, so the tree does not need it
	}
	e := logfold.Event{Record: i.Record, Entry: i.Entry}
	if e.Entry != nil {
		var err error
		if e.Entry, err = f.whole(ctx, e.Entry); err != nil {
			return err
		}
	}
	changes, err := f.tree.Apply(e)
	if err != nil {
		return err
	}
	switch i.Event {
	case perdure.EventToken, perdure.EventThinking, perdure.EventBlockClosed:
		for _, c := range changes {
			f.grow(c)
		}
	case perdure.EventTaskRetrying, perdure.EventTaskInterrupted:
		f.withdraw(func(g *growing) bool { return i.Record.TaskID != nil && g.task == *i.Record.TaskID })
	case perdure.EventEntry:
		f.entryAppended(e, changes)
	case perdure.EventQuestionAsked:
		return f.asked(i.Record)
	case perdure.EventData:
		if p := logfold.PayloadOf(i.Record); p.Type == logfold.ResponseEnd {
			f.responseEnded(i.Record, p)
		}
	}
	return nil
}

// whole returns an entry of the agent with its content. The event of a large entry does not contain
// the content.
func (f *fold) whole(ctx context.Context, e *perdure.Entry) (*perdure.Entry, error) {
	if e.ContentBytes == 0 || e.Type == perdure.EntryLLMCall || e.Role != perdure.RoleAssistant && e.Role != perdure.RoleToolResult {
		return e, nil
	}
	return f.entry(ctx, e.ID)
}

func (f *fold) begin(r *perdure.Record) {
	f.created, f.status = r.CreatedAt, statusInProgress
	f.parts, f.makers = map[*logfold.Part]*growing{}, map[uuid.UUID]perdure.Content{}
	if f.request.Background {
		f.status = statusQueued
	}
	f.emitResponse("response.created")
	if f.status == statusQueued {
		f.emitResponse("response.queued")
	}
}

// entryAppended applies an entry: the input, an answer of the model, or the result of a tool.
func (f *fold) entryAppended(e logfold.Event, changes []logfold.Change) {
	if e.Entry.Type == perdure.EntryLLMCall {
		f.compactionCall(e.Entry)
		return
	}
	if !f.begun() {
		f.status = statusInProgress
		f.emitResponse("response.in_progress")
	}
	id := e.Entry.ID
	f.leaf = &id
	switch e.Entry.Role {
	case perdure.RoleToolResult:
		f.answeredCalls(changes)
	case perdure.RoleAssistant:
		if len(changes) > 0 && f.said(changes[0].Message.Content) {
			f.answered(e, changes)
		}
	}
}

// said reports whether an assistant message was produced by the agent, and is not input from a
// client. The react agent stores both kinds. Only a message of the model has a usage or a stop
// reason. Other agents accept no assistant messages as input.
func (f *fold) said(c perdure.Content) bool {
	return !f.takesMessages || c.StopReason != "" || c.Usage != nil
}

// answered applies a message of the model. It completes the items that were shown while the message
// was streamed, and adds items for the parts that were not streamed.
func (f *fold) answered(e logfold.Event, changes []logfold.Change) {
	c, message := changes[0].Message.Content, e.Record.Place.MessageID
	f.makers[e.Entry.ID] = perdure.Content{Provider: c.Provider, Model: c.Model}
	blocks := f.sealedBlocks(e.Entry.ID, c)
	if blocks.extra != "" {
		f.reasoningBlock(e, blocks.extra)
	}
	last := lastText(c)
	for _, change := range changes {
		if change.Kind != logfold.PartSettled {
			continue
		}
		status := statusCompleted
		if change.Index == last {
			status = statusIncomplete
		}
		switch change.Part.Type {
		case perdure.PartText:
			f.complete(e, change.Part, itemMessage, status, "")
		case perdure.PartThinking:
			f.complete(e, change.Part, itemReasoning, status, blocks.of[change.Index])
		case perdure.PartToolCall:
			f.called(e, change.Part)
		}
	}
	f.withdraw(func(g *growing) bool { return g.isText() && g.message == message })
}

// lastText returns the index of the text part at which the model's message was cut off. It returns
// -1 if the message is complete.
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

// complete completes the item of a stored part, or adds a complete item if the part was not
// streamed.
func (f *fold) complete(e logfold.Event, p *logfold.Part, kind, status, encrypted string) {
	text := p.Text()
	g := f.parts[p]
	if g == nil || g.over {
		g = f.show(kind, e.Record.Place.MessageID)
		f.delta(g, text)
	}
	g.entry, g.part, g.Encrypted = e.Entry.ID, p.Stored, encrypted
	f.done(g, text, status)
}

// stops maps the stop reasons of a model call to the status of the response, and to the reason why
// the response is incomplete.
var stops = map[perdure.StopReason]struct{ status, why string }{
	perdure.StopMaxTokens: {statusIncomplete, "max_output_tokens"},
	// The model's message has filled the context window. OpenAI's API has no better reason for
	// that.
	perdure.StopContextLength: {statusIncomplete, "max_output_tokens"},
	perdure.StopTurnLimit:     {statusIncomplete, "max_turns"},
	perdure.StopRefusal:       {statusIncomplete, "content_filter"},
	perdure.StopError:         {statusFailed, ""},
	perdure.StopCancelled:     {statusCancelled, ""},
	perdure.StopInterrupted:   {statusCancelled, ""},
}

func (f *fold) responseEnded(r *perdure.Record, e logfold.Payload) {
	stop, other := stops[f.merged().FinishReason]
	if !other {
		stop.status = statusCompleted
	}
	code := typeServer
	if f.merged().FinishReason == perdure.StopContextLength && e.Error != "" {
		// e.Error is set if the provider refused the conversation as too long. It is empty if the
		// model's message filled the context window.
		stop.status, stop.why, code = statusFailed, "", codeContextLength
	}
	f.incomplete = stop.why
	if stop.status == statusFailed {
		f.failure = &responseError{Code: code, Message: e.Error}
	}
	f.finish(r, stop.status)
}

func (f *fold) executionEnded(r *perdure.Record) error {
	switch r.Type {
	case perdure.EventFailed:
		why, err := logfold.FailureOf(r)
		if err != nil {
			return err
		}
		f.failure = &responseError{Code: typeServer, Message: why.Error}
		if why.Code != "" {
			f.failure.Code = why.Code
		}
		f.finish(r, statusFailed)
	case perdure.EventCancelled:
		f.finish(r, statusCancelled)
	default:
		f.finish(r, statusCompleted)
	}
	return nil
}

// terminal maps statuses to the event types that end a response. OpenAI documents no event for a
// cancelled response. Its last event is therefore "response.incomplete", in which the response has
// the status cancelled.
var terminal = map[string]string{
	statusCompleted: "response.completed", statusIncomplete: "response.incomplete",
	statusFailed: "response.failed", statusCancelled: "response.incomplete",
}

// finish ends the response with the status. Items that are still growing keep the text that they
// have.
func (f *fold) finish(r *perdure.Record, status string) {
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

// object returns the response object in its current state.
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
	if usage := f.summed(); usage != nil {
		o.Usage = usageOf(*usage)
	}
	return o
}
