package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

type unable struct{}

func (unable) Name() string { return "unable" }

func (unable) Stream(context.Context, llm.Request, func(llm.Delta) error) (*llm.Response, error) {
	return nil, nil
}

// TestRequestsBeyondAProviderAreRefused checks, for each ability, that CheckRequest refuses a
// request that needs the ability if the provider lacks it. The error is not retryable. The tool
// choice "auto" needs no ability.
func TestRequestsBeyondAProviderAreRefused(t *testing.T) {
	no := false
	for name, r := range map[string]llm.Request{
		"tool choice": {ToolChoice: perdure.ToolChoiceNone},
		"one call":    {ParallelToolCalls: &no},
		"format":      {Format: &perdure.OutputFormat{Schema: json.RawMessage(`{}`)}},
		"object":      {Format: &perdure.OutputFormat{}},
	} {
		var failed *llm.Error
		if err := llm.CheckRequest(unable{}, r); !errors.As(err, &failed) || failed.Retryable {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := llm.CheckRequest(unable{}, llm.Request{ToolChoice: perdure.ToolChoiceAuto}); err != nil {
		t.Error(err)
	}
}
