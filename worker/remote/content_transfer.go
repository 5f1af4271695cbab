package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// fitter returns the Fitter with which the client makes messages small enough for gRPC: it uploads
// large contents as blobs, so that the message only refers to them.
func (c *Client) fitter(ctx context.Context) *pbconv.Fitter {
	return &pbconv.Fitter{Put: func(owner perdure.BlobOwner, content []byte) (perdure.BlobRef, error) {
		return again(ctx, c, "PutBlob", func(ctx context.Context) (perdure.BlobRef, error) {
			return c.PutBlob(ctx, owner, int64(len(content)), bytes.NewReader(content))
		})
	}}
}

// fill downloads the contents to which a message only refers. If `local` is true, the message is
// about a LOCAL execution, and fill leaves out contents that only the execution's worker has.
func (c *Client) fill(ctx context.Context, execution uuid.UUID, local bool, contents ...*perdurev1.Content) error {
	for _, m := range contents {
		if m == nil || m.Inline != nil || m.Blob == nil || local && withheld(execution, m.Blob) {
			continue
		}
		content, err := c.download(ctx, execution, m.Blob)
		if err != nil {
			return err
		}
		if m.Inline = content; m.Temporary {
			m.Blob, m.Temporary = nil, false
		}
	}
	return nil
}

// withheld reports whether the content to which m refers is stored only on the worker of a LOCAL execution.
func withheld(execution uuid.UUID, m *perdurev1.BlobRef) bool {
	ref, err := pbconv.BlobFromProto(m)
	return err == nil && ref.ID == perdure.ContentID(execution, ref.SHA256)
}

// ofLocal reports whether the task belongs to a LOCAL execution.
func ofLocal(t *perdurev1.Task) bool {
	return strings.HasPrefix(t.GetQueue(), perdure.LocalQueuePrefix)
}

// fillTasks downloads those inputs and results of the tasks to which the message only refers.
func (c *Client) fillTasks(ctx context.Context, execution uuid.UUID, tasks ...*perdurev1.Task) error {
	for _, t := range tasks {
		if err := c.fill(ctx, execution, ofLocal(t), t.GetInput(), t.GetResult()); err != nil {
			return err
		}
	}
	return nil
}

// download returns the bytes of a blob. Errors: internal if the length or hash of the bytes differs from
// the reference m; those of GetBlob.
func (c *Client) download(ctx context.Context, execution uuid.UUID, m *perdurev1.BlobRef) ([]byte, error) {
	ref, err := pbconv.BlobFromProto(m)
	if err != nil {
		return nil, err
	}
	content, err := c.GetBlob(ctx, execution, ref.ID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	buf := bytes.NewBuffer([]byte{})
	if _, err := buf.ReadFrom(io.LimitReader(content, ref.Length+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) != ref.Length || perdure.Hash(sha256.Sum256(buf.Bytes())) != ref.SHA256 {
		return nil, perdure.Errorf(perdure.Internal, "blob %s is not what its reference says", ref.ID)
	}
	return buf.Bytes(), nil
}

// agentClaim converts the message m to a claim, and downloads the contents to which m only refers.
func (c *Client) agentClaim(ctx context.Context, m *perdurev1.AgentClaim) (*perdure.AgentClaim, error) {
	execution, err := pbconv.UUIDFromProto("lease.execution_id", m.GetLease().GetExecutionId())
	if err != nil {
		return nil, err
	}
	contents := []*perdurev1.Content{m.GetExecution().GetInput(), m.GetExecution().GetOutput(), m.GetCheckpoint().GetState()}
	contents = append(contents, valuesOf(m.GetSignals())...)
	contents = append(contents, valuesOf(m.GetAgain())...)
	for _, t := range m.GetResults() {
		contents = append(contents, t.GetInput(), t.GetResult())
	}
	local := m.GetExecution().GetPersistenceMode() == perdurev1.PersistenceMode_PERSISTENCE_MODE_LOCAL
	if err := c.fill(ctx, execution, local, contents...); err != nil {
		return nil, err
	}
	claim, err := pbconv.AgentClaimFromProto(m)
	if err != nil {
		return nil, err
	}
	return claim, c.fetchDeferred(ctx, execution, m.GetResults(), claim.Results)
}

// taskClaim converts the message m to a claim of a task, and downloads the contents to which m only
// refers.
func (c *Client) taskClaim(ctx context.Context, m *perdurev1.TaskClaim) (perdure.TaskClaim, error) {
	execution, err := pbconv.UUIDFromProto("lease.execution_id", m.GetLease().GetExecutionId())
	if err != nil {
		return perdure.TaskClaim{}, err
	}
	if err := c.fillTasks(ctx, execution, m.GetTask()); err != nil {
		return perdure.TaskClaim{}, err
	}
	return pbconv.TaskClaimFromProto(m)
}

// commitReply converts the message m to the reply to a commit, and downloads the contents to which
// m only refers.
func (c *Client) commitReply(ctx context.Context, execution uuid.UUID, m *perdurev1.CommitResponse) (perdure.CommitReply, error) {
	tasks := slices.Clip(m.GetTasks())
	for _, claim := range m.GetClaims() {
		tasks = append(tasks, claim.GetTask())
	}
	err := c.fill(ctx, execution, false, valuesOf(m.GetSignals())...)
	if err == nil {
		err = c.fillTasks(ctx, execution, tasks...)
	}
	if err != nil {
		return perdure.CommitReply{}, err
	}
	reply, err := pbconv.CommitReplyFromProto(m)
	if err != nil {
		return reply, err
	}
	return reply, c.fetchDeferred(ctx, execution, m.GetTasks(), reply.Tasks)
}

// fetchDeferred requests those of the tasks in `list` that did not fit into the message, and puts
// them into the slice `tasks`.
func (c *Client) fetchDeferred(ctx context.Context, execution uuid.UUID, list []*perdurev1.Task, tasks []*perdure.Task) error {
	var places []int
	var ids []uuid.UUID
	for i, m := range list {
		if m.GetDeferred() {
			places, ids = append(places, i), append(ids, tasks[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	fetched, err := c.Tasks(ctx, execution, ids)
	if err != nil {
		return err
	}
	if len(fetched) != len(ids) {
		return perdure.Errorf(perdure.Internal, "the server gave %d tasks of the %d asked for", len(fetched), len(ids))
	}
	for i, place := range places {
		tasks[place] = fetched[i]
	}
	return nil
}

func valuesOf(signals []*perdurev1.Signal) []*perdurev1.Content {
	var contents []*perdurev1.Content
	for _, s := range signals {
		contents = append(contents, s.GetSignalValue())
	}
	return contents
}

// giveBack releases a claim that the client cannot use, and logs the reason why. If the release fails, the
// claim ends with its lease.
func (c *Client) giveBack(ctx context.Context, why error, r perdure.Release) {
	log := c.o.Logger.With("worker", r.WorkerID)
	for _, a := range r.Agents {
		log = log.With("execution", a.Lease.ExecutionID, "fence", a.Lease.Fence)
	}
	for _, t := range r.Tasks {
		log = log.With("execution", t.Lease.ExecutionID, "task", t.Lease.TaskID, "attempt", t.Lease.Attempt)
	}
	log.ErrorContext(ctx, "a claim is given back, for its contents cannot be had", "error", why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.Release(ctx, r); err != nil {
		log.WarnContext(ctx, "the claim could not be given back", "error", err)
	}
}
