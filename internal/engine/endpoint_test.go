package engine

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestEndpointsHoldNoSecret checks that a password in a model's endpoint, and an API key in place
// of the name of a variable, are refused in starts and in definitions. The error does not repeat
// the secret.
func TestEndpointsHoldNoSecret(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ base, key, location string }{
		{"https://me:hunter22@models.example/v1", "", "models[0].baseUrl"},
		{"https://models.example/v1?key=hunter22", "", "models[0].baseUrl"},
		{"https://models.example/v1#hunter22", "", "models[0].baseUrl"},
		{"file:///hunter22", "", "models[0].baseUrl"},
		{"https://me:hunter22 @models.example", "", "models[0].baseUrl"},
		{"", "sk-hunter22", "models[0].apiKeyEnv"},
		{"", "$(cat hunter22)", "models[0].apiKeyEnv"},
		{"", "hunter22\nX", "models[0].apiKeyEnv"},
		{"", "2hunter22", "models[0].apiKeyEnv"},
		{"", strings.Repeat("hunter22", 17), "models[0].apiKeyEnv"},
	} {
		models := []perdure.ModelConfig{{Provider: "scripted", ModelID: "m", BaseURL: c.base, APIKeyEnv: c.key}}
		_, started := b.e.Start(t.Context(), org, StartRequest{Models: models, UserPrompt: "hi"})
		_, created := b.e.Definitions.Create(t.Context(), org, perdure.Definition{Name: "n", Slug: "n", Models: models})
		for what, err := range map[string]error{"a run": started, "a definition": created} {
			coded, ok := err.(*perdure.Error)
			if !ok || coded.Code != perdure.InvalidArgument || len(coded.Fields) != 1 || coded.Fields[0].Location != c.location {
				t.Errorf("%s with %q and %q gives %v, want a refusal of %s", what, c.base, c.key, err, c.location)
			} else if strings.Contains(err.Error(), "hunter22") {
				t.Errorf("%s: the refusal repeats what it refuses: %v", what, err)
			}
		}
	}
	models := []perdure.ModelConfig{{Provider: "scripted", ModelID: "m", BaseURL: "https://models.example/v1", APIKeyEnv: "_Key_2"}}
	if _, err := b.e.Start(t.Context(), org, StartRequest{Models: models, UserPrompt: "hi"}); err != nil {
		t.Errorf("a pair that may be meant: %v", err)
	}
}
