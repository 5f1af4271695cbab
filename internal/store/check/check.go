// Package check reads a whole store and reports errors in it. It shows operators whether a disk, a
// restore or a copy has damaged the store. It changes nothing, and servers may run at the same
// time.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Reader has the reads that the check of a store needs.
type Reader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[perdure.Entry], error)
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (store.Page[*perdure.Task], error)
	Questions(ctx context.Context, org string, f store.QuestionFilter) (store.Page[*perdure.Question], error)
	Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error)
	BlobRow(ctx context.Context, execution, id uuid.UUID) (*store.Blob, error)
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error)
	LogHead(ctx context.Context, execution uuid.UUID) (store.Head, error)
	// Audit checks the data that belongs to no execution, and then yields the id of every
	// execution. If that data is damaged, Audit yields an error and ends.
	Audit(ctx context.Context) iter.Seq2[uuid.UUID, error]
	// AuditTree checks the stored places (segment and depth) of the entries in an execution's
	// conversation tree. It returns a text for each fault.
	AuditTree(ctx context.Context, execution uuid.UUID) ([]string, error)
}

// Finding is one error in a store.
type Finding struct {
	// Execution is the id of the affected execution, or the zero id if the finding belongs to no
	// execution.
	Execution uuid.UUID
	What      string
}

// Result contains the numbers of the checked rows and of the findings.
type Result struct {
	Executions, Entries, Tasks, Records int64
	// Findings is the number of errors found.
	Findings int64
}

// Run checks every execution. It calls the function `found` for each finding, and after each
// execution the function `told` with the counts up to then. If a read fails in such a way that the
// check cannot continue, Run returns the counts and the error of the read.
func Run(ctx context.Context, r Reader, told func(Result), found func(Finding)) (Result, error) {
	c := &checker{ctx: ctx, r: r, found: found}
	for id, err := range r.Audit(ctx) {
		if err != nil {
			if stops(err) {
				return c.Result, err
			}
			c.id = uuid.Nil
			c.wrong("%v", err)
			return c.Result, nil
		}
		c.id = id
		if err := c.settled(); err != nil {
			return c.Result, err
		}
		c.Executions++
		told(c.Result)
	}
	return c.Result, nil
}

// stops reports whether the check cannot continue after an error of a read: the context has ended,
// or the database is unreachable.
func stops(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || perdure.IsCode(err, perdure.Unavailable)
}

type checker struct {
	Result
	ctx   context.Context
	r     Reader
	found func(Finding)
	id    uuid.UUID
}

func (c *checker) wrong(format string, args ...any) {
	c.Findings++
	c.found(Finding{Execution: c.id, What: fmt.Sprintf(format, args...)})
}

// tries is the number of times that an execution with findings is checked. The findings of one
// check can be wrong, because a server may change the execution between two reads.
const tries = 3

// settled checks an execution at most tries times, until a check has no findings. It reports the
// findings of the last check.
func (c *checker) settled() error {
	tell, before := c.found, c.Result
	defer func() { c.found = tell }()
	var all []Finding
	for range tries {
		all, c.Result = nil, before
		c.found = func(f Finding) { all = append(all, f) }
		if err := c.execution(); err != nil {
			return err
		}
		if len(all) == 0 {
			break
		}
	}
	for _, f := range all {
		tell(f)
	}
	return nil
}

// execution checks one execution. A part that cannot be read is a finding, and the other parts are
// still checked.
func (c *checker) execution() error {
	x, err := c.r.Execution(c.ctx, "", c.id)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil // the execution was deleted during the check
	}
	if err != nil {
		return c.unread("its row", err)
	}
	c.row(x)
	for _, part := range []struct {
		what  string
		check func(x *perdure.Execution) error
	}{{"its entries", c.entries}, {"the places of its entries", c.tree}, {"its tasks", c.tasks}, {"its questions", c.questions}, {"its log", c.log}, {"its newest checkpoint", c.checkpoint}} {
		err := part.check(x)
		if err == nil {
			continue
		}
		if _, gone := c.r.Execution(c.ctx, "", c.id); perdure.IsCode(gone, perdure.NotFound) {
			return nil
		}
		if err := c.unread(part.what, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) unread(what string, err error) error {
	if stops(err) {
		return err
	}
	c.wrong("%s cannot be read: %v", what, err)
	return nil
}

func (c *checker) row(x *perdure.Execution) {
	if _, err := perdure.ParseStatus(string(x.Status)); err != nil {
		c.wrong("its status is %q", x.Status)
	}
	if leased := x.WorkerID != nil && x.ClaimID != uuid.Nil && !x.LeaseUntil.IsZero(); leased != x.Status.Held() {
		c.wrong("it is %s; a worker holds it: %v", x.Status, leased)
	}
	if x.Status.Terminal() != (x.CompletedAt != nil) {
		c.wrong("it is %s, and ended at %v", x.Status, x.CompletedAt)
	}
	if x.Status == perdure.StatusWaiting && x.Wait == nil {
		c.wrong("it is WAITING for nothing")
	}
}

func (c *checker) checkpoint(x *perdure.Execution) error {
	if x.CheckpointSeq == 0 || x.PersistenceMode == perdure.Local {
		return nil
	}
	_, err := c.r.Checkpoint(c.ctx, c.id, x.CheckpointSeq)
	return err
}

// entries checks that the entries of the execution follow the rules for appending entries.
func (c *checker) entries(x *perdure.Execution) error {
	heads := map[uuid.UUID]*perdure.EntryHead{}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := c.r.AllEntries(c.ctx, c.id, cursor, 200)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			c.Entries++
			heads[e.ID] = c.entry(e, heads)
		}
		cursor = page.Next
	}
	if x.Leaf == nil {
		return nil
	}
	switch leaf := heads[*x.Leaf]; {
	case leaf == nil:
		c.wrong("its newest entry %s is not there", x.Leaf)
	case x.Status.Terminal() && len(leaf.Open) > 0:
		c.wrong("it is %s, and the calls %v have no result", x.Status, leaf.Open)
	}
	return nil
}

// tree checks the stored places of the execution's entries in the conversation tree.
func (c *checker) tree(*perdure.Execution) error {
	wrong, err := c.r.AuditTree(c.ctx, c.id)
	for _, what := range wrong {
		c.wrong("%s", what)
	}
	return err
}

func (c *checker) entry(e perdure.Entry, heads map[uuid.UUID]*perdure.EntryHead) *perdure.EntryHead {
	var parent *perdure.EntryHead
	if e.ParentID != nil {
		if parent = heads[*e.ParentID]; parent == nil {
			c.wrong("the entry %s hangs on %s, which is not before it", e.ID, e.ParentID)
		}
	}
	open, err := perdure.CheckAppend(parent, e)
	if err != nil {
		c.wrong("the entry %s does not fit the conversation: %v", e.ID, err)
	}
	return &perdure.EntryHead{ID: e.ID, ParentID: e.ParentID, Type: e.Type, Role: e.Role, Open: open}
}

func (c *checker) tasks(x *perdure.Execution) error {
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := c.r.ListTasks(c.ctx, c.id, true, cursor, 200)
		if err != nil {
			return err
		}
		for _, t := range page.Items {
			c.Tasks++
			switch {
			case t.Status.Terminal() != (t.CompletedAt != nil):
				c.wrong("the task %s is %s, and ended at %v", t.ID, t.Status, t.CompletedAt)
			case t.Status == perdure.TaskRunning && (t.WorkerID == nil || t.ClaimID == uuid.Nil):
				c.wrong("the task %s is RUNNING, and no worker holds it", t.ID)
			case x.Status.Terminal() && !t.Status.Terminal():
				c.wrong("it is %s, and its task %s is %s", x.Status, t.ID, t.Status)
			}
		}
		cursor = page.Next
	}
	return nil
}
