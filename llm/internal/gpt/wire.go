package gpt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// Abilities are the abilities that both APIs of OpenAI have: Chat Completions and Responses.
var Abilities = []llm.Ability{llm.AbleToChooseTools, llm.AbleToCallOneTool, llm.AbleToFormat, llm.AbleToSayObject}

// Post sends a request to a path of the API and returns the events of the response. If the request
// or the response fails, the events end with the error.
func Post[E any](ctx context.Context, c *adapter.Call, path string, request any) adapter.Events[E] {
	base, err := url.Parse(c.To.BaseURL)
	if err != nil {
		return adapter.Failed[E](c.Unusable(err))
	}
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	out.SetEscapeHTML(false)
	if err := out.Encode(request); err != nil { // a schema is invalid JSON
		return adapter.Failed[E](&llm.Error{Kind: llm.InvalidRequest, Provider: c.API.Name, Message: "the request cannot be written", Err: err})
	}
	header := http.Header{"Accept": {"application/json"}}
	if c.To.Key != "" {
		header.Set("Authorization", "Bearer "+c.To.Key)
	}
	return adapter.Post(ctx, c, base.JoinPath(path).String(), header, body.Bytes(), decode[E])
}

// decode decodes an event. It ignores members of an unexpected type, which compatible servers may
// send.
func decode[E any](data []byte) (event E, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return event, io.EOF
	}
	var failed struct{ Error json.RawMessage }
	if json.Unmarshal(data, &failed) == nil && len(failed.Error) > 0 {
		return event, &adapter.EventError{Data: data}
	}
	err = json.Unmarshal(data, &event)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		err = nil
	}
	return event, err
}

// JSONSchema is a JSON Schema together with its name.
type JSONSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

// SchemaOf returns the JSON Schema of an output format.
func SchemaOf(f *perdure.OutputFormat) *JSONSchema {
	return &JSONSchema{Name: f.Name, Description: f.Description, Strict: f.Strict, Schema: f.Schema}
}

// Function describes a tool for the model.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}
