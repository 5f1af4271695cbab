package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// asking is one wait of the agent's function, such as a call of Await, whose outcome is recorded.
// If the function is entered again, it gets the same outcome, whatever has happened since.
type asking struct {
	name    string
	number  int // number of this wait among the waits with the same name since the checkpoint
	outcome int // the recorded outcome, or NoOutcome if there is none
}

// asks counts the waits since the checkpoint by their names, and has the recorded outcome of each.
type asks struct {
	count map[string]int
	asked perdure.RecordedWaits
	chose []perdure.WaitChoice // outcomes that are not committed yet
}

// These are the outcomes of a wait for signals with a timeout. The outcome need not say which signal
// met the wait: a function that is entered again receives the same signal again.
const (
	signalCame = 0
	timedOut   = 1
)

// waitName returns a short name for a wait: its type `what`, and a hash of its arguments `parts`. Only
// waits with the same type and arguments have the same name.
func waitName(what string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return what + " " + hex.EncodeToString(sum[:8])
}

// timer returns the name of the timer number n of the wait.
func (a asking) timer(n int) string { return perdure.TimerName(a.name, a.number, n) }

// ask begins a wait with this name. The result contains the recorded outcome of the wait, if there
// is one.
func (r *run) ask(name string) asking {
	r.asks.count[name]++
	number := r.asks.count[name]
	return asking{name, number, r.asks.asked.Outcome(name, number)}
}

// chose makes the next commit record the index as the outcome of the wait.
func (r *run) chose(a asking, index int) {
	c := perdure.WaitChoice{Name: a.name, Number: a.number, Index: index}
	r.asks.asked = r.asks.asked.With(c)
	r.asks.chose = append(r.asks.chose, c)
}

// Sleep implements agent.Context.
func (r *run) Sleep(d time.Duration) error {
	if err := r.blocking("Sleep"); err != nil {
		return err
	}
	a := r.ask("sleep")
	if a.outcome != perdure.NoOutcome {
		return nil
	}
	_, err := r.suspend(perdure.WaitAfter(a.timer(0), d)) // the store's clock decides when the wait ends
	if err == nil {
		r.chose(a, 0)
	}
	return err
}

// Await implements agent.Context.
func (r *run) Await(how agent.JoinMode, futures ...agent.Future) ([]agent.Result, error) {
	if err := r.blocking("Await"); err != nil {
		return nil, err
	}
	for _, f := range futures {
		if f.Err() != nil {
			return nil, f.Err()
		}
	}
	if err := r.recall(futures); err != nil {
		return nil, err
	}
	if how == agent.All || len(futures) < 2 {
		return r.awaitMet(how, futures, waitFor(how, futures))
	}
	a := r.ask(waitName("await", append(idsOf(futures), fmt.Sprint(how))...))
	if i := a.outcome; i >= 0 && i < len(futures) {
		return r.awaitAgain(how, futures, i)
	}
	if i := decides(how, r.results(futures)); i > 0 {
		if err := r.refresh(futures[:i]); err != nil {
			return nil, err
		}
	}
	results, err := r.awaitMet(how, futures, waitFor(how, futures))
	if i := decides(how, results); err == nil && i >= 0 {
		r.chose(a, i)
	}
	return results, err
}

func idsOf(futures []agent.Future) []string {
	var ids []string
	for _, f := range futures {
		ids = append(ids, f.ID.String())
	}
	return ids
}

// awaitMet suspends the run until as many futures have ended as the join mode `how` requires. It
// returns the results of those futures whose results are known then.
func (r *run) awaitMet(how agent.JoinMode, futures []agent.Future, wait perdure.Wait) ([]agent.Result, error) {
	for !met(how, r.results(futures)) {
		if _, err := r.suspend(wait); err != nil {
			return nil, err
		}
	}
	return r.results(futures), nil
}

// refresh reads from the server which of the futures' tasks have ended. It asks for all of them,
// because the first ended future in the order of the arguments decides the wait, and the server may
// have reported only a later future.
func (r *run) refresh(futures []agent.Future) error {
	var ids []uuid.UUID
	for _, f := range futures {
		pending := slices.ContainsFunc(r.pending.Tasks, func(t perdure.NewTask) bool { return perdure.TaskID(t.Key) == f.ID })
		if r.tasks.get(f.ID) == nil && !pending {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := r.w.Dispatch.Tasks(r.live, r.ID(), ids)
	r.learn(found)
	return err
}

// awaitAgain returns the results of a wait when the function is entered again. The record of the wait
// says that the future with the index i decided it. An earlier future may have ended since, and would
// decide the wait now; awaitAgain returns that future's result as not ended.
func (r *run) awaitAgain(how agent.JoinMode, futures []agent.Future, i int) ([]agent.Result, error) {
	_, err := r.awaitMet(agent.All, futures[i:i+1], perdure.WaitTask(futures[i].ID))
	if err != nil {
		return nil, err
	}
	results := r.results(futures)
	for j := range i {
		if decides(how, results[j:j+1]) >= 0 {
			results[j] = agent.Result{}
		}
	}
	return results, nil
}

// decides returns the index of the first result that ends the wait although other futures have not
// ended, or -1 if there is none.
func decides(how agent.JoinMode, results []agent.Result) int {
	for i, result := range results {
		switch {
		case !result.Ended():
		case how == agent.First,
			how == agent.AllOrFailure && result.Err() != nil,
			how == agent.FirstSuccess && result.Err() == nil:
			return i
		}
	}
	return -1
}

// met reports whether as many futures have ended as the join mode `how` requires, as far as their
// results are known.
func met(how agent.JoinMode, results []agent.Result) bool {
	for _, result := range results {
		if !result.Ended() {
			return decides(how, results) >= 0
		}
	}
	return true
}

func (r *run) results(futures []agent.Future) []agent.Result {
	results := make([]agent.Result, len(futures))
	for i, f := range futures {
		results[i] = agent.Result{Task: r.tasks.get(f.ID)}
	}
	return results
}

// waitFor returns the stored form of a wait that is met when as many futures have ended as the join
// mode `how` requires.
func waitFor(how agent.JoinMode, futures []agent.Future) perdure.Wait {
	all := make([]perdure.Wait, len(futures))
	for i, f := range futures {
		all[i] = perdure.WaitTask(f.ID)
	}
	on := func(c perdure.TaskCondition) []perdure.Wait {
		waits := []perdure.Wait{perdure.WaitAll(all...)}
		for _, f := range futures {
			waits = append(waits, perdure.WaitTaskOn(f.ID, c))
		}
		return waits
	}
	switch how {
	case agent.AllOrFailure:
		return perdure.WaitAny(on(perdure.TaskDidFail)...)
	case agent.FirstSuccess:
		return perdure.WaitAny(on(perdure.TaskSucceeded)...)
	case agent.First:
		return perdure.WaitAny(all...)
	}
	return perdure.WaitAll(all...)
}

// fetch reads the state of a task that has ended, unless this run already knows it.
func (r *run) fetch(id uuid.UUID) error {
	return r.refresh([]agent.Future{agent.FutureOf(id, "")})
}
