package builtin

import (
	"os"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/llm"
)

// ModelSyntax is the hint in error messages about a model's name.
const ModelSyntax = "models are written provider/model, like anthropic/claude-sonnet-5-5, openai/gpt-5.4 or gemini/gemini-3-flash-preview"

// ParseModels parses the values of --model; it returns nil if there are none.
func ParseModels(given []string) ([]perdure.ModelConfig, error) {
	var models []perdure.ModelConfig
	for _, text := range given {
		provider, id, ok := strings.Cut(text, "/")
		if !ok || provider == "" || id == "" {
			return nil, setup.NewUsageError("--model "+text+" names no model", ModelSyntax)
		}
		models = append(models, perdure.ModelConfig{Provider: provider, ModelID: id})
	}
	return models, nil
}

// DefaultModel returns the model to use if the user names none. It depends on which providers have an API
// key in the environment. Error: UsageError, if there is none.
func DefaultModel() ([]perdure.ModelConfig, error) {
	if m, ok := llm.DefaultModel(os.Getenv); ok {
		return []perdure.ModelConfig{m}, nil
	}
	return nil, setup.NewUsageError(
		"there is no model to ask",
		"set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a model with --model or PERDURE_MODEL\n"+ModelSyntax,
	)
}
