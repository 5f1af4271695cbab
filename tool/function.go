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

// Option changes a tool made by New.
type Option func(*Tool)

// WithOnLost sets what becomes of a call whose worker is lost. New's default is
// OnLostReport, right for whatever may have taken effect.
func WithOnLost(o perdure.OnLost) Option { return func(t *Tool) { t.OnLost = o } }

// WithBarrier makes the tool a barrier: it runs alone, in call order.
func WithBarrier() Option { return func(t *Tool) { t.Barrier = true } }

// WithTimeout bounds one attempt.
func WithTimeout(d time.Duration) Option { return func(t *Tool) { t.Timeout = d } }

// New creates a tool of a function. In is a struct (or a map with string keys);
// the schema comes from its type: field names from json tags, a field without
// omitempty is required, unknown fields are refused, and descriptions come from
// jsonschema and jsonschema_description tags. fn is called only with arguments
// that satisfy the schema; others become a result that names the field.
//
// New panics if In has no schema of type object, or refers to itself at the
// top: both are mistakes of the program.
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

// orEmpty reads no text at all as an empty object: providers send that for a
// call without arguments.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
