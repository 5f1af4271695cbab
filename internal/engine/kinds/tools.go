package kinds

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
)

// MisfitArguments checks the arguments of a call against the schema of the tool. The result
// `misfit` says why the arguments do not fit; it is nil if they fit, or if no worker has registered
// a schema of the tool.
func (k *Kinds) MisfitArguments(ctx context.Context, org, tool string, arguments json.RawMessage) (misfit, err error) {
	kinds, err := k.store.Kinds(ctx, org)
	if err != nil {
		return nil, err
	}
	for _, known := range kinds {
		if !known.Agent && known.Spec.Kind == tool && known.Spec.InputSchema != nil {
			compiled, err := k.Schemas.cache.Compile(known.Spec.InputSchema)
			if err != nil {
				return nil, &perdure.Error{Code: perdure.Internal, Message: "the schema of tool " + tool + " does not compile", Err: err}
			}
			return compiled.Check("details", arguments), nil
		}
	}
	return nil, nil
}
