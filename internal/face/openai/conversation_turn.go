package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/store"
)

// conversationField is the value of the member conversation of a response object.
type conversationField struct {
	ID string `json:"id"`
}

// inConversation contains the fields of a stored create request that are only set for a request in
// a conversation.
type inConversation struct {
	Conversation string `json:"conversation,omitempty"`
	// InputIDs has an id for each part of the input. This id is that of the pendingItem from which
	// the part comes, or "" if the part comes from the request itself.
	InputIDs []string `json:"input_ids,omitempty"`
}

func (c *inConversation) field() *conversationField {
	if c.Conversation == "" {
		return nil
	}
	return &conversationField{c.Conversation}
}

// parseConversation parses the parameter conversation: an id, or an object with an id.
func parseConversation(r *request, raw json.RawMessage) error {
	if json.Unmarshal(raw, &r.Conversation) != nil {
		var v map[string]json.RawMessage
		if err := decode(raw, "conversation", &v, "a string or an object"); err != nil {
			return err
		}
		for name, value := range v {
			if name != "id" {
				return invalid("conversation."+name, "unknown_parameter", "Unknown parameter: 'conversation.%s'.", name)
			}
			if err := decode(value, "conversation.id", &r.Conversation, "a string"); err != nil {
				return err
			}
		}
	}
	if r.Conversation == "" {
		return invalid("conversation", "invalid_value", "Invalid 'conversation': give the id of a conversation.")
	}
	return nil
}

const (
	// turnTries is how often a create request tries again when other requests change the conversation.
	turnTries = 5
	// lockedPause is the value of Retry-After in the error for a conversation whose response is
	// still running.
	lockedPause = time.Second
)

// errBusy is the error if another response of the conversation is still running.
var errBusy = errors.New("the conversation is busy")

// conversationLocked returns an error with status 409. OpenAI's official clients repeat a request
// after this error.
func conversationLocked() *Error {
	e := invalid("conversation", "conversation_locked", "Another process is operating on this conversation. Please retry in a few seconds.")
	e.Status = http.StatusConflict
	return e.After(lockedPause)
}

// turn begins the next response in a conversation, and returns its id.
func (b *beginning) turn(ctx context.Context) (string, error) {
	for range turnTries {
		if id, err := b.repeated(ctx); id != "" || err != nil {
			return id, err
		}
		id, err := b.tryTurn(ctx)
		if errors.Is(err, errBusy) {
			break
		}
		if !perdure.IsCode(err, perdure.Conflict) && !perdure.IsCode(err, perdure.ExecutionEnded) && !perdure.IsCode(err, perdure.NotFound) {
			return id, err
		}
	}
	if id, err := b.repeated(ctx); id != "" || err != nil {
		return id, err // the running response may come from an earlier attempt of this request
	}
	return "", conversationLocked()
}

// repeated returns the id of the response that was begun by an earlier request with the same
// idempotency key, or "".
func (b *beginning) repeated(ctx context.Context) (string, error) {
	if b.idem.key == "" {
		return "", nil
	}
	if err := perdure.CheckText("Idempotency-Key", b.idem.key); err != nil {
		return "", err
	}
	execution, err := b.Engine.Conversations.KeyedExecution(ctx, b.org, b.idem.key, b.idem.hash)
	if err != nil || execution == nil {
		return "", err
	}
	s, err := b.stored().Signal(ctx, *execution, b.idem.signalID())
	if perdure.IsCode(err, perdure.NotFound) {
		return b.first(ctx, *execution)
	}
	if err != nil {
		return "", err
	}
	return s.ResponseID, nil
}

// tryTurn reads the conversation and begins its next response. Errors: conflict, execution_ended or
// not_found if another request has changed the conversation after it was read.
func (b *beginning) tryTurn(ctx context.Context) (string, error) {
	c, err := b.conversation(ctx, b.org, b.req.Conversation)
	if err != nil {
		if isNotFound(err) {
			param := "conversation"
			missing := noConversation(b.req.Conversation)
			missing.Param, err = &param, missing
		}
		return "", err
	}
	pending, err := b.pending(ctx, c, 0, conversations.MaxPendingItems)
	if err != nil {
		return "", err
	}
	if len(pending) != c.Items {
		return "", perdure.Errorf(perdure.Conflict, "conversation %s has changed meanwhile", c.ID)
	}
	head, err := b.headOf(ctx, c)
	if err == nil && head.busy {
		err = errBusy
	}
	if err != nil {
		return "", err
	}
	messages, err := b.turnInput(ctx, c, pending, head)
	if err != nil {
		return "", err
	}
	return b.beginTurn(ctx, c, head, messages)
}

// turnInput returns the messages of the next response's input: the pending items, followed by those
// items of the request that do not repeat earlier items. It leaves out pending results of calls
// that are no longer open.
func (b *beginning) turnInput(ctx context.Context, c *store.Conversation, pending []pendingItem, head conversationHead) ([]perdure.InputMessage, error) {
	var items []resolvedItem
	answerable := slices.Clone(head.open)
	pending = slices.DeleteFunc(pending, func(p pendingItem) bool { return isStale(p, &answerable) })
	for _, p := range pending {
		items = append(items, p.resolved())
	}
	given, err := b.fresh(ctx, head, b.req.resolved)
	if err != nil {
		return nil, err
	}
	input := join(append(items, given...))
	if onlySummaries(input) {
		return nil, noMessage()
	}
	messages, err := answering(head.open, input)
	if err != nil {
		return nil, err
	}
	b.req.InputIDs = inputIDs(c.Response, pending, messages)
	kept, err := b.req.storedBody()
	b.asked = &conversations.ResponseRequest{Request: kept, Hidden: !b.req.stored()}
	return messages, err
}

// beginTurn starts an execution, or sends a message to the execution that waits for input.
func (b *beginning) beginTurn(ctx context.Context, c *store.Conversation, head conversationHead, messages []perdure.InputMessage) (string, error) {
	turn := &conversations.Turn{ConversationPlace: conversations.Place{ID: c.ID, Response: c.Response, Items: c.Items}}
	if head.waits != "" {
		reply, err := b.Engine.Signal(ctx, b.org, head.execution.ID, engine.SignalRequest{
			Name: perdure.UserMessage, Turn: &engine.Turn{Messages: messages, Settings: &b.settings}, ID: b.idem.signalID(), Head: head.waits,
			Response: b.asked, Conversation: turn, IdempotencyKey: b.idem.key, RequestHash: b.idem.hash,
		})
		return reply.ResponseID, err
	}
	start, err := b.startRequest(messages)
	if err != nil {
		return "", err
	}
	start.Conversation = turn
	if head.execution != nil {
		start.Queue, start.Workspace, start.From = head.execution.Queue, head.execution.Workspace, head.from()
	}
	x, err := b.Engine.Start(ctx, b.org, start)
	if err != nil {
		return "", err
	}
	if x.ResponseID == c.Response {
		return c.Response, nil
	}
	if id, err := b.repeated(ctx); id != "" || err != nil {
		return id, err
	}
	return b.first(ctx, x.ID)
}

// conversationHead describes the end of a conversation, where its next response begins.
type conversationHead struct {
	execution *perdure.Execution // nil if the conversation has no execution
	busy      bool               // a response is running, or is about to run
	waits     string             // id of the last response, if the execution waits for input
	leaf      *uuid.UUID         // the newest entry of an ended execution; nil if it has no entry
	open      []string           // ids of the calls for which the client must send results
}

func (h conversationHead) from() *perdure.EntryRef {
	if h.leaf == nil {
		return nil
	}
	return &perdure.EntryRef{ExecutionID: h.execution.ID, EntryID: *h.leaf}
}

// headOf returns the conversationHead of a conversation. It is the end of the newest execution that
// still exists.
func (a *API) headOf(ctx context.Context, c *store.Conversation) (conversationHead, error) {
	executions, err := a.stored().ConversationExecutions(ctx, c.ID)
	if err != nil || len(executions) == 0 {
		return conversationHead{}, err
	}
	x, err := a.stored().Execution(ctx, c.Org, executions[len(executions)-1])
	if err != nil {
		return conversationHead{}, err
	}
	h := conversationHead{execution: x}
	f, err := a.find(ctx, c.Org, x.ResponseID, true)
	if err == nil {
		err = a.current(ctx, f.fold)
	}
	switch {
	case isNotFound(err) && x.Status.Terminal():
		h.leaf = x.Leaf // the last response cannot be read, because its log was pruned
		return h, nil
	case err != nil:
		return h, err
	case !f.ended():
		h.busy = true
	case x.Status.Terminal() && !f.begun():
		h.leaf = x.Leaf
	case x.Status.Terminal():
		h.leaf, h.open = f.leaf, f.open()
	default:
		h.waits, h.open = f.id(), f.open()
	}
	return h, nil
}

// isStale reports whether a pendingItem is the result of a call that is not open. The parameter
// `open` is the list of the open calls, which isStale updates: it adds the calls of the item, and
// removes the calls whose results the item contains.
func isStale(p pendingItem, open *[]string) bool {
	for _, m := range p.Messages {
		for _, part := range m.Parts {
			switch part.Type {
			case perdure.PartToolCall:
				*open = append(*open, part.ID)
			case perdure.PartToolResult:
				at := slices.Index(*open, part.ToolCallID)
				if at < 0 {
					return true
				}
				*open = slices.Delete(*open, at, at+1)
			}
		}
	}
	return false
}
