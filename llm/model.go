package llm

import (
	"strings"

	"github.com/perdure/perdure"
)

// Model names a model of a provider, written provider/modelId. The id may hold
// slashes of its own.
type Model struct{ Provider, ID string }

// ParseModel splits s at its first slash. The error is invalid_argument.
func ParseModel(s string) (Model, error) {
	provider, id, found := strings.Cut(s, "/")
	if !found || provider == "" || id == "" {
		return Model{}, perdure.FieldErrorf("model", "%q must be written provider/modelId", s)
	}
	return Model{Provider: provider, ID: id}, nil
}

func (m Model) String() string { return m.Provider + "/" + m.ID }
