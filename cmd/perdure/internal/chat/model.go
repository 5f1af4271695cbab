package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/editor"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// model handles /model: it lists the models of the run, or chooses one of them for the next turns.
func (s *session) model(ctx context.Context, operand string) error {
	s.mu.Lock()
	models, current := s.input.Models, s.modelName()
	s.mu.Unlock()
	if operand == "" {
		lines := []string{"the models of this run (--model of its start):"}
		for _, m := range models {
			mark := "  "
			if m.String() == current {
				mark = "→ "
			}
			lines = append(lines, mark+m.String())
		}
		s.view.note(terminal.StyleNone, strings.Join(lines, "\n"))
		return nil
	}
	provider, id, ok := strings.Cut(operand, "/")
	if !ok {
		return errors.New("a model is named PROVIDER/MODEL; /model lists those of the run")
	}
	choice := perdure.ModelChoice{Provider: provider, ModelID: id}
	if _, ok := choice.Of(models); !ok && len(models) > 0 {
		return s.noModel(choice, models)
	}
	if _, err := s.client().Signal(ctx, s.current(), client.ChooseModel(choice)); err != nil {
		return err
	}
	s.mu.Lock()
	s.choose(&choice)
	s.mu.Unlock()
	s.showStatus()
	s.view.note(terminal.StyleDim, "the next turn asks "+choice.String())
	return nil
}

// choose records the model that the user has chosen for the run. New runs of the chat also use this
// model. The caller has locked mu.
func (s *session) choose(c *perdure.ModelChoice) {
	s.chosen = c
	if c == nil {
		return
	}
	if m, ok := c.Of(s.input.Models); ok {
		s.preferred = modelsFrom(m, s.input.Models)
	}
}

// modelsFrom returns a list of models: `first` at the beginning, then the other models.
func modelsFrom(first perdure.ModelConfig, models []perdure.ModelConfig) []perdure.ModelConfig {
	all := []perdure.ModelConfig{first}
	for _, m := range models {
		if m.String() != first.String() && len(all) < perdure.MaxModels {
			all = append(all, m)
		}
	}
	return all
}

// startRequest returns the settings of a new run. They are the command's settings, but if the user
// has chosen a model in the chat, that model is the first one. If the command names no models, the
// new run has the models of the previous run. The result `chosen` is the name of the chosen model.
// It is "" if the user has chosen none, or if that model would be the first one without the choice.
func (s *session) startRequest() (q client.StartRequest, chosen string, err error) {
	if s.options.Start == nil {
		return q, "", errors.New("this chat continues a run; perdure chat starts another one")
	}
	s.mu.Lock()
	preferred, models := s.preferred, s.input.Models
	s.mu.Unlock()
	if q, err = s.options.Start.NewRequest(models); err != nil {
		return q, "", err
	}
	if len(preferred) == 0 || len(q.Models) > 0 && q.Models[0].String() == preferred[0].String() {
		return q, "", nil
	}
	first := preferred[0]
	if q.Models == nil { // the run would have the models of its definition
		q.Models = preferred
	}
	if m, ok := (perdure.ModelChoice{Provider: first.Provider, ModelID: first.ModelID}).Of(q.Models); ok {
		first = m
	}
	q.Models = modelsFrom(first, q.Models)
	if s.Server == "" {
		err = s.options.Worker.CheckProviders(q.Models[:1])
	}
	return q, first.String(), err
}

func (s *session) noModel(c perdure.ModelChoice, models []perdure.ModelConfig) error {
	var names []string
	for _, m := range models {
		names = append(names, m.String())
	}
	text := fmt.Sprintf("%s is not among the models of the run: %s", c, strings.Join(names, ", "))
	if near := setup.Nearest(c.String(), names); len(near) > 0 {
		text += "; did you mean " + near[0] + "?"
	}
	return errors.New(text)
}

// modelName returns the name of the model that the next turn calls, "" if it is not known. The caller
// has locked mu.
func (s *session) modelName() string {
	if s.chosen != nil {
		if m, ok := s.chosen.Of(s.input.Models); ok {
			return m.String()
		}
	}
	if len(s.input.Models) == 0 {
		return ""
	}
	return s.input.Models[0].String()
}

// modelCandidates returns the models of the run whose names contain a text.
func (s *session) modelCandidates(word string) []editor.Candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []editor.Candidate
	for _, m := range s.input.Models {
		if strings.Contains(m.String(), word) {
			all = append(all, editor.Candidate{Text: m.String()})
		}
	}
	return all
}
