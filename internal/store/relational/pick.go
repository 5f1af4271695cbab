package relational

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const defaultPickLimit = 100

// pick finds the candidates (executions or tasks to decide on) of commands with equal picks. For
// every kind of pick there is a partial index, in which few rows are not candidates.
func pick(v view, pickers []*picker, now perdure.Time) error {
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

func (p *picker) due(v view, now perdure.Time) error {
	query, ok := v.Dialect.Due[p.Pick.Kind]
	if !ok {
		return fmt.Errorf("there is no pick of kind %d", p.Pick.Kind)
	}
	return v.each(query, []any{p.Org, millis(now), p.left}, func(row func(...any) error) error {
		var c candidate
		err := row(&c.execution, optIDInto(&c.task))
		p.got = append(p.got, c)
		return err
	})
}
