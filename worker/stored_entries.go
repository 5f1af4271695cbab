package worker

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// appendedBefore looks for e among the entries that were stored after the newest checkpoint and
// before the function was entered. If an entry with the key of e is stored, that entry becomes the
// leaf, and appendedBefore returns its id: the caller does not append e. Otherwise it returns
// uuid.Nil. If e has no key and an equal entry is stored, appendedBefore also reports a probable
// mistake of the agent.
func (r *run) appendedBefore(e perdure.Entry) (uuid.UUID, error) {
	if e.Key == "" && !r.reports() || !e.OnPath() {
		return uuid.Nil, nil
	}
	if r.since == nil {
		stored, err := r.storedSince()
		if err != nil {
			return uuid.Nil, err
		}
		r.since = &stored
	}
	for _, stored := range *r.since {
		switch {
		case e.Key != "" && stored.Key == e.Key:
			r.leaf = &stored.ID
			if len(r.pending.Entries) == 0 {
				r.stored = r.leaf
			}
			return stored.ID, nil
		case e.Key == "" && stored.Role == e.Role && bytes.Equal(stored.Content, e.Content):
			r.report(e, stored)
			return uuid.Nil, nil
		}
	}
	return uuid.Nil, nil
}

// reports reports whether the worker reports probable mistakes in the agent's code. It does if
// Config.Report is set, or if it parks no goroutines, which is a mode for development.
func (r *run) reports() bool { return r.w.Parked < 0 || r.w.Report != nil }

func (r *run) report(e, stored perdure.Entry) {
	what := fmt.Sprintf("execution %s (%s): the function was entered again and appends a %s entry without a key that equals entry %s, stored since the checkpoint; "+
		"give it a key (agent.WithKey), or look at Messages or State before appending", r.ID(), r.claim.Execution.Kind, e.Role, stored.ID)
	r.log().Warn(what)
	if r.w.Report != nil {
		r.w.Report(what)
	}
}

// storedSince returns the entries that were stored between the newest checkpoint and the moment when the
// function was entered. There are none if the function is entered for the first time.
func (r *run) storedSince() ([]perdure.Entry, error) {
	leaf := r.enteredAt
	if leaf == nil || r.ckptLeaf != nil && *leaf == *r.ckptLeaf {
		return nil, nil
	}
	return r.w.read(r.live, perdure.EntryQuery{ExecutionID: r.ID(), Leaf: *leaf, After: r.ckptLeaf})
}
