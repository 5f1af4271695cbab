package worker

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// appendedBefore looks for an entry that an earlier run of the function appended before it was
// entered again. If an entry has the same key, appendedBefore returns its id; the entry replaces
// the new one, and later entries follow it. An equal entry without a key is probably a duplicate by
// mistake, and is reported.
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

// reports reports whether suspected mistakes are to be reported: if Config.Report is set, or if
// goroutines are never parked, which is a mode for development.
func (r *run) reports() bool { return r.w.Parked < 0 || r.w.Report != nil }

func (r *run) report(e, stored perdure.Entry) {
	what := fmt.Sprintf("execution %s (%s): the function was entered again and appends a %s entry without a key that equals entry %s, stored since the checkpoint; "+
		"give it a key (agent.WithKey), or look at Messages or State before appending", r.ID(), r.claim.Execution.Kind, e.Role, stored.ID)
	r.log().Warn(what)
	if r.w.Report != nil {
		r.w.Report(what)
	}
}

// storedSince returns the entries that were stored between the checkpoint and the entry of the
// function. There are none on the first entry.
func (r *run) storedSince() ([]perdure.Entry, error) {
	leaf := r.enteredAt
	if leaf == nil || r.ckptLeaf != nil && *leaf == *r.ckptLeaf {
		return nil, nil
	}
	return r.w.read(r.live, perdure.EntryQuery{ExecutionID: r.ID(), Leaf: *leaf, After: r.ckptLeaf})
}
