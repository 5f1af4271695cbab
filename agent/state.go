package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// Versioned is the type T of an agent's state together with its version number, so that the type can
// change over time. The version is stored in the checkpoint's metadata, so the stored state is the
// plain JSON of T.
type Versioned[T any] struct {
	version    int
	migrations map[int]Migration
}

// Migration converts states of one version to the next version.
type Migration struct {
	from int
	do   func(json.RawMessage) (json.RawMessage, error)
}

// Migrate returns a migration that converts states from the given version to the next one.
func Migrate[Old, New any](from int, fn func(Old) (New, error)) Migration {
	return Migration{from: from, do: func(raw json.RawMessage) (json.RawMessage, error) {
		var old Old
		if err := json.Unmarshal(raw, &old); err != nil {
			return nil, err
		}
		next, err := fn(old)
		if err != nil {
			return nil, err
		}
		return json.Marshal(next)
	}}
}

// DefineState declares that the state of an agent has the type T and the given version. Versions begin
// at 1. Migrations convert older states, one version at a time. A state that was saved without a
// version has version 0; without a migration from 0, it is treated as version 1.
//
// DefineState panics after programming errors: if the version is less than 1, if a version from 1 on
// has no migration to the next one, if two migrations begin at the same version, or if a migration is
// not needed.
func DefineState[T any](version int, migrations ...Migration) Versioned[T] {
	v := Versioned[T]{version: version, migrations: map[int]Migration{}}
	for _, m := range migrations {
		if _, twice := v.migrations[m.from]; twice || m.from < 0 || m.from >= version {
			panic(fmt.Sprintf("agent: a second migration from state version %d, or one that state version %d has no use for", m.from, version))
		}
		v.migrations[m.from] = m
	}
	for from := 1; from < version; from++ {
		if _, ok := v.migrations[from]; !ok {
			panic(fmt.Sprintf("agent: state version %d has no migration from version %d", version, from))
		}
	}
	if version < 1 {
		panic("agent: the versions of a state count from 1")
	}
	return v
}

// ErrNewerState is wrapped by the error of Load if a newer version of the agent has saved the state. If
// an agent returns such an error, the worker releases the execution, so that a worker with the newer
// version can continue it.
var ErrNewerState = errors.New("the state is newer than this worker")

// Load returns the state of the newest checkpoint, and reports whether there is a checkpoint.
// Errors: invalid_argument if the state cannot be decoded or a migration fails; an error that wraps
// ErrNewerState.
func (v Versioned[T]) Load(ctx Context) (T, bool, error) {
	var state T
	var raw json.RawMessage
	known, err := ctx.State(&raw)
	if !known || err != nil {
		return state, known, err
	}
	version := ctx.StateVersion()
	if version > v.version {
		failure := perdure.Errorf(perdure.InvalidArgument,
			"the checkpoint's state has version %d, and this worker knows versions up to %d; run a worker with the version of the agent that saved it, or a newer one", version, v.version)
		failure.Err = ErrNewerState
		return state, true, failure
	}
	if raw, err = v.migrate(raw, version); err != nil {
		return state, true, err
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return state, true, perdure.FieldErrorf("state", "of version %d does not decode: %v", version, err)
	}
	return state, true, nil
}

// migrate converts a state from the given version to v's version.
func (v Versioned[T]) migrate(raw json.RawMessage, version int) (json.RawMessage, error) {
	for ; version < v.version; version++ {
		m, ok := v.migrations[version]
		if !ok {
			continue // without a migration, version 0 equals version 1
		}
		next, err := m.do(raw)
		if err != nil {
			return nil, perdure.FieldErrorf("state", "of version %d does not become version %d: %v", version, version+1, err)
		}
		raw = next
	}
	return raw, nil
}

// Save creates a checkpoint of the state with v's version. It blocks like Checkpoint.
func (v Versioned[T]) Save(ctx Context, state T, opts ...CheckpointOption) error {
	return ctx.Checkpoint(state, append(opts[:len(opts):len(opts)], StateVersion(v.version))...)
}
