package worker

import (
	"bytes"
	"fmt"

	"github.com/perdure/perdure"
)

// reportAgain tells of an entry without a key that equals one which is stored
// since the checkpoint, by a function that was entered again: most likely it is
// the same one, appended a second time. It looks only where goroutines are not
// kept, or somebody asked for reports: in development and tests.
func (r *run) reportAgain(e perdure.Entry) error {
	if e.Key != "" || !e.OnPath() || r.w.Parked >= 0 && r.w.Report == nil {
		return nil
	}
	if r.since == nil {
		stored, err := r.storedSince()
		if err != nil {
			return err
		}
		r.since = &stored
	}
	for _, stored := range *r.since {
		if stored.Role != e.Role || !bytes.Equal(stored.Content, e.Content) {
			continue
		}
		what := fmt.Sprintf("execution %s (%s): the function was entered again and appends a %s entry without a key that equals entry %s, stored since the checkpoint; "+
			"give it a key (agent.WithKey), or look at Messages or State before appending", r.ID(), r.claim.Execution.Kind, e.Role, stored.ID)
		r.w.Logger.Warn(what)
		if r.w.Report != nil {
			r.w.Report(what)
		}
		break
	}
	return nil
}

// storedSince gives the entries that were stored since the checkpoint when the
// function was entered; there are none the first time.
func (r *run) storedSince() ([]perdure.Entry, error) {
	leaf := r.enteredAt
	if leaf == nil || r.ckptLeaf != nil && *leaf == *r.ckptLeaf {
		return nil, nil
	}
	return r.w.read(r.live, perdure.EntryQuery{ExecutionID: r.ID(), Leaf: *leaf, After: r.ckptLeaf})
}
