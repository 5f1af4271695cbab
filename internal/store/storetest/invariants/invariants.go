// Package invariants checks the properties that the stored data of every store must always have.
package invariants

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Auditor examines the stored data across all orgs. Check needs an Auditor, so every store must
// implement this interface.
type Auditor interface {
	// Audit checks that no row refers to a missing row and that the content of streams has no gaps.
	// If Audit finds an error, it yields the error and stops. Otherwise it yields the id of every
	// execution.
	Audit(ctx context.Context) iter.Seq2[uuid.UUID, error]
	// AuditBlocks returns how the closed blocks of an execution are stored. The order of the result
	// is undefined.
	AuditBlocks(ctx context.Context, execution uuid.UUID) ([]store.BlockRest, error)
	// AuditResults returns how the results of an execution's tasks are stored. It includes only the
	// results that refer to an entry. The order is undefined.
	AuditResults(ctx context.Context, execution uuid.UUID) ([]store.ResultRest, error)
	// AuditTree checks the stored segments and depths of an execution's entries. It returns one
	// text for each error.
	AuditTree(ctx context.Context, execution uuid.UUID) ([]string, error)
}

// Check checks the properties that every execution in the store must always have. The log has
// no gaps, the tree is connected, the transcript is valid, at most one lease is held, status and
// wait are legal, and every task belongs to its execution.
func Check(t testing.TB, s store.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	a := AuditorOf(s)
	if a == nil {
		t.Fatalf("%T cannot be audited", s)
	}
	for id, err := range a.Audit(ctx) {
		if err != nil {
			t.Errorf("the store does not hold together: %v", err)
			return
		}
		i := &execution{TB: t, s: s, audit: a, ctx: ctx, id: id, retried: map[perdure.BlockKey]bool{}}
		i.check()
	}
}

// AuditorOf returns the auditor of a store, or of the store that this store wraps; nil if neither
// store is an auditor.
func AuditorOf(s store.Store) Auditor {
	for {
		if a, ok := s.(Auditor); ok {
			return a
		}
		wrapper, ok := s.(interface{ Unwrap() store.Store })
		if !ok {
			return nil
		}
		s = wrapper.Unwrap()
	}
}

// execution is the check of one execution.
type execution struct {
	testing.TB
	s     store.Store
	audit Auditor
	ctx   context.Context
	id    uuid.UUID
	x     *perdure.Execution
	// retried contains a key for each attempt that was followed by a retry. The block number in the
	// key is always 0, and stands for all blocks of the attempt.
	retried map[perdure.BlockKey]bool
}

func (i *execution) check() {
	i.Helper()
	var err error
	if i.x, err = i.s.Execution(i.ctx, "", i.id); err != nil {
		i.broken("does not load: %v", err)
		return
	}
	i.checkStatus()
	i.checkHome()
	i.checkLease()
	i.checkLog()
	i.checkRest()
	i.checkTree()
	i.checkPlaces()
	i.checkTasks()
	i.checkSignals()
	i.checkQuestions()
}

func (i *execution) broken(format string, args ...any) {
	i.Helper()
	i.Errorf("execution %s "+format, append([]any{i.id}, args...)...)
}

func (i *execution) failed(what string, err error) bool {
	i.Helper()
	if err != nil {
		i.broken("does not read its %s: %v", what, err)
	}
	return err != nil
}

func (i *execution) checkStatus() {
	i.Helper()
	x := i.x
	if _, err := perdure.ParseStatus(string(x.Status)); err != nil {
		i.broken("has the status %q", x.Status)
	}
	if x.Org == "" || x.Kind == "" || x.Queue == "" || x.CreatedAt.IsZero() {
		i.broken("has no org, kind, queue or time")
	}
	if x.Status.Terminal() != (x.CompletedAt != nil) {
		i.broken("is %s and completed at %v", x.Status, x.CompletedAt)
	}
	if x.Status == perdure.StatusFailed && x.ErrorCode == nil {
		i.broken("is FAILED without a code")
	}
	if x.Status == perdure.StatusPending && x.ReadyAt.IsZero() {
		i.broken("is PENDING since never")
	}
	if x.Status == perdure.StatusWaiting {
		i.checkWait(x.Wait)
	}
}

// checkHome checks the home worker of an execution. A LOCAL execution has a home worker from its
// first claim on, and only this worker claims the execution. A REMOTE execution has no home worker.
func (i *execution) checkHome() {
	i.Helper()
	x := i.x
	local := x.PersistenceMode == perdure.Local
	if (local && x.StartedAt != nil) != (x.HomeID != nil) {
		i.broken("is %s, started at %v, with the home %v", x.PersistenceMode, x.StartedAt, x.HomeID)
	}
	if local && x.WorkerID != nil && (x.HomeID == nil || *x.WorkerID != *x.HomeID) {
		i.broken("is LOCAL and held by worker %v, its home is %v", x.WorkerID, x.HomeID)
	}
}

func (i *execution) checkWait(w *perdure.Wait) {
	i.Helper()
	if w == nil {
		i.broken("is WAITING for nothing")
		return
	}
	if err := w.Check(); err != nil {
		i.broken("has a wait that is none: %v", err)
	}
	if w.Met {
		i.broken("is WAITING, and its wait is met")
	}
	if i.x.WaitReason != w.Reason() {
		i.broken("has the wait reason %q, its wait says %q", i.x.WaitReason, w.Reason())
	}
}

func (i *execution) checkLease() {
	i.Helper()
	x := i.x
	leased := x.WorkerID != nil && x.ClaimID != uuid.Nil && !x.LeaseUntil.IsZero()
	free := x.WorkerID == nil && x.ClaimID == uuid.Nil && x.LeaseUntil.IsZero() && !x.Embedded
	if x.Status.Held() && !leased || !x.Status.Held() && !free {
		i.broken("is %s with worker %v, claim %s, lease until %s", x.Status, x.WorkerID, x.ClaimID, x.LeaseUntil)
	}
	if x.LastCommit.Fence > x.Fence {
		i.broken("has a commit of fence %d, its fence is %d", x.LastCommit.Fence, x.Fence)
	}
}

// checkTasks checks that tasks belong to the execution and that ended tasks have an end time. An
// ended execution must have no open task.
func (i *execution) checkTasks() {
	i.Helper()
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := i.s.ListTasks(i.ctx, i.id, true, cursor, 200)
		if i.failed("tasks", err) {
			return
		}
		for _, t := range page.Items {
			i.checkTask(t)
		}
		cursor = page.Next
	}
}

func (i *execution) checkTask(t *perdure.Task) {
	i.Helper()
	if t.ExecutionID != i.id || t.Org != i.x.Org {
		i.broken("lists the task %s of execution %s, org %q", t.ID, t.ExecutionID, t.Org)
	}
	if t.Status.Terminal() != (t.CompletedAt != nil) {
		i.broken("has the task %s, %s, completed at %v", t.ID, t.Status, t.CompletedAt)
	}
	if t.Status == perdure.TaskRunning && (t.WorkerID == nil || t.ClaimID == uuid.Nil || t.LeaseUntil.IsZero()) {
		i.broken("has the task %s RUNNING without a lease", t.ID)
	}
	if t.ResultBlob == nil && t.Result != nil && !json.Valid(t.Result) {
		i.broken("has the task %s with a result that is no JSON: %.100q", t.ID, t.Result)
	}
	if i.x.Status.Terminal() && !t.Status.Terminal() {
		i.broken("is %s, its task %s is %s", i.x.Status, t.ID, t.Status)
	}
}

func (i *execution) checkSignals() {
	i.Helper()
	signals, err := i.s.PendingSignals(i.ctx, i.id, nil, 0, 1000)
	if i.failed("signals", err) {
		return
	}
	if !slices.IsSortedFunc(signals, func(a, b perdure.Signal) int { return int(a.Order - b.Order) }) {
		i.broken("has pending signals out of order")
	}
	for _, s := range signals {
		if s.State != perdure.SignalPending {
			i.broken("lists the signal %s, %s, as pending", s.ID, s.State)
		}
	}
}
