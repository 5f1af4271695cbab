package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/lru"
	"github.com/perdure/perdure/internal/store"
)

// signalKinds combines the registrations of one signal name by the workers of an agent.
type signalKinds struct {
	unexpected bool // the kind has registered its signals, and none of this name
	any        bool // every value is accepted
	// check, if set, is the server's own check of a value.
	check   func(json.RawMessage) error
	schemas []json.RawMessage
}

// signalKinds returns what workers have registered about the signals of a name for the kind of the
// execution. Signals that the server itself defines have their own checks. For an execution that does
// not exist it returns the zero value: the decision refuses the signal.
func (e *Engine) signalKinds(ctx context.Context, org string, execution uuid.UUID, name string) (signalKinds, error) {
	if name == perdure.UserMessage || strings.HasPrefix(name, "perdure.") {
		return signalKinds{any: true}, nil
	}
	if name == perdure.ModelSignal {
		check, err := e.modelCheck(ctx, org, execution)
		if check != nil || err != nil {
			return signalKinds{any: true, check: check}, err
		}
	}
	kind, err := e.kindOf(ctx, org, execution)
	if perdure.IsCode(err, perdure.NotFound) {
		return signalKinds{any: true}, nil
	}
	if err != nil {
		return signalKinds{}, err
	}
	known, err := e.storedKind(ctx, org, kind)
	if perdure.IsCode(err, perdure.NotFound) {
		return signalKinds{any: true}, nil
	}
	if err != nil {
		return signalKinds{}, err
	}
	return signalKindsOf(known.Signals, name), nil
}

// checkSignalSpecs checks the signals of a registered kind. Error: invalid_argument.
func (e *Engine) checkSignalSpecs(field string, spec perdure.KindSpec) error {
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
		if err := e.checkSchemaOf(at+".schema", spec.Kind, s.Schema); err != nil {
			return err
		}
		if size += s.Size(); size > perdure.MaxSignalSpecBytes {
			return perdure.FieldErrorf(field, "of %s have over %d bytes; make the schemas smaller", spec.Kind, perdure.MaxSignalSpecBytes)
		}
	}
	return nil
}

func signalKindsOf(signals []store.KindSignal, name string) signalKinds {
	if len(signals) == 0 {
		return signalKinds{any: true}
	}
	k := signalKinds{unexpected: true}
	for _, s := range signals {
		if !perdure.MatchName(s.Name, name) {
			continue
		}
		k.unexpected = false
		if len(s.Schema) == 0 {
			k.any = true
		}
		k.schemas = append(k.schemas, s.Schema)
	}
	return k
}

// misfit returns nil if the value fits at least one of the schemas, or the error of the newest.
func (e *Engine) misfit(k signalKinds, value json.RawMessage) error {
	if k.any {
		return nil
	}
	var first error
	for _, s := range k.schemas {
		err := e.schemas.check("signalValue", perdure.KindSpec{InputSchema: s}, value)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// executionKinds caches the kinds of executions, which never change.
type executionKinds struct {
	mu   sync.Mutex
	kind lru.Map[executionOfOrg, string]
}

type executionOfOrg struct {
	org       string
	execution uuid.UUID
}

// maxExecutionKinds is the maximum number of executions in an executionKinds.
const maxExecutionKinds = 10_000

func (e *Engine) kindOf(ctx context.Context, org string, execution uuid.UUID) (string, error) {
	c, key := &e.kinds, executionOfOrg{org, execution}
	c.mu.Lock()
	kind := c.kind.Get(key)
	c.mu.Unlock()
	if kind != "" {
		return kind, nil
	}
	x, err := e.refs.Execution(ctx, org, execution)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kind.Put(key, x.Kind)
	for c.kind.Len() > maxExecutionKinds {
		c.kind.RemoveOldest()
	}
	return x.Kind, nil
}
