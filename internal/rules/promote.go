package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Promotion is the progress of the change of a LOCAL execution to REMOTE.
type Promotion struct {
	Done  bool
	Blobs []store.Blob // the next contents to copy
}

// CheckPromotable checks that a LOCAL execution can become REMOTE now. Error: conflict.
func CheckPromotable(x *perdure.Execution) error {
	switch {
	case x.PersistenceMode != perdure.Local:
		return perdure.Errorf(perdure.Conflict, "execution %s is %s already", x.ID, x.PersistenceMode)
	case x.Status.Terminal():
		return perdure.Errorf(perdure.Conflict, "execution %s is %s; only one that waits for a signal can be promoted", x.ID, x.Status)
	case x.Status != perdure.StatusWaiting || x.HomeID == nil:
		return perdure.Errorf(perdure.Conflict, "execution %s is %s; promote it when it waits for a signal, between turns", x.ID, x.Status)
	case x.WaitReason != "signal":
		return perdure.Errorf(perdure.Conflict, "execution %s waits for a %s; promote it when it waits for a signal, between turns", x.ID, x.WaitReason)
	}
	return nil
}

// Promote changes a LOCAL execution to REMOTE if the server has copies of all its contents. The
// command's result is a Promotion. If contents are missing, the Promotion names the next
// ones to copy. If blocks are open, Promote closes them, because after the change another worker
// may write blocks. Errors: not_found, conflict.
func Promote(s *store.State, id uuid.UUID) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(id)
	}
	if err := CheckPromotable(s.Execution); err != nil {
		return nil, err
	}
	for _, t := range sortedTasks(s.Tasks) {
		if !t.Status.Terminal() {
			return nil, perdure.Errorf(perdure.Conflict, "task %s of execution %s still runs on its worker; promote it when that has ended", t.ID, t.ExecutionID)
		}
	}
	if len(s.Withheld) > 0 {
		return Answer(Promotion{Blobs: s.Withheld}), nil
	}
	d := begin(s)
	if len(s.Blocks) > 0 {
		if err := d.closeOpenBlocks(); err != nil {
			return nil, err
		}
		return d.done(Promotion{}), nil
	}
	d.x.PersistenceMode, d.x.HomeID = perdure.Remote, nil
	d.x.NeedsFeatures &^= perdure.FeatureLocalQuestions
	d.c.Unveil = true
	return d.done(Promotion{Done: true}), nil
}

// PromoteNeeds says which rows the engine must read into the store.State that it passes to Promote.
// `step` is the maximum number of contents to copy next.
func PromoteNeeds(step int) store.Needs {
	return store.Needs{OpenTasks: true, OpenBlocks: true, Withheld: step}
}

// Stage stores pieces of contents that the server does not have. The pieces are not visible before
// the execution is REMOTE. Errors: not_found, conflict (the execution can no longer become REMOTE).
func Stage(s *store.State, id uuid.UUID, pieces []store.Staged) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(id)
	}
	if err := CheckPromotable(s.Execution); err != nil {
		return nil, err
	}
	return &store.Changes{Stage: pieces, Answer: &Decision{}}, nil
}
