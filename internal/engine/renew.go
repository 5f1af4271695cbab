package engine

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// heartbeat renews all leases of a worker. Each renewal is a separate command, so that one refused
// or failed renewal does not affect the others. The committer runs these commands in one
// transaction. The reply to a renewal that failed is Unknown. heartbeat returns an error only if
// all renewals failed, or if some failed and ctx has ended.
func (e *Engine) heartbeat(ctx context.Context, org string, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	reply := perdure.HeartbeatReply{
		Agents: make([]perdure.AgentHeartbeatReply, len(h.Agents)),
		Tasks:  make([]perdure.TaskHeartbeatReply, len(h.Tasks)),
		Parked: make([]perdure.ParkedState, len(h.Parked)),
	}
	unread := make([]bool, len(h.Parked))
	b := &beat{e: e}
	b.group.SetLimit(256)
	for i, lease := range h.Agents {
		b.part(ctx, func(ctx context.Context) (err error) {
			reply.Agents[i], err = e.renewAgent(ctx, org, lease)
			return err
		}, func() { reply.Agents[i] = perdure.AgentHeartbeatReply{Unknown: true} })
	}
	for i, task := range h.Tasks {
		b.part(ctx, func(ctx context.Context) (err error) {
			reply.Tasks[i], err = e.renewTask(ctx, org, task)
			return err
		}, func() { reply.Tasks[i] = perdure.TaskHeartbeatReply{Unknown: true} })
	}
	for at := 0; at < len(h.Parked); at += parkedAtOnce {
		end := min(at+parkedAtOnce, len(h.Parked))
		b.part(ctx, func(ctx context.Context) error {
			return e.parkedStates(ctx, org, h.Parked[at:end], reply.Parked[at:end])
		}, func() {
			keepAll(reply.Parked[at:end])
			for i := range unread[at:end] {
				unread[at+i] = true
			}
		})
	}
	if err := b.outcome(ctx); err != nil {
		return perdure.HeartbeatReply{}, err
	}
	e.keepers.Heard(h, reply.Parked, unread, e.Store.Now())
	return reply, nil
}

// beat is a heartbeat that is being processed. Its parts, such as the renewal of one lease, run
// concurrently.
type beat struct {
	e     *Engine
	group errgroup.Group

	mu   sync.Mutex // guards the fields below
	done int
	err  error // the last error of a part
}

// part runs the function `do` in the background as one part of the heartbeat, and calls the
// function `unknown` if `do` fails. The time limit for `do` is a quarter of the lease duration, so
// that one blocked part cannot delay the reply for too long.
func (b *beat) part(ctx context.Context, do func(context.Context) error, unknown func()) {
	b.group.Go(func() error {
		ctx, cancel := context.WithTimeout(ctx, b.e.Lease/4)
		defer cancel()
		err := do(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		if err == nil {
			b.done++
			return nil
		}
		unknown()
		b.e.noteRefusal(err)
		b.err = err
		return nil
	})
}

// outcome waits for the parts. It returns the last error if no part succeeded, or if a part failed
// and ctx has ended.
func (b *beat) outcome(ctx context.Context) error {
	_ = b.group.Wait() // the errors of the parts are in b.err
	if b.err == nil || b.done > 0 && ctx.Err() == nil {
		return nil
	}
	return b.err
}

// keepAll sets all states to ParkedKeep, the state for executions that are unchanged or cannot be
// read.
func keepAll(states []perdure.ParkedState) {
	for i := range states {
		states[i] = perdure.ParkedKeep
	}
}

// noteRefusal notes the error of a renewal. If the error says that the store was unavailable, the
// sweep loop ends no expired lease until workers had time to renew their leases.
func (e *Engine) noteRefusal(err error) {
	if perdure.IsCode(err, perdure.Unavailable) {
		e.refusedRenewal.Store(true)
	}
}

func (e *Engine) renewAgent(ctx context.Context, org string, lease perdure.Lease) (perdure.AgentHeartbeatReply, error) {
	d, err := e.one(ctx, store.Command{
		Name: "renew", Lane: store.LaneClaims, Org: org, Execution: lease.ExecutionID,
		Needs:  rules.RenewNeeds,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.RenewLease(s, e.rules(), lease) },
	})
	if err != nil {
		return perdure.AgentHeartbeatReply{}, err
	}
	return d.Value.(perdure.AgentHeartbeatReply), nil
}

func (e *Engine) renewTask(ctx context.Context, org string, beat perdure.TaskHeartbeat) (perdure.TaskHeartbeatReply, error) {
	d, err := e.one(ctx, store.Command{
		Name: "renew task", Lane: store.LaneClaims, Org: org, Execution: beat.Lease.ExecutionID,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Tasks: []uuid.UUID{beat.Lease.TaskID}} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.RenewTask(s, e.rules(), beat) },
	})
	if err != nil {
		return perdure.TaskHeartbeatReply{}, err
	}
	return d.Value.(perdure.TaskHeartbeatReply), nil
}

// parkedAtOnce is the maximum number of parked goroutines whose executions one query checks for
// changes.
const parkedAtOnce = 1000

// parkedStates sets the states of the parked goroutines of a worker. One query finds the executions
// that have changed since the worker's last commit to them, and parkedStates reads only these.
func (e *Engine) parkedStates(ctx context.Context, org string, parked []perdure.ParkedExecution, states []perdure.ParkedState) error {
	keepAll(states)
	stand, at := make([]store.Standing, len(parked)), make(map[uuid.UUID][]int, len(parked))
	for i, p := range parked {
		stand[i] = store.Standing{Execution: p.ExecutionID, Fence: p.At.Fence, Number: p.At.Number, Answer: rules.AnswerPrefix(p.At)}
		at[p.ExecutionID] = append(at[p.ExecutionID], i)
	}
	return e.refs.Together(ctx, func(refs store.ClaimReader) error {
		moved, err := refs.Moved(ctx, org, stand)
		for _, id := range moved {
			for _, i := range at[id] {
				if err == nil {
					states[i], err = parkedState(ctx, refs, org, parked[i])
				}
			}
		}
		return err
	})
}

// parkedState reports what the worker should do with the goroutine of a suspended execution. The
// worker should discard the goroutine if the execution has ended or does not exist, or if another
// claim has committed since the goroutine parked. Otherwise the worker should keep the goroutine.
func parkedState(ctx context.Context, refs store.ClaimReader, org string, p perdure.ParkedExecution) (perdure.ParkedState, error) {
	x, err := refs.Execution(ctx, org, p.ExecutionID)
	switch {
	case perdure.IsCode(err, perdure.NotFound):
		return perdure.ParkedEnded, nil
	case err != nil:
		return "", err
	case x.Status.Terminal():
		return perdure.ParkedEnded, nil
	case !rules.LastCommit(x).Same(p.At):
		return perdure.ParkedMoved, nil
	}
	return perdure.ParkedKeep, nil
}
