package kinds

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// modelCheck returns the function that checks the value of a ModelSignal: the value must name a
// model of the execution. modelCheck returns no function if the execution is not of the react
// agent, or does not exist. If only the worker has the execution's input, the returned function
// accepts every model; the agent then ignores a model that is not in the input.
func (k *Kinds) modelCheck(ctx context.Context, org string, execution uuid.UUID) (func(json.RawMessage) error, error) {
	kind, err := k.of(ctx, org, execution)
	if err != nil || kind != perdure.ReactKind {
		return nil, ignoring(err, perdure.NotFound)
	}
	models, known, err := k.modelsOf(ctx, org, execution)
	if err != nil {
		return nil, ignoring(err, perdure.NotFound)
	}
	return func(value json.RawMessage) error {
		c, err := perdure.ParseModelChoice("signalValue", value)
		if err != nil || !known {
			return err
		}
		return c.CheckAmong("signalValue", models)
	}, nil
}

// modelsOf returns the models in the input of an execution of the react agent. The result `known`
// is false if the server does not have the input.
func (k *Kinds) modelsOf(ctx context.Context, org string, execution uuid.UUID) (models []perdure.ModelConfig, known bool, err error) {
	x, err := k.refs.Execution(ctx, org, execution)
	if err != nil {
		return nil, false, err
	}
	var in struct {
		Models []perdure.ModelConfig `json:"models"`
	}
	decode := func(r io.Reader) error {
		if err := json.NewDecoder(r).Decode(&in); err != nil {
			return &perdure.Error{Code: perdure.Internal, Message: "a stored input does not decode", Err: err}
		}
		return nil
	}
	switch {
	case x.InputBlob != nil:
		err = k.uploads.Read(ctx, org, execution, *x.InputBlob, decode)
	case len(x.Input) > 0:
		err = json.Unmarshal(x.Input, &in)
	}
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, false, nil // only the execution's worker has the input
	}
	return in.Models, len(in.Models) > 0, err
}
