package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

// startBody is the body of a request that starts an execution.
type startBody struct {
	Kind            string                     `json:"kind,omitempty" doc:"Default react-agent."`
	DefinitionID    string                     `json:"agentDefinitionId,omitempty" doc:"A definition to start from; config is merged into its own member by member, other members given here replace its."`
	UserPrompt      string                     `json:"userPrompt,omitempty"`
	Parts           []perdure.Part             `json:"parts,omitempty" doc:"In place of userPrompt, where it holds more than text."`
	SystemPrompt    *string                    `json:"systemPrompt,omitempty"`
	Models          []perdure.ModelConfig      `json:"models,omitempty"`
	Tools           *[]string                  `json:"tools,omitempty" doc:"Names of tools."`
	Config          perdure.AgentConfig        `json:"config,omitempty"`
	Approvals       json.RawMessage            `json:"approvals,omitempty" doc:"Which tool calls run, and which people must approve: a list of rules (the schema ApprovalRule; the first that fits a call decides), or allow, edits, ask or confined. It can only tighten the definition's."`
	Input           json.RawMessage            `json:"input,omitempty" doc:"For kinds other than react-agent, checked by the kind's schema."`
	OneShot         bool                       `json:"oneShot,omitempty" doc:"End after the first response; else the run waits for userMessage."`
	Workspace       string                     `json:"workspace,omitempty" doc:"A folder relative to the worker's workspace; default \".\"."`
	Queue           string                     `json:"queue,omitempty" doc:"Default \"default\"."`
	Metadata        map[string]json.RawMessage `json:"metadata,omitempty" doc:"Up to 16 KiB."`
	PersistenceMode string                     `json:"persistenceMode,omitempty" doc:"REMOTE (default) or LOCAL."`
}

type startInput struct {
	operation.OrgInput
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"A repeat with the same key and body within 24 hours gives the same execution."`
	Traceparent    string `header:"Traceparent" doc:"W3C trace context."`
	Body           startBody
}

type executionOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     *perdure.Execution
}

type signalBody struct {
	Name  string          `json:"signalName"`
	Value json.RawMessage `json:"signalValue,omitempty" doc:"Any JSON. That of userMessage is {text} or {parts}."`
	Ref   *contentRef     `json:"signalValueRef,omitempty" doc:"In place of signalValue: content that was uploaded with PUT .../content."`
	ID    string          `json:"signalId,omitempty" doc:"Sending the same id again changes nothing."`
}

type signalInput struct {
	operation.IDInput
	Body signalBody
}

func (s *server) executionRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Executions", Compress: true}
	const one = "/agent-executions/{id}"
	operation.On(g, http.MethodPost, "/agent-executions", "startExecution", "Start an execution", s.start, operation.Status(201))
	operation.Get(g, "/agent-executions", "listExecutions", "List executions, newest first, without input and output; with their titles and what they have used", s.listExecutions, documentMetadata)
	operation.Get(g, one, "getExecution", "Get an execution, with its policies about tool calls", s.getExecution)
	operation.On(g, http.MethodDelete, one, "cancelExecution", "Cancel an execution: 202; one that has ended stays as it is: 200", s.cancel, operation.Status(202), alsoUnchanged)
	operation.On(g, http.MethodPost, one+"/signal", "signalExecution", "Send a signal", s.signal)
	operation.On(g, http.MethodPost, one+"/interrupt", "interruptExecution",
		"Stop the current turn. Without a turn to stop, nothing changes; stopped says which", s.interrupt)
	operation.On(g, http.MethodPost, one+"/compact", "compactExecution",
		"Ask the agent to compact its conversation at the next boundary of a turn: 202", s.compact, operation.Status(202))
	s.contentRoute()
}

// alsoUnchanged adds the response 200 to the documentation of an operation that ends an execution.
// The server sends this response if the execution has already ended.
func alsoUnchanged(op *operation.Operation) {
	op.Responses["200"] = &huma.Response{
		Description: "It has ended already and stays as it is",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: operation.SchemaPrefix + "Execution"}}},
	}
}

func (s *server) start(ctx context.Context, in *startInput) (*executionOutput, error) {
	r, err := in.request()
	if err != nil {
		return nil, err
	}
	x, err := s.Engine.Start(ctx, in.Org, r)
	if err != nil {
		return nil, err
	}
	return &executionOutput{
		Status: http.StatusCreated, Body: x,
		Location: fmt.Sprintf("/api/orgs/%s/agent-executions/%s", in.Org, x.ID),
	}, nil
}

func (in *startInput) request() (engine.StartRequest, error) {
	b := in.Body
	r := engine.StartRequest{
		Kind: b.Kind, UserPrompt: b.UserPrompt, Parts: b.Parts, SystemPrompt: b.SystemPrompt, Models: b.Models,
		Tools: b.Tools, Config: b.Config, Input: b.Input, OneShot: b.OneShot, Workspace: b.Workspace, Queue: b.Queue,
		IdempotencyKey: in.IdempotencyKey,
	}
	var err error
	if r.Approvals, err = policyOf(b.Approvals); err != nil {
		return r, err
	}
	if b.DefinitionID != "" {
		id, err := front.ParseID("agent definition", b.DefinitionID)
		if err != nil {
			return r, err
		}
		r.DefinitionID = &id
	}
	if r.PersistenceMode, err = perdure.ParsePersistenceMode(b.PersistenceMode); err != nil {
		return r, err
	}
	if r.Metadata, err = objectOf(b.Metadata); err != nil {
		return r, err
	}
	if traceparent.MatchString(in.Traceparent) {
		r.Traceparent = in.Traceparent
	}
	if r.IdempotencyKey != "" { // without a key, hashes are not compared
		r.RequestHash, err = hashOf(b)
	}
	return r, err
}

// traceparent matches the header traceparent in version 00 of W3C Trace Context. A value that does
// not match is ignored.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// hashOf returns equal hashes for bodies with equal meaning: the order of members and white space
// do not matter. Numbers are compared as written, so two numbers that round to the same float64
// remain different.
func hashOf(body any) (perdure.Hash, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return perdure.Hash{}, perdure.FieldErrorf("body", "does not encode: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var canonical any
	if err := d.Decode(&canonical); err != nil {
		return perdure.Hash{}, perdure.FieldErrorf("body", "does not parse: %v", err)
	}
	if raw, err = json.Marshal(canonical); err != nil {
		return perdure.Hash{}, perdure.FieldErrorf("body", "does not encode: %v", err)
	}
	return sha256.Sum256(raw), nil
}

// execution returns the execution whose id is in the path of a request.
func (s *server) execution(ctx context.Context, in operation.IDInput) (*perdure.Execution, error) {
	return s.Execution(ctx, in.Org, in.ID)
}

func (s *server) getExecution(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.Execution], error) {
	x, err := s.execution(ctx, *in)
	if err != nil {
		return nil, err
	}
	if err := s.showExecution(ctx, x); err != nil {
		return nil, err
	}
	x.Policies = policiesOf(x)
	return operation.BodyOf(x), nil
}

func (s *server) cancel(ctx context.Context, in *operation.IDInput) (*executionOutput, error) {
	id, err := in.Of("execution")
	if err != nil {
		return nil, err
	}
	x, changed, err := s.Engine.Cancel(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	if err := s.showExecution(ctx, x); err != nil {
		return nil, err
	}
	out := &executionOutput{Status: http.StatusOK, Body: x}
	if changed {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

func (s *server) signal(ctx context.Context, in *signalInput) (*operation.Body[engine.SignalReply], error) {
	id, err := in.Of("execution")
	if err != nil {
		return nil, err
	}
	r := engine.SignalRequest{Name: in.Body.Name, Value: in.Body.Value, ID: in.Body.ID}
	if in.Body.Ref != nil {
		r.Ref = &in.Body.Ref.BlobID
	}
	reply, err := s.Engine.Signal(ctx, in.Org, id, r)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(reply), nil
}

// idOf parses the id of a part of an execution, such as a task. The parameter `what` names the kind
// of the part in the error.
func idOf(execution uuid.UUID, what, text string) (uuid.UUID, error) {
	id, err := front.ParseID(what, text)
	if err != nil {
		return id, perdure.Errorf(perdure.NotFound, "execution %s has no %s %q", execution, what, text)
	}
	return id, nil
}
