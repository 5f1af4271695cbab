package perdure

import (
	"slices"
	"strings"
)

// ModelSignal is the name of the signal that chooses the model of a react agent. The choice applies
// from the next turn on. The signal's value is a [ModelChoice]. Agents of other kinds may use this
// name for other signals.
const ModelSignal = "model"

// ModelChoice is the value of a ModelSignal. It names one of the models in the execution's
// configuration.
type ModelChoice struct {
	Provider string `json:"provider"`
	ModelID  string `json:"modelId"`
}

func (c ModelChoice) String() string { return c.Provider + "/" + c.ModelID }

// Of returns the first of the models that matches the choice; ok is false if none does.
func (c ModelChoice) Of(models []ModelConfig) (m ModelConfig, ok bool) {
	i := slices.IndexFunc(models, func(m ModelConfig) bool { return m.Provider == c.Provider && m.ModelID == c.ModelID })
	if i < 0 {
		return ModelConfig{}, false
	}
	return models[i], true
}

// ParseModelChoice parses and checks the value of a ModelSignal. It does not check whether the
// execution has the model; see CheckAmong. The error is invalid_argument. The field path in the
// error begins with `field`.
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

// CheckAmong checks that the choice names one of the models. The error is invalid_argument and
// lists the models. The field path in the error begins with `field`.
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
