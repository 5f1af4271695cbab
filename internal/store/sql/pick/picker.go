package pick

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Candidate is an execution, or a task of an execution, on which a command decides.
type Candidate struct {
	Execution uuid.UUID
	Task      *uuid.UUID
	// Key and Queue are the concurrency key and the queue of a pending task. They determine which
	// limits apply to the task.
	Key, Queue string
}

// Picker is a command with a pick, and the candidates that this command has got so far.
type Picker struct {
	*store.Command
	left    int // how many more candidates the command takes
	Got     []Candidate
	Missed  bool // another transaction has locked the claims of the command's worker
	InOrder bool // each decision depends on the previous ones, so they are made in order
}

// NewPicker returns the picker of a command.
func NewPicker(c *store.Command) *Picker {
	p := &Picker{Command: c, left: c.Pick.Limit}
	if p.left <= 0 {
		p.left = defaultPickLimit
	}
	return p
}

// Same reports whether two commands have equal picks, so that one search serves both.
func Same(a, b *store.Command) bool {
	p, q := a.Pick, b.Pick
	return a.Org == b.Org && p.Kind == q.Kind && (p.Kind == store.PickAgents || p.Kind == store.PickTasks) &&
		slices.Equal(p.Queues, q.Queues) && slices.Equal(p.Kinds, q.Kinds) && maps.Equal(p.QueueLimits, q.QueueLimits) &&
		p.Features == q.Features &&
		p.Home == nil && q.Home == nil && !p.AloneOnly && !q.AloneOnly
}

// ErrApart says that the commands must pick one after the other, because one of the pending
// executions must run alone on its worker.
var ErrApart = errors.New("one that has to be alone is pending")

// deal distributes the found candidates to the pickers, one to each picker in turn. No picker gets
// more candidates than its limit allows, and none gets a candidate for which the picker's method
// `skips` returns true.
func deal(found []ranked, pickers []*Picker) {
	at := 0
	for _, r := range found {
		for n := range pickers {
			p := pickers[(at+n)%len(pickers)]
			if p.left == 0 || p.skips(r) {
				continue
			}
			p.left--
			p.Got = append(p.Got, r.Candidate)
			at = (at + n + 1) % len(pickers)
			break
		}
	}
}

func (p *Picker) skips(r ranked) bool {
	return p.Pick.Skip != nil && p.Pick.Skip(r.Execution, perdure.AtMilli(r.since))
}

// takes returns how many more candidates the limits of the pickers allow in all.
func takes(pickers []*Picker) (sum int) {
	for _, p := range pickers {
		sum += p.left
	}
	return sum
}

// open returns the pickers that can get more candidates.
func open(pickers []*Picker) []*Picker {
	return slices.DeleteFunc(slices.Clone(pickers), func(p *Picker) bool { return p.left == 0 })
}

// free excludes a picker from the pick if its worker has claimed an execution that must run alone.
// To find that out, free locks the claims of the worker. If another transaction has that lock, free
// marks the picker as missed and excludes it.
func free(v statement.View, pickers []*Picker) error {
	return statement.ForEach(v, pickers, func(v statement.View, p *Picker) error {
		if p.Pick.Worker == uuid.Nil {
			return nil
		}
		var held store.Holding
		err := v.Together(
			func(v statement.View) error { return v.Share(load.HeldWorker(p.Pick.Worker)) },
			func(v statement.View) (err error) {
				held, err = load.Holding(v, p.Pick.Worker)
				return err
			},
		)
		if errors.Is(err, statement.ErrHeld) {
			p.Missed, p.left = true, 0
			return nil
		}
		if held.Alone {
			p.left = 0
		}
		return err
	})
}

// HeldExecution returns the lock name of an execution. The lock makes the decisions on the execution
// run one after the other.
func HeldExecution(id uuid.UUID) string { return "execution " + id.String() }
