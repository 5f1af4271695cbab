// Package pick finds executions and tasks for commands that name no execution: pending work, which
// workers claim, and work that is due.
package pick

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const defaultPickLimit = 100

// Pick finds the candidates (executions or tasks) on which commands with equal picks (see
// [store.Pick]) decide. It reads partial indexes that contain little besides these candidates.
func Pick(v statement.View, pickers []*Picker, now perdure.Time) error {
	switch p := pickers[0].Pick; p.Kind {
	case store.PickAgents:
		return pickAgents(v, pickers, now)
	case store.PickTasks:
		return pickTasks(v, pickers, now)
	case store.PickAttempts:
		now = now.Add(-p.Grace)
	}
	for _, p := range pickers {
		if err := p.due(v, now); err != nil {
			return err
		}
	}
	return nil
}

func (p *Picker) due(v statement.View, now perdure.Time) error {
	query, ok := v.Dialect.Due[p.Pick.Kind]
	if !ok {
		return fmt.Errorf("there is no pick of kind %d", p.Pick.Kind)
	}
	args := []any{p.Org, column.Millis(now), p.left}
	if p.Pick.Kind == store.PickQuestions {
		args = append(args, column.Millis(p.Pick.AskedSince))
	}
	return v.Each(query, args, func(row func(...any) error) error {
		var c Candidate
		err := row(&c.Execution, column.OptIDInto(&c.Task))
		p.Got = append(p.Got, c)
		return err
	})
}
