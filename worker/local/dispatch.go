package local

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Dispatch is a server as a worker with a store sees it: whole contents go in
// and come out, and what passes to the server of LOCAL executions is their
// skeleton. REMOTE ones pass untouched.
type Dispatch struct {
	perdure.Dispatch
	store  *Store
	logger *slog.Logger

	mu   sync.Mutex // guards runs
	runs map[uuid.UUID]*kept
}

var _ perdure.Dispatch = (*Dispatch)(nil)

// kept is a LOCAL execution of which this process has claimed something. It
// stays known until the execution is promoted: an attempt may end after its
// execution has.
type kept struct {
	mu     sync.Mutex           // guards what follows
	unsent []perdure.StepRecord // outcomes of steps that the server may not have
	blocks map[blockKey]growing // what is being shown
}

// blockKey names a block: its source and number.
type blockKey struct {
	source string
	block  int64
}

// Wrap makes the worker's view of a server. A nil logger is slog.Default.
func Wrap(d perdure.Dispatch, s *Store, logger *slog.Logger) *Dispatch {
	if logger == nil {
		logger = slog.Default()
	}
	return &Dispatch{Dispatch: d, store: s, logger: logger, runs: map[uuid.UUID]*kept{}}
}

// Keeps reports whether the contents of the execution are kept here.
func (d *Dispatch) Keeps(execution uuid.UUID) bool { return d.of(execution) != nil }

// of returns what is known of a LOCAL execution, nil of any other.
func (d *Dispatch) of(execution uuid.UUID) *kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[execution]
}

// keep makes the execution known as LOCAL.
func (d *Dispatch) keep(execution uuid.UUID) *kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.runs[execution]
	if k == nil {
		k = &kept{blocks: map[blockKey]growing{}}
		d.runs[execution] = k
	}
	return k
}

func (d *Dispatch) release(execution uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, execution)
}

// withLocal adds the queue of this worker's LOCAL executions.
func (d *Dispatch) withLocal(queues []string) []string {
	return append(slices.Clip(queues), perdure.LocalQueue(d.store.id))
}

// Heartbeat implements [perdure.Dispatch]. The progress of a LOCAL execution's
// task is content and stays.
func (d *Dispatch) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	cloned := false
	for i, t := range h.Tasks {
		if t.Progress == nil || !d.Keeps(t.Lease.ExecutionID) {
			continue
		}
		if !cloned {
			h.Tasks, cloned = slices.Clone(h.Tasks), true
		}
		h.Tasks[i].Progress = nil
	}
	return d.Dispatch.Heartbeat(ctx, h)
}

// errorName and inputName are the names of an execution's error message and
// input.
const (
	errorName = "error"
	inputName = "input"
)

// Release implements [perdure.Dispatch]. What a panic said of a LOCAL execution
// stays: it may quote anything.
func (d *Dispatch) Release(ctx context.Context, r perdure.Release) error {
	r.Agents = slices.Clone(r.Agents)
	for i, a := range r.Agents {
		if a.Panic == "" || !d.Keeps(a.Lease.ExecutionID) {
			continue
		}
		if err := d.store.Name(ctx, a.Lease.ExecutionID, errorName, []byte(a.Panic)); err != nil {
			return err
		}
		r.Agents[i].Panic = "the agent's code panicked; what it said is on worker " + d.store.id.String()
	}
	return d.Dispatch.Release(ctx, r)
}

// releaseTimeout bounds how long a claim that cannot be used is tried to be
// given back. If that fails, too, it comes back with the end of its lease.
const releaseTimeout = 5 * time.Second

// giveUp gives an execution back that cannot continue here. Lost contents count
// like a panic, so that the run fails, visibly, when they stay lost.
func (d *Dispatch) giveUp(ctx context.Context, l perdure.Lease, why error) {
	d.logger.ErrorContext(ctx, "an execution cannot go on: its contents cannot be had from this worker's store", "execution", l.ExecutionID, "fence", l.Fence, "worker", d.store.id, "error", why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	a := perdure.AgentRelease{Lease: l}
	if !perdure.IsCode(why, perdure.Unavailable) {
		a.Panic = why.Error()
	}
	if err := d.Dispatch.Release(ctx, perdure.Release{WorkerID: d.store.id, Agents: []perdure.AgentRelease{a}}); err != nil {
		d.logger.WarnContext(ctx, "the execution could not be given back", "execution", l.ExecutionID, "fence", l.Fence, "worker", d.store.id, "error", err)
	}
}

// failTask ends an attempt that cannot be run, so that its agent learns why.
func (d *Dispatch) failTask(ctx context.Context, l perdure.TaskLease, why error) {
	d.logger.ErrorContext(ctx, "a task cannot be run: its input cannot be had from this worker's store", "execution", l.ExecutionID, "task", l.TaskID, "attempt", l.Attempt, "worker", d.store.id, "error", why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if perdure.IsCode(why, perdure.Unavailable) {
		why = d.Dispatch.Release(ctx, perdure.Release{WorkerID: d.store.id, Tasks: []perdure.TaskRelease{{Lease: l}}})
	} else {
		_, why = d.Dispatch.FinishTask(ctx, perdure.TaskFinish{
			WorkerID: d.store.id, Lease: l,
			Error: &perdure.TaskError{Code: perdure.CodeOf(why), Message: why.Error(), Permanent: true},
		})
	}
	if why != nil {
		d.logger.WarnContext(ctx, "the task could not be ended", "execution", l.ExecutionID, "task", l.TaskID, "attempt", l.Attempt, "worker", d.store.id, "error", why)
	}
}

// PutBlob implements [perdure.Dispatch]. A content of a LOCAL execution goes
// into the store.
func (d *Dispatch) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	if !d.Keeps(owner.ExecutionID) {
		return d.Dispatch.PutBlob(ctx, owner, length, content)
	}
	whole, err := io.ReadAll(io.LimitReader(content, length+1))
	if err != nil {
		return perdure.BlobRef{}, err
	}
	if int64(len(whole)) != length {
		return perdure.BlobRef{}, perdure.FieldErrorf("length", "is %d, and the content has another length", length)
	}
	refs, err := d.store.Put(ctx, owner.ExecutionID, whole)
	if err != nil {
		return perdure.BlobRef{}, err
	}
	return refs[0], nil
}

// GetBlob implements [perdure.Dispatch]. What the store has comes from there.
func (d *Dispatch) GetBlob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error) {
	if d.Keeps(execution) {
		sum, found, err := d.store.sumOf(ctx, blob)
		if err != nil {
			return nil, err
		}
		if found {
			return d.store.Content(ctx, execution, sum)
		}
	}
	return d.Dispatch.GetBlob(ctx, execution, blob)
}

// ServeContents implements [perdure.Dispatch] for the store's own contents where
// the source is nil.
func (d *Dispatch) ServeContents(ctx context.Context, worker uuid.UUID, source perdure.ContentSource) error {
	if source == nil {
		source = d.store
	}
	return d.Dispatch.ServeContents(ctx, worker, source)
}
