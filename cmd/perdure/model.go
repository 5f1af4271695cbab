package main

import (
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// defaultModels are tried in this order if no model is configured. The first whose key variable is
// set is used.
var defaultModels = []struct{ keyVar, model string }{
	{"ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5-5"},
	{"OPENAI_API_KEY", "openai/gpt-5.4"},
	{"GEMINI_API_KEY", "gemini/gemini-3-flash-preview"},
	{"GOOGLE_API_KEY", "gemini/gemini-3-flash-preview"},
}

const howToName = "models are written provider/model, like anthropic/claude-sonnet-5-5, openai/gpt-5.4 or gemini/gemini-3-flash-preview"

// parseModels parses the values of --model; it returns nil if there are none.
func parseModels(given []string) ([]perdure.ModelConfig, error) {
	var models []perdure.ModelConfig
	for _, text := range given {
		provider, id, ok := strings.Cut(text, "/")
		if !ok || provider == "" || id == "" {
			return nil, usageError{"--model " + text + " names no model", howToName}
		}
		models = append(models, perdure.ModelConfig{Provider: provider, ModelID: id})
	}
	return models, nil
}

// defaultModel chooses a model by the keys in the environment.
func defaultModel() ([]perdure.ModelConfig, error) {
	for _, d := range defaultModels {
		if os.Getenv(d.keyVar) != "" {
			return parseModels([]string{d.model})
		}
	}
	return nil, usageError{
		"there is no model to ask",
		"set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a model with --model or PERDURE_MODEL\n" + howToName,
	}
}

// checkProviders refuses a provider that no worker has.
func (s *standard) checkProviders(models []perdure.ModelConfig) error {
	providers, err := s.providers()
	if err != nil {
		return err
	}
	for _, m := range models {
		if known := providers.Names(); !slices.Contains(known, m.Provider) {
			return usageError{"there is no provider " + m.Provider, "the providers are: " + strings.Join(known, ", ") + "; " + howToName}
		}
	}
	return nil
}

// checkModels refuses, before a run is created, models that this process's own worker could not
// call.
func (s *standard) checkModels(models []perdure.ModelConfig) error {
	if err := s.checkProviders(models); err != nil {
		return err
	}
	endpoints, err := s.endpoints()
	if err != nil {
		return err
	}
	for _, m := range models {
		if err := checkKey(endpoints, m); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(endpoints *llm.Endpoints, m perdure.ModelConfig) error {
	if m.Provider == "scripted" {
		return nil
	}
	e, err := endpoints.Resolve(m.Provider, m.BaseURL, m.APIKeyEnv)
	if err != nil {
		return usageError{"the model " + m.String() + " cannot be called from here: " + plainError(err), "allow its endpoint with --allow-endpoint URL=KEYVAR"}
	}
	if e.KeyEnv != "" && strings.TrimSpace(os.Getenv(e.KeyEnv)) == "" {
		return usageError{"there is no key for " + m.String(), "set " + e.KeyEnv + ", or name another model with --model"}
	}
	return nil
}
