package worker

import "github.com/perdure/perdure/agent"

// The run records one of these outcomes for each call of Peek.
const (
	peekedEnded = 0
	peekedOpen  = 1
)

// Peek implements agent.Context.
func (r *run) Peek(f agent.Future) (agent.Result, error) {
	if err := r.blocking("Peek"); err != nil {
		return agent.Result{}, err
	}
	if f.Err() != nil {
		return agent.Result{}, f.Err()
	}
	a := r.ask(waitName("peek", f.ID.String()))
	if a.outcome == peekedOpen {
		return agent.Result{}, nil
	}
	futures := []agent.Future{f}
	if err := r.recall(futures); err != nil {
		return agent.Result{}, err
	}
	if err := r.refresh(futures); err != nil {
		return agent.Result{}, err
	}
	result := r.results(futures)[0]
	outcome := peekedOpen
	if result.Ended() {
		outcome = peekedEnded
	}
	r.chose(a, outcome)
	return result, nil
}
