package llm

import (
	"strings"

	"github.com/perdure/perdure"
)

// Model identifies a model of a provider. It is written as provider/modelId; the id may contain
// slashes.
type Model struct{ Provider, ID string }

// ParseModel parses the form provider/modelId. The provider ends at the first slash. Errors:
// invalid_argument.
func ParseModel(s string) (Model, error) {
	provider, id, found := strings.Cut(s, "/")
	if !found || provider == "" || id == "" {
		return Model{}, perdure.FieldErrorf("model", "%q must be written provider/modelId", s)
	}
	return Model{Provider: provider, ID: id}, nil
}

func (m Model) String() string { return m.Provider + "/" + m.ID }
