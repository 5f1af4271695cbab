package openaiapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// fold makes a response, and the events that tell of it, out of the records of
// its execution's log. The same records make the same events.
type fold struct {
	of      response.Identity
	first   int64 // position of the input's event
	request request
	source

	into string // the response that the input has joined

	emitted    []Event // since the last take
	next       int64   // sequence number
	created    perdure.Time
	completed  *perdure.Time
	status     string
	failure    *responseError
	incomplete string
	told       *response.Merger // what is said of the response as a whole: usage, finish reasons
	items      []*growing
	blocks     map[int64]*growing            // open ones, by their seq
	calls      map[string]*growing           // made in this response, by call id
	order      []string                      // of the calls
	leaf       *uuid.UUID                    // the last entry of the response
	makers     map[uuid.UUID]perdure.Content // Provider and Model of the answers
}

// source is where a fold finds what the log does not hold.
type source struct {
	// entry reads an entry whose event does not hold its content.
	entry func(ctx context.Context, id uuid.UUID) (*perdure.Entry, error)
	// joined returns the response that the input has joined, "" for none.
	joined func(ctx context.Context) (string, error)
	// other begins the fold of that response.
	other func(ctx context.Context, id string) (*fold, error)
	// seal creates a text that only the response's org can give back; nil where no
	// block is shown.
	seal func(plain []byte) string
	// noteEnd is called once the fold has come to the response's end, before anybody is
	// shown it.
	noteEnd func(ctx context.Context, f *fold)
	// steers tells of an input that no client has made a response of its own for:
	// it may join another.
	steers bool
	// takesMessages tells of an agent whose input can hold messages of an assistant.
	takesMessages bool
}

// newFold begins the response whose input's event is at first.
func newFold(of response.Identity, first int64, asked request, from source) *fold {
	return &fold{of: of, first: first, request: asked, source: from, told: response.NewMerger(of)}
}

// id is the response's.
func (f *fold) id() string { return f.of.Response }

func (f *fold) ended() bool {
	return f.status != "" && f.status != statusQueued && f.status != statusInProgress
}

// begun reports whether the agent has taken the input up.
func (f *fold) begun() bool { return f.leaf != nil }

// take returns the events since it was called last. Those of an input that may
// join another response are held back until it is known which response has it:
// then, and whenever it is read again, the stream is the same.
func (f *fold) take() []Event {
	if f.steers && !f.begun() && !f.ended() {
		return nil
	}
	events := f.emitted
	f.emitted = nil
	return events
}

// apply takes a record in. What comes after the response's end changes nothing.
func (f *fold) apply(ctx context.Context, r record) error {
	if f.ended() {
		return nil
	}
	if r.event == "" {
		if g := f.blocks[r.Seq]; g != nil {
			f.delta(g, "") // so that no number moves
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
		// An agent that does not say so has ended it, or has made nothing of the input:
		// it would not wait with a message before it.
		f.finish(r, statusCompleted)
		return nil
	case r.ResponseID == f.id():
		return f.own(ctx, r)
	case r.event == perdure.EventEntry && f.steers && !f.begun():
		return f.join(ctx)
	}
	return nil
}

// join looks whether an input that was just taken up is this response's, which
// is then a part of the one that runs.
func (f *fold) join(ctx context.Context) (err error) {
	f.into, err = f.joined(ctx)
	return err
}

// own takes in a record of the response.
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

// entryAppended takes in an entry: the input, an answer of the model, the result
// of a tool.
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

// said reports whether the agent said an assistant's message, rather than stored
// one that a client gave it, which is input. The react agent stores both: what a
// model said has the usage of the call or says how it stopped, and a client can
// give neither. Other agents take no messages of an assistant.
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
		return c, nil // it is kept by the execution's worker
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, &perdure.Error{Code: perdure.Internal, Message: "entry " + r.EntryID.String() + " does not decode", Err: err}
	}
	return c, nil
}

// answered takes in what the model said: what was shown of it while it grew is
// done, and the rest is shown at once.
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

// lastText returns the index of the part that an answer breaks off in, -1 for one
// that is whole.
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

// complete finishes the first item of a kind that was shown, or shows it.
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

// stops are the statuses of responses by how they stopped, and why those that
// are incomplete are.
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

// terminal are the events that end a response. The published events have none
// for one that was cancelled: it is incomplete, and its status says why.
var terminal = map[string]string{
	statusCompleted: "response.completed", statusIncomplete: "response.incomplete",
	statusFailed: "response.failed", statusCancelled: "response.incomplete",
}

// finish ends the response. What was growing stays as far as it came.
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

// object is the response as it stands.
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
