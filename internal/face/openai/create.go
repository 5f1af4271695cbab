package openai

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/store"
)

// bodyLimit is the largest size of a request body, in bytes.
const bodyLimit = 8 << 20

// create handles a create request. It starts an execution, or continues the execution that waits at
// the end of the previous response.
func (a *API) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		a.fail(w, r, bodyError(err))
		return
	}
	req, err := parse(body)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if req.Stream || !req.Background {
		leave, err := a.read(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		defer leave()
	}
	if req.verdicts != nil {
		a.decide(w, r, req)
		return
	}
	f, err := a.begin(r.Context(), orgOf(r), req, idempotency{key: r.Header.Get("Idempotency-Key"), hash: sha256.Sum256(body)})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	switch {
	case req.Stream:
		a.stream(w, r, f.fold, -1)
	case req.Background:
		a.answer(w, r, f.fold, a.current(r.Context(), f.fold))
	default:
		a.answer(w, r, f.fold, a.wait(r.Context(), f.fold))
	}
}

// answer sends the response object in its current state, or the error err if err is not nil.
func (a *API) answer(w http.ResponseWriter, r *http.Request, f *fold, err error) {
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, f.object())
}

func bodyError(err error) error {
	if err == nil {
		return nil
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return ErrorOf(perdure.PayloadTooLarge, 0, "the body is over 8 MiB")
	}
	return invalid("", "invalid_body", "The body of the request could not be read.")
}

// idempotency is the idempotency key of a request with the hash of the request. A repeated request
// gets the response that the first request began.
type idempotency struct {
	key  string
	hash perdure.Hash
}

// signalID returns the id of the signal that contains the request's input. It is "" without an
// idempotency key, and the engine then chooses an id.
func (i idempotency) signalID() string {
	if i.key == "" {
		return ""
	}
	sum := perdure.Hash(sha256.Sum256(append([]byte(i.key+"\n"), i.hash[:]...)))
	return "idempotency:" + sum.String()
}

// begin stores the input of a create request, and returns the response that the input begins.
func (a *API) begin(ctx context.Context, org string, req *request, idem idempotency) (*found, error) {
	b, err := a.prepare(ctx, org, req, idem)
	if err != nil {
		return nil, err
	}
	begins := b.store
	if req.Conversation != "" {
		begins = b.turn
	}
	id, err := begins(ctx)
	if err != nil {
		return nil, err
	}
	return a.find(ctx, org, id, true)
}

// prepare checks a create request and resolves the references in its input. It stores nothing.
func (a *API) prepare(ctx context.Context, org string, req *request, idem idempotency) (*beginning, error) {
	who, err := a.agent(ctx, org, req.Model)
	if err != nil {
		return nil, err
	}
	settings := req.settings(who.settings)
	req.Truncation = truncationOf(settings)
	if err := checkTools(settings, req.Model); err != nil {
		return nil, err
	}
	if err := req.toolChoice.narrow(&settings, req.Model); err != nil {
		return nil, err
	}
	if err := a.resolve(ctx, org, req); err != nil {
		return nil, err
	}
	b := &beginning{API: a, org: org, req: req, idem: idem, who: who, settings: settings}
	if req.Conversation != "" {
		return b, nil
	}
	if err := b.know(ctx); err != nil {
		return nil, err
	}
	kept, err := req.storedBody()
	if err != nil {
		return nil, err
	}
	b.asked = &conversations.ResponseRequest{Request: kept, Hidden: !req.stored()}
	return b, nil
}

// checkTools checks the tools that the client runs. The name of such a tool must not be the name of
// a tool of the agent, and must be a name that the agent's model providers accept.
func checkTools(settings perdure.ReactInput, agent string) error {
	var names []string
	for _, t := range settings.ClientTools {
		if slices.Contains(settings.Tools, t.Name) {
			return invalid("tools", "invalid_value", "Tool '%s' is one that the agent '%s' runs here; name yours otherwise.", t.Name, agent)
		}
		names = append(names, t.Name)
	}
	at := func(i int) string { return fmt.Sprintf("tools[%d].name", i) }
	var bad *perdure.Error
	if err := perdure.CheckToolNames(at, names, settings.Models); errors.As(err, &bad) {
		return invalid(bad.Fields[0].Location, "invalid_value", "Invalid '%s': %s.", bad.Fields[0].Location, bad.Fields[0].Message)
	}
	return nil
}

// beginning is a create request that was checked and is about to begin a response.
type beginning struct {
	*API
	org      string
	req      *request
	idem     idempotency
	who      agent
	settings perdure.ReactInput
	asked    *conversations.ResponseRequest
	previous *found   // nil if the request names no previous response
	prefixes []prefix // prefixes of the input that may be the conversations of existing executions
}

// know sets the fields about the conversation before the request: the previous response, if the
// request names one, and the history, which is a hash of the conversation.
func (b *beginning) know(ctx context.Context) error {
	h := newHistory(b.org, b.req)
	if b.req.origin().id != "" {
		var err error
		if b.previous, err = b.findPrevious(ctx); err != nil {
			return err
		}
		end := b.previous.end()
		if end == (store.History{}) {
			return nil // the history is unknown; only the id finds the response
		}
		h = historyAfter(end)
	}
	if b.req.compacts {
		return nil // no later request can continue from the response
	}
	var all store.History
	b.prefixes, all = prefixes(h, b.req.resolved)
	b.req.History = &historyOfResponse{all.Said, all.SaidAndRun}
	return nil
}

// store begins a response with the input and returns the id of the response. It continues an existing
// execution if one waits at the end of the same conversation, and otherwise starts an execution.
func (b *beginning) store(ctx context.Context) (string, error) {
	if id, err := b.recognise(ctx); id != "" || err != nil {
		return id, err
	}
	if b.previous == nil {
		return b.execution(ctx, nil, nil)
	}
	id, err := b.goOn(ctx, b.previous, b.req.input)
	if perdure.IsCode(err, perdure.Conflict) || perdure.IsCode(err, perdure.ExecutionEnded) {
		return b.execution(ctx, b.previous, b.previous.open()) // the execution has continued since, or is running
	}
	return id, err
}

// findPrevious returns the response from which the create request continues.
func (b *beginning) findPrevious(ctx context.Context) (*found, error) {
	const param = "previous_response_id"
	from := b.req.origin()
	f, err := b.find(ctx, b.org, from.id, from.local)
	if err == nil {
		err = b.current(ctx, f.fold)
	}
	switch {
	case isNotFound(err):
		return nil, invalid(param, "previous_response_not_found", "Previous response with id '%s' not found.", b.req.PreviousResponseID)
	case err != nil:
		return nil, err
	case !f.ended():
		return nil, invalid(param, "previous_response_in_progress", "Previous response with id '%s' is still in progress.", f.id())
	case !f.begun():
		return nil, invalid(param, "previous_response_empty", "Previous response with id '%s' ended before it began; there is nothing to go on from.", f.id())
	}
	return f, nil
}

// goOn sends the input to the execution that waits at the end of the previous response. Errors:
// execution_ended; conflict, if the execution no longer waits there, if the input has only
// compactions, or if the execution belongs to a conversation, which only requests in that
// conversation may continue.
func (b *beginning) goOn(ctx context.Context, previous *found, input []perdure.InputMessage) (string, error) {
	if id := previous.request.Conversation; id != "" {
		return "", perdure.Errorf(perdure.Conflict, "the execution is that of conversation %s", id)
	}
	if onlySummaries(input) {
		return "", perdure.Errorf(perdure.Conflict, "no message follows response %s", previous.id())
	}
	messages, err := answering(previous.open(), input)
	if err != nil {
		return "", err
	}
	reply, err := b.Engine.Signal(ctx, b.org, previous.execution.ID, engine.SignalRequest{
		Name: perdure.UserMessage, Turn: &engine.Turn{Messages: messages, Settings: &b.settings}, ID: b.idem.signalID(), Head: previous.id(), Response: b.asked,
		IdempotencyKey: b.idem.key, RequestHash: b.idem.hash,
	})
	return reply.ResponseID, err
}

// execution starts an execution for the input. If there is a previous response, the new execution
// continues the conversation at the end of that response.
func (b *beginning) execution(ctx context.Context, previous *found, open []string) (string, error) {
	if onlySummaries(b.req.input) {
		return "", noMessage()
	}
	messages, err := answering(open, b.req.input)
	if err != nil {
		return "", err
	}
	start, err := b.startRequest(messages)
	if err != nil {
		return "", err
	}
	if previous != nil {
		start.Queue, start.Workspace = previous.execution.Queue, previous.execution.Workspace
		start.From = &perdure.EntryRef{ExecutionID: previous.execution.ID, EntryID: *previous.leaf}
	}
	x, err := b.Engine.Start(ctx, b.org, start)
	if err != nil {
		return "", err
	}
	return b.first(ctx, x.ID)
}

func (b *beginning) startRequest(messages []perdure.InputMessage) (engine.StartRequest, error) {
	s := b.settings
	start := engine.StartRequest{
		Kind: perdure.ReactKind, DefinitionID: b.who.definition, SystemPrompt: &s.SystemPrompt, Models: s.Models, Tools: &s.Tools,
		Config: s.Config, Messages: messages, OneShot: b.req.compacts, Turns: s.Turns, Response: b.asked, IdempotencyKey: b.idem.key, RequestHash: b.idem.hash,
	}
	if len(b.req.Metadata) == 0 {
		return start, nil
	}
	var err error
	if start.Metadata, err = json.Marshal(b.req.Metadata); err != nil {
		return start, &perdure.Error{Code: perdure.Internal, Message: "metadata does not encode", Err: err}
	}
	return start, nil
}

// first returns the id of the response to the input with which an execution was started. It reads
// the id from the execution's first event, because the execution may already have a later response
// if the request is a repeat.
func (b *beginning) first(ctx context.Context, execution uuid.UUID) (string, error) {
	page, err := b.Log.Page(ctx, execution, "", 1)
	if err != nil {
		return "", err
	}
	if len(page.Items) == 0 || page.Items[0].Seq != 1 {
		return "", perdure.Errorf(perdure.NotFound, "the beginning of execution %s is no longer kept", execution)
	}
	return page.Items[0].Record.Place.ResponseID, nil
}

// agent is the configuration of the agent that answers a create request.
type agent struct {
	definition *uuid.UUID
	settings   perdure.ReactInput
}

func noModel(model string) *Error {
	return invalid("model", "model_not_found", "The requested model '%s' does not exist.", model)
}

// agent finds the configuration for the value of the parameter model. The value is the slug or id
// of a definition, or "provider/model".
func (a *API) agent(ctx context.Context, org, name string) (agent, error) {
	d, err := a.definition(ctx, org, name)
	if err != nil {
		return agent{}, err
	}
	if d != nil {
		return agent{&d.ID, perdure.ReactInput{SystemPrompt: d.SystemPrompt, Models: d.Models, Tools: d.Tools, Config: d.Config}}, nil
	}
	provider, model, ok := strings.Cut(name, "/")
	if !ok || model == "" {
		return agent{}, noModel(name)
	}
	known, err := a.hasProvider(ctx, org, provider)
	if err != nil {
		return agent{}, err
	}
	if !known {
		return agent{}, noModel(name)
	}
	return agent{nil, perdure.ReactInput{Models: []perdure.ModelConfig{{Provider: provider, ModelID: model}}, Tools: []string{}}}, nil
}

// definition returns the definition with the slug or id, or nil.
func (a *API) definition(ctx context.Context, org, name string) (*perdure.Definition, error) {
	var d *perdure.Definition
	var err error
	if perdure.CheckText("model", name) != nil {
		return nil, nil // a name that cannot be stored does not exist
	}
	if id, bad := uuid.Parse(name); bad == nil && len(name) == 36 {
		d, err = a.stored().Definition(ctx, org, id)
	} else {
		d, err = a.stored().DefinitionBySlug(ctx, org, name)
	}
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, nil
	}
	return d, err
}

// hasProvider reports whether workers of the org can call the model provider. Error: unavailable,
// if no worker of the org has registered yet. A worker may register after the first read of the
// providers, so hasProvider reads the providers again after it has found that the org has workers.
func (a *API) hasProvider(ctx context.Context, org, provider string) (bool, error) {
	if known, err := a.calls(ctx, org, provider); known || err != nil {
		return known, err
	}
	if err := a.Engine.Kinds.HasWorkers(ctx, org); err != nil {
		return false, err
	}
	return a.calls(ctx, org, provider)
}

// calls reports whether a registered worker of the org can call the model provider.
func (a *API) calls(ctx context.Context, org, provider string) (bool, error) {
	known, err := a.Engine.Kinds.Agent(ctx, org, perdure.ReactKind)
	if perdure.IsCode(err, perdure.NotFound) {
		return false, nil
	}
	return err == nil && slices.Contains(known.Providers, provider), err
}
