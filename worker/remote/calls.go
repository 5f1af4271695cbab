package remote

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// or returns the id `worker`. If that id is zero, it returns the WorkerID of the client's options.
func (c *Client) or(worker uuid.UUID) uuid.UUID {
	if worker == uuid.Nil {
		return c.o.WorkerID
	}
	return worker
}

// Register implements perdure.Dispatch.
func (c *Client) Register(ctx context.Context, r perdure.Registration) (perdure.Settings, error) {
	r.WorkerID = c.or(r.WorkerID)
	m, err := pbconv.RegistrationToProto(r)
	if err != nil {
		return perdure.Settings{}, err
	}
	reply, err := again(ctx, c, "Register", func(ctx context.Context) (*perdurev1.RegisterResponse, error) {
		return c.worker.Register(ctx, m)
	})
	if err != nil {
		return perdure.Settings{}, err
	}
	return pbconv.SettingsFromProto(reply)
}

// Heartbeat implements perdure.Dispatch. If a server does not answer within half of the time until ctx's
// deadline, and there are several servers, the client switches to another one. Otherwise the leases could
// expire.
func (c *Client) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	h.WorkerID = c.or(h.WorkerID)
	m := pbconv.HeartbeatToProto(h)
	reply, err := again(ctx, c, "Heartbeat", func(ctx context.Context) (*perdurev1.HeartbeatResponse, error) {
		defer c.breakAtHalfDeadline(ctx)()
		return c.worker.Heartbeat(ctx, m)
	})
	if err != nil {
		return perdure.HeartbeatReply{}, err
	}
	return pbconv.HeartbeatReplyFromProto(reply)
}

// breakAtHalfDeadline breaks the connection after half of the time until ctx's deadline, unless
// `stop` is called first. The pending call then fails with the error unavailable, and is retried at
// another server. If there is only one server or no deadline, breakAtHalfDeadline does nothing.
func (c *Client) breakAtHalfDeadline(ctx context.Context) (stop func()) {
	until, limited := ctx.Deadline()
	if !limited || !c.at.several() {
		return func() {}
	}
	timer := time.AfterFunc(time.Until(until)/2, func() {
		c.o.Logger.Warn("the server is silent; going on at another", "addr", c.o.Addr)
		c.wire.cut()
	})
	return func() { timer.Stop() }
}

// Release implements perdure.Dispatch. It does not retry: a claim that is not released ends with its lease.
func (c *Client) Release(ctx context.Context, r perdure.Release) error {
	r.WorkerID = c.or(r.WorkerID)
	_, err := c.worker.Release(ctx, pbconv.ReleaseToProto(r))
	return c.fail(ctx, err)
}

// PollAgents implements perdure.Dispatch. It releases each claim whose contents cannot be downloaded. If no
// claim is left, it returns the error of the download.
func (c *Client) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	p.WorkerID = c.or(p.WorkerID)
	reply, err := c.agents.PollAgent(ctx, pbconv.PollAgentsToProto(p))
	if err != nil {
		return nil, c.fail(ctx, err)
	}
	var claims []perdure.AgentClaim
	for _, m := range reply.GetClaims() {
		claim, failed := c.agentClaim(ctx, m)
		if failed != nil {
			err = failed
			lease, _ := pbconv.LeaseFromProto(m.GetLease())
			c.giveBack(ctx, failed, perdure.Release{WorkerID: p.WorkerID, Agents: []perdure.AgentRelease{{Lease: lease}}})
			continue
		}
		claims = append(claims, *claim)
	}
	if len(claims) == 0 {
		return nil, err
	}
	return claims, nil
}

// PollTasks implements perdure.Dispatch. It releases each claim whose contents cannot be downloaded. If no
// claim is left, it returns the error of the download.
func (c *Client) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	p.WorkerID = c.or(p.WorkerID)
	reply, err := c.worker.PollTask(ctx, pbconv.PollTasksToProto(p))
	if err != nil {
		return nil, c.fail(ctx, err)
	}
	var claims []perdure.TaskClaim
	for _, m := range reply.GetClaims() {
		claim, failed := c.taskClaim(ctx, m)
		if failed != nil {
			err = failed
			lease, _ := pbconv.TaskLeaseFromProto(m.GetLease())
			c.giveBack(ctx, failed, perdure.Release{WorkerID: p.WorkerID, Tasks: []perdure.TaskRelease{{Lease: lease}}})
			continue
		}
		claims = append(claims, claim)
	}
	if len(claims) == 0 {
		return nil, err
	}
	return claims, nil
}

// failedTime returns how long the earlier tries of a call took: the time from the first try, at
// `began`, to this try, rounded down. The client adds this time to Waited of the claims in the
// reply, because the leases of these claims begin no earlier than the try that succeeds.
func failedTime(began time.Time) time.Duration {
	return time.Since(began).Truncate(100 * time.Millisecond)
}

// Commit implements perdure.Dispatch. The client uploads contents that are too large for the
// message before it sends the message. It repeats the call while the server is unavailable or
// overloaded.
func (c *Client) Commit(ctx context.Context, commit perdure.Commit) (perdure.CommitReply, error) {
	if commit.Offer.Slots > 0 {
		commit.Offer.WorkerID = c.or(commit.Offer.WorkerID)
	}
	m := pbconv.CommitToProto(commit)
	if err := c.fitter(ctx).Commit(m, commit.Lease); err != nil {
		return perdure.CommitReply{}, err
	}
	began := time.Now()
	return again(ctx, c, "Commit", func(ctx context.Context) (perdure.CommitReply, error) {
		waited := failedTime(began)
		got, err := c.agents.Commit(ctx, m)
		if err != nil {
			return perdure.CommitReply{}, err
		}
		reply, err := c.commitReply(ctx, commit.Lease.ExecutionID, got)
		for i := range reply.Claims {
			reply.Claims[i].Waited += waited
		}
		return reply, err
	})
}

// FinishTask implements perdure.Dispatch. The client uploads a result that is too large for the
// message before it sends the message. It repeats the call while the server is unavailable or
// overloaded.
func (c *Client) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	f.WorkerID = c.or(f.WorkerID)
	m := pbconv.FinishToProto(f)
	owner := perdure.BlobOwner{ExecutionID: f.Lease.ExecutionID, TaskLease: &f.Lease}
	if err := c.fitter(ctx).Content(m.GetResult(), owner); err != nil {
		return perdure.FinishReply{}, err
	}
	began := time.Now()
	return again(ctx, c, "FinishTask", func(ctx context.Context) (perdure.FinishReply, error) {
		waited := failedTime(began)
		reply, err := c.worker.FinishTask(ctx, m)
		if err != nil || reply.GetClaim() == nil {
			return perdure.FinishReply{}, err
		}
		claim, err := c.agentClaim(ctx, reply.GetClaim())
		if claim != nil {
			claim.Waited += waited
		}
		return perdure.FinishReply{Claim: claim}, err
	})
}
