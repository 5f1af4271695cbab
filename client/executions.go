package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const executions = "agent-executions"

// StartRequest requests a new execution. A react agent needs UserPrompt and Models, or a definition
// that contains Models. Agents of other kinds need Kind and Input.
type StartRequest struct {
	// Kind is the kind of the agent; default react-agent.
	Kind         string                `json:"kind,omitempty"`
	DefinitionID *uuid.UUID            `json:"agentDefinitionId,omitempty"`
	UserPrompt   string                `json:"userPrompt,omitempty"`
	Parts        []perdure.Part        `json:"parts,omitempty"` // replaces UserPrompt
	SystemPrompt *string               `json:"systemPrompt,omitempty"`
	Models       []perdure.ModelConfig `json:"models,omitempty"`
	// Tools are the names of the tools that the agent may use. nil means the tools of the definition;
	// an empty list means no tools.
	Tools  *[]string           `json:"tools,omitempty"`
	Config perdure.AgentConfig `json:"config,omitzero"`
	// Approvals decides which tool calls run, and which calls people must approve first. It can only
	// tighten the policy of the definition.
	Approvals perdure.ApprovalPolicy `json:"approvals,omitempty"`
	Input     json.RawMessage        `json:"input,omitempty"`
	// OneShot ends the execution after its first response.
	OneShot bool `json:"oneShot,omitempty"`
	// Workspace is a folder relative to the worker's workspace; default ".".
	Workspace string          `json:"workspace,omitempty"`
	Queue     string          `json:"queue,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	// PersistenceMode says whether the server or the worker stores the content; default REMOTE, the
	// server.
	PersistenceMode perdure.PersistenceMode `json:"persistenceMode,omitempty"`

	// IdempotencyKey identifies the request for 24 hours. A repeat of the same request with the
	// same key returns the execution of the first request.
	IdempotencyKey string `json:"-"`
	// Traceparent is the W3C trace context to which the execution belongs.
	Traceparent string `json:"-"`
	// Waits, if set, is called once if Start has to wait for the org's first worker.
	Waits func() `json:"-"`
}

// Start creates an execution. If no worker of the org has registered yet, Start waits up to
// [WorkerWait], and then returns unavailable. Other errors: invalid_argument, not_found
// (definition), idempotency_key_reused, payload_too_large.
func (c *Client) Start(ctx context.Context, r StartRequest) (*perdure.Execution, error) {
	header := http.Header{}
	if r.IdempotencyKey != "" {
		header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	if r.Traceparent != "" {
		header.Set("Traceparent", r.Traceparent)
	}
	var x perdure.Execution
	err := c.awaitWorker(ctx, r.Waits, func() error {
		return c.call(ctx, request{method: http.MethodPost, path: []string{executions}, header: header, body: r}, &x)
	})
	if err != nil {
		return nil, err
	}
	return &x, nil
}

// Get returns an execution. The server leaves out a large input or output; Fetch loads it. Errors:
// not_found.
func (c *Client) Get(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	return get[perdure.Execution](ctx, c, nil, executions, id.String())
}

// ExecutionFilter selects executions. A field with its zero value does not filter.
type ExecutionFilter struct {
	Status        []perdure.Status // any of these statuses
	Kind          string
	Tag           string // executions whose kind has this tag now
	DefinitionID  *uuid.UUID
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Metadata      map[string]string
	FailedTurn    bool // only conversations whose newest turn has failed
	// Query is a text that occurs in the id, the kind or the first 4 KiB of the input.
	Query string
}

func (f ExecutionFilter) add(q url.Values) {
	for _, status := range f.Status {
		q.Add("status", string(status))
	}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("kind", f.Kind)
	set("tag", f.Tag)
	set("q", f.Query)
	if f.FailedTurn {
		set("failedTurn", "true")
	}
	if f.DefinitionID != nil {
		set("agentDefinitionId", f.DefinitionID.String())
	}
	if !f.CreatedAfter.IsZero() {
		set("createdAfter", perdure.At(f.CreatedAfter).String())
	}
	if !f.CreatedBefore.IsZero() {
		set("createdBefore", perdure.At(f.CreatedBefore).String())
	}
	for key, value := range f.Metadata {
		q.Set("metadata."+key, value)
	}
}

// ListPage returns one page of the executions that match the filter, newest first, without input and
// output.
func (c *Client) ListPage(ctx context.Context, f ExecutionFilter, o PageOptions) (Page[*perdure.Execution], error) {
	q := o.query()
	f.add(q)
	return page[*perdure.Execution](ctx, c, q, executions)
}

// List returns all executions that match the filter, newest first, without input and output.
func (c *Client) List(ctx context.Context, f ExecutionFilter) iter.Seq2[*perdure.Execution, error] {
	return pages(func(o PageOptions) (Page[*perdure.Execution], error) { return c.ListPage(ctx, f, o) })
}

// SignalRequest describes a signal to an execution. A second signal with the same ID has no effect. If
// ID is empty, each call sends a new signal.
type SignalRequest struct {
	Name  string          `json:"signalName"`
	Value json.RawMessage `json:"signalValue,omitempty"`
	ID    string          `json:"signalId,omitempty"`

	// Ref, if set, replaces Value. It refers to content that was uploaded with PutContent.
	Ref *ContentRef `json:"signalValueRef,omitempty"`
}

// ContentRef refers to content that was uploaded with PutContent.
type ContentRef struct {
	BlobID uuid.UUID `json:"blobId"`
}

// UserMessage returns a signal that carries a message of the user.
func UserMessage(text string) SignalRequest {
	value, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err) // unreachable: a string can always be encoded
	}
	return SignalRequest{Name: perdure.UserMessage, Value: value}
}

// ChooseModel returns a signal that chooses the model of a react agent from its next turn on.
func ChooseModel(c perdure.ModelChoice) SignalRequest {
	value, err := json.Marshal(c)
	if err != nil {
		panic(err) // unreachable: strings can always be encoded
	}
	return SignalRequest{Name: perdure.ModelSignal, Value: value}
}

// SignalReply contains the id of the stored signal and the status of the execution.
type SignalReply struct {
	SignalID string         `json:"signalId"`
	Status   perdure.Status `json:"status"`
	// Unexpected reports that the execution's kind has registered its signals, and that none of
	// them has the name of the sent signal. The sent signal is stored nevertheless.
	Unexpected bool `json:"unexpected,omitempty"`
	// Stopped is set by Interrupt. It reports whether there was a turn to stop.
	Stopped bool `json:"stopped,omitempty"`
}

// largestInPlace is the maximum size in bytes of a value that Signal sends in the body of the request.
// A body may have at most 8 MiB.
const largestInPlace = 4 << 20

// Signal sends a signal. It uploads a large value first with PutContent. Errors: invalid_argument,
// not_found, execution_ended, payload_too_large.
func (c *Client) Signal(ctx context.Context, id uuid.UUID, r SignalRequest) (SignalReply, error) {
	var reply SignalReply
	if len(r.Value) > largestInPlace {
		ref, err := c.PutContent(ctx, id, int64(len(r.Value)), bytes.NewReader(r.Value))
		if err != nil {
			return reply, err
		}
		r.Value, r.Ref = nil, &ContentRef{BlobID: ref.ID}
	}
	err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, id.String(), "signal"}, body: r}, &reply)
	return reply, err
}

// CompactRequest requests a compaction of a conversation.
type CompactRequest struct {
	// Instructions are added to the prompt that requests the summary.
	Instructions string `json:"instructions,omitempty"`

	// IdempotencyKey identifies the request for 24 hours. A repeat of the request has no effect.
	IdempotencyKey string `json:"-"`
}

// Compact asks a react agent to compact its conversation as soon as no turn is running: the model
// then sees a summary instead of the older messages. Errors: invalid_argument, not_found, conflict
// (the execution is of another kind), execution_ended, idempotency_key_reused.
func (c *Client) Compact(ctx context.Context, id uuid.UUID, r CompactRequest) (SignalReply, error) {
	header := http.Header{}
	if r.IdempotencyKey != "" {
		header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	var reply SignalReply
	err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, id.String(), "compact"}, header: header, body: r}, &reply)
	return reply, err
}

// Interrupt stops the current turn of an execution: its model call and its tools are cancelled, and the
// execution waits for its user. SignalReply.Stopped reports whether there was a turn to stop; if there
// was none, nothing changes. Errors: invalid_argument (also for a kind that has no turns), not_found.
func (c *Client) Interrupt(ctx context.Context, id uuid.UUID, r perdure.Interrupt) (SignalReply, error) {
	var reply SignalReply
	err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, id.String(), "interrupt"}, body: r}, &reply)
	return reply, err
}

// Cancel requests the end of an execution and returns the execution's current state. A running
// execution becomes CANCELLING first; an execution that has ended does not change. Errors: not_found.
func (c *Client) Cancel(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	var x perdure.Execution
	if err := c.call(ctx, request{method: http.MethodDelete, path: []string{executions, id.String()}}, &x); err != nil {
		return nil, err
	}
	return &x, nil
}

// Promote copies the content of a LOCAL execution from its worker to the server and makes the
// execution REMOTE. It returns when the copy is complete. After an error it can be called again;
// content that was already copied stays on the server. Errors: not_found, conflict (the execution
// does not wait for a signal), unavailable (its worker is not connected).
func (c *Client) Promote(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	var x perdure.Execution
	if err := c.call(ctx, request{method: http.MethodPost, path: []string{executions, id.String(), "promote"}}, &x); err != nil {
		return nil, err
	}
	return &x, nil
}
