package agenttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// fate is the fault that a plan injects at one write.
type fate int

const (
	nothing     fate = iota
	dieBefore        // the worker dies, and the call does not reach the server
	dieAfter         // the call reaches the server, and the worker dies before the reply
	loseBefore       // the call reaches the server after another worker has claimed the work
	loseForGood      // like loseBefore, but the call reaches the server after the run
)

// plan describes the faults of a run: one fault (type fate) at one write, or repeated delivery of
// calls.
type plan struct {
	fate fate
	at   int  // number of the write, from 1, with all or only some writes counted
	all  bool // count all writes of workers, not only commits and ends of attempts
	// twice delivers every call twice. The worker receives the first reply if the field `first` is
	// set, and otherwise the second.
	twice, first bool
}

// arrive counts the write c, and returns the fault to inject at this write.
func (w *world) arrive(c write) fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if c.boundary {
		w.commits++
	}
	if !c.boundary && !w.plan.all || w.plan.fate == nothing || w.met {
		return nothing
	}
	if w.writes++; w.writes != w.plan.at {
		return nothing
	}
	w.met, w.what = true, c.what
	if w.plan.fate == loseBefore || w.plan.fate == loseForGood {
		w.taken = make(chan struct{})
	}
	return w.plan.fate
}

// describe returns a text about the content of a commit, for findings.
func describe(c perdure.Commit) string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(len(c.Entries), "entry", "entries")
	add(len(c.Tasks), "task", "tasks")
	add(len(c.Steps), "step or timer", "steps or timers")
	add(len(c.Take), "signal taken", "signals taken")
	add(len(c.Events), "event", "events")
	add(len(c.Questions), "question", "questions")
	add(len(c.Withdraw), "withdrawal", "withdrawals")
	if c.Checkpoint != nil {
		parts = append(parts, "a checkpoint")
	}
	switch o := c.Outcome; o.Kind {
	case perdure.OutcomeSuspend:
		parts = append(parts, "a wait for a "+o.Wait.Reason())
	case perdure.OutcomeComplete:
		parts = append(parts, "the end, complete")
	case perdure.OutcomeFail:
		parts = append(parts, "the end, failed")
	case perdure.OutcomeCancelled:
		parts = append(parts, "the end, cancelled")
	}
	return "the commit of " + strings.Join(parts, ", ")
}

// learn records the kinds of the tasks that a worker has claimed.
func (w *world) learn(claims []perdure.TaskClaim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range claims {
		w.kinds[c.Lease.TaskID] = c.Task.Kind
	}
}

func (w *world) kindOf(id uuid.UUID) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[id]
}

// committed records the signals that the stored commit c has taken, and the kinds of the tasks that
// the worker has claimed with the commit.
func (w *world) committed(c perdure.Commit, reply perdure.CommitReply) {
	w.learn(reply.Claims)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range c.Take {
		if !slices.Contains(w.signals, id) {
			w.signals = append(w.signals, id)
		}
	}
}

// finish records that the end of the attempt is stored.
func (w *world) finish(f perdure.TaskFinish) {
	w.mu.Lock()
	defer w.mu.Unlock()
	task := f.Lease.TaskID
	if f.Error == nil {
		w.finished[task] = true
		return
	}
	if w.failed[task] == nil {
		w.failed[task] = map[uuid.UUID]bool{}
	}
	w.failed[task][f.Lease.ClaimID] = true
}
