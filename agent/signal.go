package agent

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
)

// SignalKind is a kind of signal that an agent takes, with the type T of its value. DefineSignal
// creates it.
type SignalKind[T any] struct {
	spec perdure.SignalSpec
}

// DefineSignal creates a kind of signal with a name and the type of its value. The JSON Schema of the
// value is derived from T. Definition.Signals registers the kind with an agent that takes such signals.
func DefineSignal[T any](name string) SignalKind[T] {
	return SignalKind[T]{perdure.SignalSpec{Name: name, Schema: Schema[T]()}}
}

// Describe returns a copy with a description for people who send the signal.
func (k SignalKind[T]) Describe(text string) SignalKind[T] {
	k.spec.Description = text
	return k
}

// Name returns the name of the signal.
func (k SignalKind[T]) Name() string { return k.spec.Name }

// Spec returns the signal as the worker registers it.
func (k SignalKind[T]) Spec() perdure.SignalSpec {
	k.spec.Schema = append(json.RawMessage(nil), k.spec.Schema...)
	return k.spec
}

// Wait blocks until a signal with the name of this kind is pending, takes the signal, and returns
// its decoded value. If a positive `timeout` passes first, Wait returns ErrTimeout.
func (k SignalKind[T]) Wait(ctx Context, timeout time.Duration) (T, error) {
	s, err := ctx.WaitSignal(k.spec.Name, timeout)
	if err != nil {
		var zero T
		return zero, err
	}
	return k.Value(s)
}

// On returns a condition for WaitAny that is met by a signal with the name of this kind. Value
// decodes the signal that met the condition.
func (k SignalKind[T]) On() Condition { return OnSignal(k.spec.Name) }

// Value decodes the value of a signal. If the value has another type than T, the error is
// invalid_argument and names the signal.
func (k SignalKind[T]) Value(s perdure.Signal) (T, error) {
	var value T
	if err := unmarshal(s.Value, &value); err != nil {
		return value, perdure.Errorf(perdure.InvalidArgument, "the value of signal %s: %v", s.Name, err)
	}
	return value, nil
}

// SignalSpecs is implemented by SignalKind[T] for every T, so that kinds with different types can
// be passed to Definition.Signals together.
type SignalSpecs interface {
	Spec() perdure.SignalSpec
}

// Signals returns a copy of the definition that registers kinds of signals with the agent. The server
// refuses a signal whose value does not fit the schema. It accepts a signal with an unregistered name,
// and reports it to the sender as unexpected.
func (d Definition) Signals(kinds ...SignalSpecs) Definition {
	d.Spec.Signals = append([]perdure.SignalSpec(nil), d.Spec.Signals...)
	for _, k := range kinds {
		d.Spec.Signals = append(d.Spec.Signals, k.Spec())
	}
	return d
}
