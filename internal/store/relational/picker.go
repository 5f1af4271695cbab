package relational

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
)

// picker is a command with a pick (a search for work), and the candidates that it got.
type picker struct {
	*store.Command
	left    int // how many more it takes
	got     []candidate
	missed  bool // another transaction has the lock of its worker's claims
	inOrder bool // each decision depends on the previous ones
}

func newPicker(c *store.Command) *picker {
	p := &picker{Command: c, left: c.Pick.Limit}
	if p.left <= 0 {
		p.left = defaultPickLimit
	}
	return p
}

// SamePick reports whether two commands have equal picks, so that RunPicks can serve both with one
// search.
func SamePick(a, b *store.Command) bool {
	p, q := a.Pick, b.Pick
	return a.Org == b.Org && p.Kind == q.Kind && (p.Kind == store.PickAgents || p.Kind == store.PickTasks) &&
		slices.Equal(p.Queues, q.Queues) && slices.Equal(p.Kinds, q.Kinds) && maps.Equal(p.QueueLimits, q.QueueLimits) &&
		p.Home == nil && q.Home == nil && !p.AloneOnly && !q.AloneOnly
}

// errApart says that the commands must pick one after the other, because an execution that must run
// alone is pending.
var errApart = errors.New("one that has to be alone is pending")

// RunPicks decides commands with equal picks. The candidates found are distributed to the commands
// in turns.
func (t *Transaction) RunPicks(cs []*store.Command) ([]commit.Outcome, error) {
	pickers := make([]*picker, len(cs))
	for i, c := range cs {
		pickers[i] = newPicker(c)
	}
	err := pick(t.view, pickers, t.now)
	switch {
	case errors.Is(err, errApart):
		return t.runApart(cs)
	case errors.Is(err, ErrHeld):
		return slices.Repeat([]commit.Outcome{{Missed: true}}, len(cs)), nil
	case err != nil:
		return nil, err
	}
	return t.decidePicked(pickers)
}

func (t *Transaction) runApart(cs []*store.Command) (all []commit.Outcome, err error) {
	for i := range cs {
		one, err := t.RunPicks(cs[i : i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// decidePicked decides on the picked candidates. Candidates of the same execution are decided one
// after the other, those of different executions concurrently.
func (t *Transaction) decidePicked(pickers []*picker) ([]commit.Outcome, error) {
	answers := make([][]any, len(pickers))
	var pieces []Piece
	for i, p := range pickers {
		answers[i] = make([]any, len(p.got))
		for j, one := range p.got {
			decide := func(c Conn) error { return t.With(c).decidePick(p.Command, one, &answers[i][j]) }
			if p.inOrder {
				if err := decide(t.Conn); err != nil {
					return nil, err
				}
				continue
			}
			pieces = append(pieces, Piece{Name: HeldExecution(one.execution), Do: decide})
		}
	}
	if err := t.Conn.Apart(pieces...); err != nil {
		return nil, err
	}
	outcomes := make([]commit.Outcome, len(pickers))
	for i, p := range pickers {
		outcomes[i] = commit.Outcome{Missed: p.missed}
		for _, answer := range answers[i] {
			if answer != nil {
				outcomes[i].Answers = append(outcomes[i].Answers, answer)
			}
		}
	}
	return outcomes, nil
}

// decidePick decides on one candidate. It leaves out a candidate that the decision refuses.
func (t *Transaction) decidePick(c *store.Command, one candidate, answer *any) error {
	changes, err := t.decideApart(c, one)
	switch {
	case errors.Is(err, ErrHeld): // the next pick finds it again
	case err != nil && !isRefused(err):
		return err
	case err != nil:
		t.logger.Warn("a candidate was left out", "command", c.Name, "org", c.Org, "execution", one.execution, "err", refusedBy(err))
	case changes != nil:
		*answer = changes.Answer
	}
	return nil
}

// deal distributes the found candidates to the pickers in turns. No picker gets more than it takes,
// or a candidate that it skips.
func deal(found []ranked, pickers []*picker) {
	at := 0
	for _, r := range found {
		for n := range pickers {
			p := pickers[(at+n)%len(pickers)]
			if p.left == 0 || p.skips(r) {
				continue
			}
			p.left--
			p.got = append(p.got, r.candidate)
			at = (at + n + 1) % len(pickers)
			break
		}
	}
}

func (p *picker) skips(r ranked) bool {
	return p.Pick.Skip != nil && p.Pick.Skip(r.execution, perdure.AtMilli(r.since))
}

// takes returns how many more candidates all pickers take.
func takes(pickers []*picker) (sum int) {
	for _, p := range pickers {
		sum += p.left
	}
	return sum
}

// open returns the pickers that still take candidates.
func open(pickers []*picker) []*picker {
	return slices.DeleteFunc(slices.Clone(pickers), func(p *picker) bool { return p.left == 0 })
}

// free removes pickers whose worker holds an execution that must run alone. Each worker's holding
// is read right after its lock is requested. If the lock is acquired, the holding is exact; if
// another transaction has the lock, the holding is not used.
func free(v view, pickers []*picker) error {
	return forEach(v, pickers, func(v view, p *picker) error {
		if p.Pick.Worker == uuid.Nil {
			return nil
		}
		var held store.Holding
		err := v.together(
			func(v view) error { return v.share(heldWorker(p.Pick.Worker)) },
			func(v view) (err error) {
				held, err = loadHolding(v, p.Pick.Worker)
				return err
			},
		)
		if errors.Is(err, ErrHeld) {
			p.missed, p.left = true, 0
			return nil
		}
		if held.Alone {
			p.left = 0
		}
		return err
	})
}
