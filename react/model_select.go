package react

import (
	"slices"

	"github.com/perdure/perdure"
)

// choose returns the model for the next turn. If a person has chosen a model, and the settings of
// the response contain it, that model is used. Error: invalid_argument if no model is configured,
// or if Select returns a model that is not configured.
func (l *loop) choose() (perdure.ModelConfig, error) {
	models := l.asked().Models
	if len(models) == 0 {
		return perdure.ModelConfig{}, perdure.FieldErrorf("models", "are none: there is nothing to ask")
	}
	if l.st.Model != nil {
		if m, ok := l.st.Model.Of(models); ok {
			return m, nil
		}
	}
	if l.c.Select == nil {
		return models[0], nil
	}
	chosen := l.c.Select(Turn{
		Index: l.st.TurnIndex, OfResponse: l.st.ResponseTurns, Models: slices.Clone(models), UsageByModel: l.st.UsageByModel,
	})
	if !slices.Contains(models, chosen) {
		return chosen, perdure.FieldErrorf("models", "the model choice gave %s, which is not among the configured models", chosen)
	}
	return chosen, nil
}

// takeModel takes all pending signals with which people choose a model. The newest signal applies.
func (l *loop) takeModel() error {
	there, err := l.ctx.HasSignal(perdure.ModelSignal)
	if err != nil || !there {
		return err
	}
	signals, err := l.ctx.DrainSignals(perdure.ModelSignal)
	for _, s := range signals {
		l.prefer(s)
	}
	return err
}

// prefer stores the model that a person has chosen in the loop's state. It ignores an invalid
// signal, which older servers did not refuse.
func (l *loop) prefer(s perdure.Signal) {
	if c, err := perdure.ParseModelChoice("signalValue", s.Value); err == nil {
		l.st.Model = &c
	}
}
