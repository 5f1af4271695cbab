// Package commit has what the committers of all stores have in common: a queue
// of commands in lanes and turns, from which batches are taken, and the rule of
// what becomes of a batch that fails.
package commit

import (
	"log/slog"
	"slices"

	"github.com/google/uuid"
)

// Runner runs batches.
type Runner interface {
	// Attempt runs a batch in one transaction. Outcomes are those of the batch's
	// calls, in their order, if err is nil; otherwise nothing is written, unless
	// Gives says so. With careful set, what of many candidates fails in the store
	// is to be left out alone.
	Attempt(batch []*Call, careful bool) ([]Outcome, error)
	// Gives tells what a caller is told of an error of Attempt, and whether to
	// give the whole batch up because it is none of its commands' fault.
	Gives(err error) (told error, up bool)
}

// Process commits a batch and answers its callers. Where it fails, it runs
// again in halves, each from fresh state, until the culprit stands alone; that
// one is run carefully once more if it picks its candidates, so that only the
// faulty ones fail.
//
// It returns the calls that were missed, in their order.
func Process(r Runner, logger *slog.Logger, batch []*Call) (missed []*Call) {
	return process(r, logger, batch, false)
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

// apart takes out of a batch the calls of those executions of which one was missed:
// they keep behind it.
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

// Behind reports whether a call has to wait since an older one of its execution does.
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
