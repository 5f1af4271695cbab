package perdure

import (
	"slices"
	"strings"
)

// ModelSignal is the name of the signal that chooses the model of a react agent, from its next turn
// on. Its value is a [ModelChoice]. Agents of other kinds may use the name for signals of their own.
const ModelSignal = "model"

// ModelChoice is the value of a ModelSignal. It names one of the models with which the execution was
// configured.
type ModelChoice struct {
	Provider string `json:"provider"`
	ModelID  string `json:"modelId"`
}

func (c ModelChoice) String() string { return c.Provider + "/" + c.ModelID }

// Of returns the first of the models that the choice names; ok is false if it names none.
func (c ModelChoice) Of(models []ModelConfig) (m ModelConfig, ok bool) {
	i := slices.IndexFunc(models, func(m ModelConfig) bool { return m.Provider == c.Provider && m.ModelID == c.ModelID })
	if i < 0 {
		return ModelConfig{}, false
	}
	return models[i], true
}

// ParseModelChoice parses the value of a ModelSignal and checks it, apart from the models of the
// execution. The error is invalid_argument and names the member under field.
func ParseModelChoice(field string, value []byte) (ModelChoice, error) {
	var c ModelChoice
	if !strings.HasPrefix(strings.TrimSpace(string(value)), "{") {
		return c, FieldErrorf(field, `of a %s signal must be {"provider": "...", "modelId": "..."}`, ModelSignal)
	}
	if err := DecodeExactly(field, value, &c); err != nil {
		return c, err
	}
	if c.Provider == "" {
		return c, FieldErrorf(field+".provider", "is missing")
	}
	if len(c.Provider) > MaxModelID {
		return c, FieldErrorf(field+".provider", "has %d bytes; the maximum is %d", len(c.Provider), MaxModelID)
	}
	return c, ModelConfig{Provider: c.Provider, ModelID: c.ModelID}.CheckModelID(field + ".")
}

// CheckAmong checks that the choice names one of the models. The error is invalid_argument, names the
// member under field, and lists the models.
func (c ModelChoice) CheckAmong(field string, models []ModelConfig) error {
	if _, ok := c.Of(models); ok {
		return nil
	}
	var names []string
	for _, m := range models {
		names = append(names, m.String())
	}
	return FieldErrorf(field, "%s is not among the models of the execution; they are: %s", c, strings.Join(names, ", "))
}
