package apply

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/sql/pick"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// RunPicks decides commands with equal picks. One search finds the candidates for all of them,
// which are then dealt to the commands in turn.
func (t *Transaction) RunPicks(cs []*store.Command) ([]commit.Outcome, error) {
	pickers := make([]*pick.Picker, len(cs))
	for i, c := range cs {
		pickers[i] = pick.NewPicker(c)
	}
	err := pick.Pick(t.View, pickers, t.now)
	switch {
	case errors.Is(err, pick.ErrApart):
		return t.runApart(cs)
	case errors.Is(err, statement.ErrHeld):
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
// after the other. Candidates of different executions are decided concurrently.
func (t *Transaction) decidePicked(pickers []*pick.Picker) ([]commit.Outcome, error) {
	answers := make([][]any, len(pickers))
	var pieces []statement.Piece
	for i, p := range pickers {
		answers[i] = make([]any, len(p.Got))
		for j, one := range p.Got {
			decide := func(c statement.Conn) error { return t.With(c).decidePick(p.Command, one, &answers[i][j]) }
			if p.InOrder {
				if err := decide(t.Conn); err != nil {
					return nil, err
				}
				continue
			}
			pieces = append(pieces, statement.Piece{Name: pick.HeldExecution(one.Execution), Do: decide})
		}
	}
	if err := t.Conn.Apart(pieces...); err != nil {
		return nil, err
	}
	outcomes := make([]commit.Outcome, len(pickers))
	for i, p := range pickers {
		outcomes[i] = commit.Outcome{Missed: p.Missed}
		for _, answer := range answers[i] {
			if answer != nil {
				outcomes[i].Answers = append(outcomes[i].Answers, answer)
			}
		}
	}
	return outcomes, nil
}

// decidePick decides on one candidate. If the decision refuses the candidate, the command gets no
// answer for it.
func (t *Transaction) decidePick(c *store.Command, one pick.Candidate, answer *any) error {
	changes, err := t.decideApart(c, one)
	switch {
	case errors.Is(err, statement.ErrHeld): // the next pick finds the candidate again
	case err != nil && !isRefused(err):
		return err
	case err != nil:
		t.logger.Warn("a candidate was left out", "command", c.Name, "org", c.Org, "execution", one.Execution, "err", refusedBy(err))
	case changes != nil:
		*answer = changes.Answer
	}
	return nil
}
