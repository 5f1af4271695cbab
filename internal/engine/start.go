package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/definitions"
	"github.com/perdure/perdure/internal/engine/kinds"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// StartRequest is a request for a new execution. For a field that is nil or "", the definition's
// value applies, or the default if DefinitionID is not set.
type StartRequest struct {
	Kind            string
	DefinitionID    *uuid.UUID
	UserPrompt      string
	Parts           []perdure.Part
	SystemPrompt    *string
	Models          []perdure.ModelConfig
	Tools           *[]string
	Config          perdure.AgentConfig
	Input           json.RawMessage // for kinds other than the react agent
	OneShot         bool
	Workspace       string
	Queue           string
	Metadata        json.RawMessage
	PersistenceMode perdure.PersistenceMode
	Traceparent     string
	// Messages, From and Turns are for the react agent. Messages replaces UserPrompt and Parts.
	// From is an entry of another execution: the conversation of the new execution continues after
	// that entry. Turns contains the settings of the model calls.
	Messages []perdure.InputMessage
	From     *perdure.EntryRef
	Turns    perdure.Turns
	// Approvals is the start's own policy about tool calls, or about tasks of an agent that is not
	// the react agent. It can only be stricter than the definition's policy.
	Approvals perdure.ApprovalPolicy
	// Response is set if a client of the Responses API requested a response.
	Response *rules.ResponseRequest
	// IdempotencyKey, if set, identifies the request for 24 hours. RequestHash is the hash of the
	// whole request: another request with the same key is refused. A repeat of the request returns
	// the execution that the first request created.
	IdempotencyKey string
	RequestHash    perdure.Hash
	// Conversation, if set, is the conversation in which the start begins the next response.
	Conversation *rules.ConversationTurn
}

// Start creates an execution. It is subject to the limits of the API key in ctx. Errors:
// invalid_argument, not_found (definition), idempotency_key_reused, payload_too_large,
// rate_limited.
func (e *Engine) Start(ctx context.Context, org string, r StartRequest) (*perdure.Execution, error) {
	if own := ownTraceparent(ctx); own != "" {
		r.Traceparent = own // spans of the execution become children of the request's span
	}
	x, err := e.prepare(ctx, org, r)
	if err != nil {
		return nil, err
	}
	x.KeyID = store.KeyOf(ctx)
	var epoch [8]byte
	if _, err := rand.Read(epoch[:]); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "no randomness", Err: err}
	}
	n := rules.NewExecution{
		ClientRequest: clientRequest(r.Response, r.Conversation, r.IdempotencyKey, r.RequestHash),
		Row:           *x, Epoch: binary.BigEndian.Uint64(epoch[:]),
	}
	n.Row.ResponseID = n.ResponseID
	d, err := e.one(ctx, store.Command{
		Name: "start", Lane: store.LaneCommits, Org: org, Execution: x.ID, Bytes: len(x.Input),
		Needs:  func(*perdure.Execution) store.Needs { return rules.StartNeeds(n) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.Start(s, n) },
	})
	if err != nil {
		return nil, err
	}
	if made, ok := d.Value.(*perdure.Execution); ok {
		return made, nil
	}
	return e.Store.Execution(ctx, org, d.Value.(uuid.UUID))
}

// prepare checks the request and returns the row of the new execution. It does not store the row.
func (e *Engine) prepare(ctx context.Context, org string, r StartRequest) (*perdure.Execution, error) {
	if r.Kind == "" {
		r.Kind = perdure.ReactKind
	}
	spec, err := e.Kinds.Spec(ctx, org, r.Kind)
	if err != nil {
		return nil, err
	}
	input, gate, err := e.inputOf(ctx, org, r, spec)
	if err != nil {
		return nil, err
	}
	if int64(len(input)) > e.PayloadLimit {
		return nil, perdure.Errorf(perdure.PayloadTooLarge, "the input has %d bytes; the limit is %d", len(input), e.PayloadLimit)
	}
	if err := checkPlacing(&r); err != nil {
		return nil, err
	}
	id := uuid.Must(uuid.NewV7())
	var ref *perdure.BlobRef
	if r.PersistenceMode == perdure.Local {
		made := perdure.ContentRef(id, input)
		ref = &made
	}
	return &perdure.Execution{
		ID: id, InputBlob: ref, Org: org, Kind: r.Kind, Status: perdure.StatusPending, WakeReason: perdure.WakeStart,
		PersistenceMode: r.PersistenceMode, DefinitionID: r.DefinitionID, Input: input,
		Queue: r.Queue, Workspace: r.Workspace, Traceparent: r.Traceparent, Metadata: r.Metadata, Gate: gate,
	}, nil
}

// checkPlacing checks queue, workspace and metadata. It sets the defaults of these fields and of
// the persistence mode.
func checkPlacing(r *StartRequest) error {
	if err := checkStartTexts(r); err != nil {
		return err
	}
	if r.Queue == "" {
		r.Queue = "default"
	}
	if len(r.Queue) > validate.MaxName {
		return perdure.FieldErrorf("queue", "has over %d characters", validate.MaxName)
	}
	if r.Workspace == "" {
		r.Workspace = "."
	}
	clean := path.Clean(r.Workspace)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return perdure.FieldErrorf("workspace", "%q leads out of the worker's workspace; give a folder relative to it", r.Workspace)
	}
	r.Workspace = clean
	if len(r.Metadata) > definitions.MaxMetadata {
		return perdure.FieldErrorf("metadata", "has %d bytes; the limit is %d", len(r.Metadata), definitions.MaxMetadata)
	}
	if r.PersistenceMode == "" {
		r.PersistenceMode = perdure.Remote
	}
	return nil
}

// checkStartTexts checks the fields that are stored as text. It does not check the input, which is
// stored as a content.
func checkStartTexts(r *StartRequest) error {
	for _, text := range []struct{ field, value string }{
		{"queue", r.Queue}, {"workspace", r.Workspace}, {"Idempotency-Key", r.IdempotencyKey}, {"traceparent", r.Traceparent},
	} {
		if err := perdure.CheckText(text.field, text.value); err != nil {
			return err
		}
	}
	if r.Response != nil {
		if err := validate.JSON("request", r.Response.Request); err != nil {
			return err
		}
	}
	return validate.Metadata(r.Metadata)
}

// inputOf returns the execution's input, and the gate of its policies about tool calls (see
// questions.Questions.Freeze). The input of the react agent contains a copy of the whole
// configuration. The input of another agent is the one in the request, and must fit the schema of
// its kind.
func (e *Engine) inputOf(ctx context.Context, org string, r StartRequest, spec perdure.KindSpec) (json.RawMessage, *perdure.Gate, error) {
	var d *perdure.Definition
	if r.DefinitionID != nil {
		var err error
		if d, err = e.Store.Definition(ctx, org, *r.DefinitionID); err != nil {
			return nil, nil, err
		}
	}
	policies := policiesOf(r, d)
	if r.Kind == perdure.ReactKind {
		return e.reactInput(ctx, org, r, spec, d, policies)
	}
	if r.Input == nil {
		r.Input = json.RawMessage("null")
	}
	if err := e.Kinds.Schemas.Check("input", spec, r.Input); err != nil {
		return nil, nil, err
	}
	gate, err := e.Questions.Freeze(ctx, policies)
	if gate != nil {
		gate.Policies = &policies // the caller's input does not contain the policies
	}
	return r.Input, gate, err
}

// reactInput returns the input of an execution of the react agent, and the gate of its policies
// about tool calls (see questions.Questions.Freeze). The parameter `d` is the execution's
// definition, or nil.
func (e *Engine) reactInput(ctx context.Context, org string, r StartRequest, spec perdure.KindSpec, d *perdure.Definition, policies perdure.Approvals) (json.RawMessage, *perdure.Gate, error) {
	if len(r.Input) > 0 && string(r.Input) != "null" {
		return nil, nil, perdure.FieldErrorf("input", "is for other kinds; the %s takes userPrompt, models and tools", perdure.ReactKind)
	}
	in := perdure.ReactInput{Tools: []string{}}
	if d != nil {
		in.SystemPrompt, in.Models, in.Tools, in.Config = d.SystemPrompt, d.Models, d.Tools, d.Config
	}
	overlay(&in, r)
	if err := checkReact(in, spec, cmp.Or(r.Queue, "default")); err != nil {
		return nil, nil, err
	}
	open, err := e.Conversations.CheckFrom(ctx, org, r.From)
	if err != nil {
		return nil, nil, err
	}
	if err := perdure.CheckMessages("messages", open, r.Messages); err != nil {
		return nil, nil, err
	}
	gate, err := e.Questions.Freeze(ctx, policies)
	if err != nil {
		return nil, nil, err
	}
	if gate != nil {
		in.Approvals = &policies
	}
	raw, err := json.Marshal(in)
	return raw, gate, err
}

// overlay applies the request to the input that was made from the definition: each field that the
// request sets replaces the definition's. The configs of models are merged member by member.
func overlay(in *perdure.ReactInput, r StartRequest) {
	in.UserPrompt, in.Parts, in.OneShot = r.UserPrompt, r.Parts, r.OneShot
	if r.SystemPrompt != nil {
		in.SystemPrompt = *r.SystemPrompt
	}
	if r.Models != nil {
		in.Models = r.Models
	}
	if r.Tools != nil {
		in.Tools = *r.Tools
	}
	in.Config = in.Config.Merge(r.Config)
	in.Messages, in.From, in.Turns = r.Messages, r.From, r.Turns
}

func checkReact(in perdure.ReactInput, spec perdure.KindSpec, queue string) error {
	if len(in.Models) == 0 {
		return perdure.FieldErrorf("models", `must name at least one model, such as {"provider": "anthropic", "modelId": "..."}`)
	}
	if err := definitions.CheckModels(in.Models, spec.Providers); err != nil {
		return err
	}
	if err := kinds.CheckEndpoints(in.Models, spec.Endpoints, queue); err != nil {
		return err
	}
	if in.OneShot && in.UserPrompt == "" && len(in.Parts) == 0 && in.Compact != perdure.CompactOnly {
		return perdure.FieldErrorf("userPrompt", "is needed for a one-shot run")
	}
	if err := perdure.CheckUserParts("parts", in.Parts); err != nil {
		return err
	}
	if err := checkTools(in); err != nil {
		return err
	}
	return definitions.CheckAgentConfig(in.Config)
}

// checkTools checks that no two tools have the same name, because a model gets in.Tools and
// in.ClientTools in one list.
func checkTools(in perdure.ReactInput) error {
	names := slices.Clone(in.Tools)
	for _, t := range in.ClientTools {
		names = append(names, t.Name)
	}
	at := func(i int) string {
		if i < len(in.Tools) {
			return fmt.Sprintf("tools[%d]", i)
		}
		return fmt.Sprintf("clientTools[%d].name", i-len(in.Tools))
	}
	return perdure.CheckToolNames(at, names, in.Models)
}

// policiesOf returns the policies about tool calls of a start and of its definition d, which may be
// nil.
func policiesOf(r StartRequest, d *perdure.Definition) perdure.Approvals {
	a := perdure.Approvals{Start: r.Approvals}
	if d != nil {
		a.Definition = d.Approvals
	}
	return a
}
