package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Signal is what the workers of an agent kind have registered about one signal name.
type Signal struct {
	Unexpected bool // the kind has registered signals, but none of this name
	Any        bool // every value is accepted
	// Check, if set, checks a value. It is set only for signals that the server itself defines.
	Check   func(json.RawMessage) error
	schemas []json.RawMessage
}

// Signal returns what the workers of the execution's kind have registered about signals with this
// name. For the signals that the server itself defines, no registration is needed. For an execution
// that does not exist, the result accepts every value, because the command that stores the signal
// then reports the error.
func (k *Kinds) Signal(ctx context.Context, org string, execution uuid.UUID, name string) (Signal, error) {
	if name == perdure.UserMessage || strings.HasPrefix(name, "perdure.") {
		return Signal{Any: true}, nil
	}
	if name == perdure.ModelSignal {
		check, err := k.modelCheck(ctx, org, execution)
		if check != nil || err != nil {
			return Signal{Any: true, Check: check}, err
		}
	}
	kind, err := k.of(ctx, org, execution)
	if perdure.IsCode(err, perdure.NotFound) {
		return Signal{Any: true}, nil
	}
	if err != nil {
		return Signal{}, err
	}
	known, err := k.Stored(ctx, org, kind)
	if perdure.IsCode(err, perdure.NotFound) {
		return Signal{Any: true}, nil
	}
	if err != nil {
		return Signal{}, err
	}
	if kind == perdure.ReactKind && len(known.Signals) == 0 { // the built-in agent registers none
		return Signal{Any: true, Unexpected: name != perdure.RetrySignal && name != perdure.ModelSignal}, nil
	}
	return signalOf(known.Signals, name), nil
}

// checkSignalSpecs checks the signals of a registered kind. Error: invalid_argument.
func (k *Kinds) checkSignalSpecs(field string, spec perdure.KindSpec) error {
	if len(spec.Signals) > perdure.MaxSignalSpecs {
		return perdure.FieldErrorf(field, "of %s are %d; a kind has %d at most", spec.Kind, len(spec.Signals), perdure.MaxSignalSpecs)
	}
	size, names := 0, map[string]bool{}
	for i, s := range spec.Signals {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := perdure.CheckPattern(s.Name); err != nil {
			return perdure.FieldErrorf(at+".name", "%v", err)
		}
		if names[s.Name] {
			return perdure.FieldErrorf(at+".name", "of %s is %s a second time; give each signal once", spec.Kind, s.Name)
		}
		names[s.Name] = true
		if err := k.checkSchemaOf(at+".schema", spec.Kind, s.Schema); err != nil {
			return err
		}
		if size += s.Size(); size > perdure.MaxSignalSpecBytes {
			return perdure.FieldErrorf(field, "of %s have over %d bytes; make the schemas smaller", spec.Kind, perdure.MaxSignalSpecBytes)
		}
	}
	return nil
}

func signalOf(signals []store.KindSignal, name string) Signal {
	if len(signals) == 0 {
		return Signal{Any: true}
	}
	k := Signal{Unexpected: true}
	for _, s := range signals {
		if !perdure.MatchName(s.Name, name) {
			continue
		}
		k.Unexpected = false
		if len(s.Schema) == 0 {
			k.Any = true
		}
		k.schemas = append(k.schemas, s.Schema)
	}
	return k
}

// Misfit returns nil if the value fits at least one of the signal's schemas. Otherwise it returns
// the error of the comparison with the newest schema.
func (k *Kinds) Misfit(s Signal, value json.RawMessage) error {
	if s.Any {
		return nil
	}
	var first error
	for _, registered := range s.schemas {
		err := k.Schemas.Check("signalValue", perdure.KindSpec{InputSchema: registered}, value)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
