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

// Candidate is an execution, or one of its tasks, on which a command decides.
type Candidate struct {
	Execution uuid.UUID
	Task      *uuid.UUID
	// Key and Queue are the concurrency key and the queue of a pending task. They select the limits
	// that apply to the task.
	Key, Queue string
}

// Picker is a command with a pick (a search for work), and the candidates that it got.
type Picker struct {
	*store.Command
	left    int // how many more it takes
	Got     []Candidate
	Missed  bool // another transaction has the lock of its worker's claims
	InOrder bool // each decision depends on the previous ones
}

// NewPicker returns the picker of a command.
func NewPicker(c *store.Command) *Picker {
	p := &Picker{Command: c, left: c.Pick.Limit}
	if p.left <= 0 {
		p.left = defaultPickLimit
	}
	return p
}

// Same reports whether two commands have equal picks, so that RunPicks can serve both with one
// search.
func Same(a, b *store.Command) bool {
	p, q := a.Pick, b.Pick
	return a.Org == b.Org && p.Kind == q.Kind && (p.Kind == store.PickAgents || p.Kind == store.PickTasks) &&
		slices.Equal(p.Queues, q.Queues) && slices.Equal(p.Kinds, q.Kinds) && maps.Equal(p.QueueLimits, q.QueueLimits) &&
		p.Features == q.Features &&
		p.Home == nil && q.Home == nil && !p.AloneOnly && !q.AloneOnly
}

// ErrApart says that the commands must pick one after the other, because an execution that must run
// alone is pending.
var ErrApart = errors.New("one that has to be alone is pending")

// deal distributes the found candidates to the pickers in turns. No picker gets more than it takes,
// or a candidate that it skips.
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

// takes returns how many more candidates all pickers take.
func takes(pickers []*Picker) (sum int) {
	for _, p := range pickers {
		sum += p.left
	}
	return sum
}

// open returns the pickers that still take candidates.
func open(pickers []*Picker) []*Picker {
	return slices.DeleteFunc(slices.Clone(pickers), func(p *Picker) bool { return p.left == 0 })
}

// free removes pickers whose worker holds an execution that must run alone. Each worker's holding
// is read right after its lock is requested. If the lock is acquired, the holding is exact; if
// another transaction has the lock, the holding is not used.
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

// HeldExecution returns the name of the lock that serializes the commands of an execution.
func HeldExecution(id uuid.UUID) string { return "execution " + id.String() }
