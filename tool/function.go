package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/perdure/perdure"
)

// Option is an option of New, which sets fields of the Tool.
type Option func(*Tool)

// WithOnLost sets what happens to a call if its worker is lost during the call. The default of New is
// OnLostReport, which is right for tools with side effects.
func WithOnLost(o perdure.OnLost) Option { return func(t *Tool) { t.OnLost = o } }

// WithBarrier marks the tool as a barrier. A call of it runs alone: after the calls that precede it in the
// same message, and before those that follow it.
func WithBarrier() Option { return func(t *Tool) { t.Barrier = true } }

// WithTimeout sets the maximum duration of one attempt of a call.
func WithTimeout(d time.Duration) Option { return func(t *Tool) { t.Timeout = d } }

// WithReadOnly marks a tool whose calls change nothing.
func WithReadOnly() Option { return func(t *Tool) { t.ReadOnly = true } }

// WithNetwork marks a tool whose calls may use the network.
func WithNetwork() Option { return func(t *Tool) { t.Network = true } }

// New creates a tool from the function fn. The type In of its arguments is a struct, or a map with string
// keys. The schema is derived from In: field names come from json tags, and a field without omitempty is
// required. Unknown fields are refused. Descriptions come from jsonschema and jsonschema_description tags.
//
// The function fn is called only with arguments that satisfy the schema. Other arguments become an error
// result that names the invalid field.
//
// New panics if the schema of In is not of type object, or if In refers to itself at the top level. Both
// are programming errors.
func New[In any](name, description string, fn func(ctx context.Context, call *Call, in In) (Result, error), opts ...Option) Tool {
	schema := schemaOf(reflect.TypeFor[In]())
	compiled, err := compile(schema)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	t := Tool{
		Name: name, Description: description, Schema: schema,
		OnLost: perdure.OnLostReport, compiled: compiled,
	}
	for _, opt := range opts {
		opt(&t)
	}
	t.Run = func(ctx context.Context, call *Call) (Result, error) {
		if bad := compiled.check(call.Arguments); bad != nil {
			return *bad, nil
		}
		var in In
		if err := json.Unmarshal(orEmpty(call.Arguments), &in); err != nil {
			return Errorf("The arguments do not fit: %v.", err), nil
		}
		return fn(ctx, call, in)
	}
	return t
}

func schemaOf(t reflect.Type) json.RawMessage {
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true}
	raw, err := json.Marshal(r.ReflectFromType(t))
	if err != nil {
		panic(fmt.Sprintf("tool: schema of %v: %v", t, err))
	}
	return raw
}

// orEmpty returns raw, or {} if raw is empty: providers send empty text for a call without arguments.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
