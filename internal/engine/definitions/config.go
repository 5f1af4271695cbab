package definitions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// MaxMetadata is the maximum size of the metadata of an execution or a definition, in bytes.
const MaxMetadata = 16 << 10

// CheckModels checks the models of a definition or a start. The error names the invalid model by
// its index.
func CheckModels(models []perdure.ModelConfig, providers []string) error {
	if len(models) > perdure.MaxModels {
		return perdure.FieldErrorf("models", "has %d models; the maximum is %d", len(models), perdure.MaxModels)
	}
	for n, m := range models {
		at := fmt.Sprintf("models[%d]", n)
		if !slices.Contains(providers, m.Provider) {
			return perdure.FieldErrorf(at+".provider", "%q is no known provider; known are: %s", m.Provider, strings.Join(providers, ", "))
		}
		if err := m.CheckModelID(at + "."); err != nil {
			return err
		}
		if err := m.CheckEndpoint(at + "."); err != nil {
			return err
		}
	}
	return nil
}

// CheckAgentConfig checks the settings of an agent.
func CheckAgentConfig(c perdure.AgentConfig) error {
	switch {
	case c.MaxTurns != nil && *c.MaxTurns < 1:
		return perdure.FieldErrorf("config.maxTurns", "must be at least 1")
	case c.MaxTokens != nil && *c.MaxTokens < 1:
		return perdure.FieldErrorf("config.maxTokens", "must be at least 1")
	case c.Temperature != nil && (*c.Temperature < 0 || *c.Temperature > 2):
		return perdure.FieldErrorf("config.temperature", "must be from 0 to 2")
	}
	if err := c.CheckThinking(); err != nil {
		return err
	}
	if err := c.CheckCompaction(); err != nil {
		return err
	}
	return c.CheckNet()
}
