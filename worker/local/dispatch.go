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

// Dispatch is a perdure.Dispatch for a worker with a local store. Code that calls it sends and
// receives whole contents. For a LOCAL execution, the server stores only rows with the order,
// length and hash of each content; it receives streamed text, but only forwards it. A Dispatch
// passes calls about REMOTE executions on unchanged.
type Dispatch struct {
	perdure.Dispatch
	store  *Store
	logger *slog.Logger

	mu   sync.Mutex // guards the field runs
	runs map[uuid.UUID]*executionState
}

var _ perdure.Dispatch = (*Dispatch)(nil)

// executionState is what this process knows about a LOCAL execution from which it has claimed work.
// It stays in memory until the execution becomes REMOTE, because an attempt may end later than its
// execution.
type executionState struct {
	mu     sync.Mutex              // guards the fields below
	unsent []perdure.StepRecord    // records of steps that the server may not have
	blocks map[blockKey]blockState // state of blocks that are being streamed
	// decided lists the answers to questions that this worker has stored, and of which the server
	// has perhaps not yet erased its copies.
	decided []perdure.StoredDecision
}

// blockKey identifies a streamed block by its source (see sourceOf) and its number.
type blockKey struct {
	source string
	block  int64
}

// Wrap returns a Dispatch that passes calls on to d, and stores the contents of LOCAL executions in s. A
// nil logger means slog.Default.
func Wrap(d perdure.Dispatch, s *Store, logger *slog.Logger) *Dispatch {
	if logger == nil {
		logger = slog.Default()
	}
	return &Dispatch{Dispatch: d, store: s, logger: logger, runs: map[uuid.UUID]*executionState{}}
}

// Keeps reports whether this worker stores the contents of the execution, because the execution is
// LOCAL. It returns false for an execution of which this process has claimed no work.
func (d *Dispatch) Keeps(execution uuid.UUID) bool { return d.of(execution) != nil }

// of returns the state of a LOCAL execution, or nil if the execution is REMOTE or this process has claimed
// no work of it.
func (d *Dispatch) of(execution uuid.UUID) *executionState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[execution]
}

// keep returns the state of a LOCAL execution, and creates it if necessary.
func (d *Dispatch) keep(execution uuid.UUID) *executionState {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.runs[execution]
	if k == nil {
		k = &executionState{blocks: map[blockKey]blockState{}}
		d.runs[execution] = k
	}
	return k
}

// release removes the state of an execution that is no longer LOCAL on this worker.
func (d *Dispatch) release(execution uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, execution)
}

// withLocal returns the queues, followed by the queue with the tasks of this worker's LOCAL executions.
func (d *Dispatch) withLocal(queues []string) []string {
	return append(slices.Clip(queues), perdure.LocalQueue(d.store.id))
}

// Heartbeat implements [perdure.Dispatch]. It leaves out the progress of a LOCAL execution's task, which is
// content that the server must not have.
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

// errorName and inputName are the names under which the store keeps the error message and the input
// of an execution.
const (
	errorName = "error"
	inputName = "input"
)

// Release implements [perdure.Dispatch]. If the code of a LOCAL execution has panicked, it stores the
// message of the panic on this worker and does not send the message, which may contain content.
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

// releaseTimeout is the maximum time for releasing a claim that this worker cannot use. If the release
// fails, the claim ends with its lease.
const releaseTimeout = 5 * time.Second

// giveUp releases an execution that cannot continue on this worker because of the error `why`. If
// the error is not temporary, giveUp reports it to the server as a panic of the agent's code. The
// server counts panics, so the execution fails after several releases if its contents stay lost.
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

// failTask ends an attempt that cannot run because of the error `why`, so that the agent learns the
// reason. If the server is unavailable, it releases the attempt instead.
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

// PutBlob implements [perdure.Dispatch]. For a LOCAL execution, it stores the content in the local store.
// Error: invalid_argument if the content does not have the given length.
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

// GetBlob implements [perdure.Dispatch]. For a LOCAL execution, it reads the content from the local store,
// if the store has the content.
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

// ServeContents implements [perdure.Dispatch]. If source is nil, the contents come from the local store.
func (d *Dispatch) ServeContents(ctx context.Context, worker uuid.UUID, source perdure.ContentSource) error {
	if source == nil {
		source = d.store
	}
	return d.Dispatch.ServeContents(ctx, worker, source)
}
