// Package commit contains the code that the committers of all stores share: the queue of commands,
// from which batches are taken, and the handling of failed batches.
package commit

import (
	"log/slog"
	"slices"

	"github.com/google/uuid"
)

// Runner runs batches of commands in a database.
type Runner interface {
	// Attempt runs a batch in one transaction. If err is nil, the outcomes are in the order of the
	// batch's calls. Otherwise nothing is written, unless err says that this is unknown. A command
	// may select several rows of the store to work on (its candidates). If `careful` is true, an
	// error of the store fails only the affected candidates, not the whole batch.
	Attempt(batch []*Call, careful bool) ([]Outcome, error)
	// Gives converts an error of Attempt. The result `told` is the error for the callers of the
	// commands. The result `up` is true if no single command has caused the error. The whole batch
	// then fails at once.
	Gives(err error) (told error, up bool)
}

// Process commits a batch and sends each outcome to the caller of Do. If q.Plain is set, each command
// has a transaction of its own. Otherwise the batch is one transaction. If that transaction fails,
// each half of the batch runs again with newly loaded state, until the faulty command runs alone.
// If that command selects several rows to work on (candidates), it runs once more with `careful`
// set (see Runner.Attempt), so that only the faulty candidates fail.
//
// Process returns, in order, the calls that were not run and must be in the next batch (see
// Outcome.Missed). It reports the committed batches to the queue's observer.
func (q *Queue) Process(r Runner, logger *slog.Logger, batch []*Call) (missed []*Call) {
	r = q.observed(r)
	if !q.Plain {
		return process(r, logger, batch, false)
	}
	for _, call := range batch {
		if Behind(call, missed) {
			missed = append(missed, call)
		} else {
			missed = append(missed, process(r, logger, []*Call{call}, false)...)
		}
	}
	return missed
}

func process(r Runner, logger *slog.Logger, batch []*Call, careful bool) (missed []*Call) {
	if len(batch) == 0 {
		return nil
	}
	outcomes, err := r.Attempt(batch, careful)
	if err == nil {
		return answerAll(batch, outcomes)
	}
	told, up := r.Gives(err)
	switch {
	case up:
		refuseAll(batch, told)
	case len(batch) > 1:
		missed = process(r, logger, batch[:len(batch)/2], false)
		rest, behind := apart(batch[len(batch)/2:], missed)
		missed = append(missed, behind...)
		return append(missed, process(r, logger, rest, false)...)
	case batch[0].Pick != nil && !careful:
		return process(r, logger, batch, true)
	default:
		logger.Error("a command failed in the store", "command", batch[0].Name, "org", batch[0].Org, "execution", batch[0].Execution, "err", err)
		refuseAll(batch, told)
	}
	return nil
}

// apart splits a batch. The result `behind` contains the calls that must not run yet, because an
// older call of the same execution is in `missed`. The result `rest` contains the other calls.
func apart(batch, missed []*Call) (rest, behind []*Call) {
	for _, call := range batch {
		if Behind(call, missed) {
			behind = append(behind, call)
		} else {
			rest = append(rest, call)
		}
	}
	return rest, behind
}

// Behind reports whether one of the older calls is for the same execution as `call`. If so, `call`
// must not run before that older call.
func Behind(call *Call, older []*Call) bool {
	return call.Execution != uuid.Nil && slices.ContainsFunc(older, func(c *Call) bool { return c.Execution == call.Execution })
}

func answerAll(batch []*Call, outcomes []Outcome) (missed []*Call) {
	for i, call := range batch {
		if outcomes[i].Missed {
			call.Misses++
			missed = append(missed, call)
		} else {
			call.Answer(outcomes[i])
		}
	}
	return missed
}

func refuseAll(batch []*Call, err error) {
	for _, call := range batch {
		call.Answer(Outcome{Err: err})
	}
}
