package agenttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// wire implements perdure.Dispatch for one worker. It counts the worker's writes and injects the faults
// of the plan.
type wire struct {
	perdure.Dispatch
	w    *world
	stop context.CancelFunc
	dead atomic.Bool // whether the worker's process has ended
	lost atomic.Bool // the worker's leases are lost: none of its writes may be stored
	// cut is a context that ends when the worker may receive no more work.
	cut     context.Context
	cutLine context.CancelFunc
}

var errDead = perdure.Errorf(perdure.Unavailable, "agenttest: this worker is dead")

// write describes a call that changes data.
type write struct {
	boundary bool // whether the call is a commit or the end of an attempt
	what     string
	// stale, if set, is called after a call without an error. It reports whether the reply says that
	// the server has refused the call because of a lost lease.
	stale func() bool
}

// send delivers the write c with the fault that the plan injects at this write. If the server
// stores a write of a worker that has lost its lease, send notes this as a fault of the run.
func send[T any](l *wire, c write, call func() (T, error)) (answer T, err error) {
	time.Sleep(latency)
	defer l.w.poke()
	if l.dead.Load() {
		return answer, errDead
	}
	switch l.w.arrive(c) {
	case dieBefore:
		l.die()
		return answer, errDead
	case dieAfter:
		_, _ = call() // nobody receives the reply
		l.die()
		return answer, errDead
	case loseBefore, loseForGood:
		l.lose()
	}
	if l.lost.Load() {
		answer, err = call()
		if err == nil && (c.stale == nil || !c.stale()) {
			l.w.note(fmt.Errorf("a worker that had lost its lease could still write: %s was stored", c.what))
		}
		return answer, err
	}
	if answer, err = call(); l.w.plan.twice && err == nil {
		again, errAgain := call()
		if !l.w.plan.first {
			answer, err = again, errAgain
		}
	}
	if l.dead.Load() {
		return answer, errDead
	}
	return answer, err
}

// die simulates the end of the worker's process, and starts another worker after a pause. Calls
// that the dead worker makes after that do not arrive.
func (l *wire) die() {
	l.dead.Store(true)
	l.stop()
	l.w.replace()
}

// lose moves this worker's leases to a new worker, and does not tell this worker. If the plan's fault
// is loseBefore, lose returns when the new worker has claimed the work; otherwise it returns when the
// execution has ended.
func (l *wire) lose() {
	l.cutLine()
	time.Sleep(latency) // waiting polls end meanwhile, or claim work
	w := l.w
	w.note(w.core.ReturnEmbedded(context.Background()))
	l.lost.Store(true)
	w.note(w.work())
	w.poke()
	if w.plan.fate == loseBefore {
		w.mu.Lock()
		taken := w.taken
		w.mu.Unlock()
		select {
		case <-taken:
		case <-w.ended:
		}
		return
	}
	<-w.ended
}

// claimed records that a worker has received work.
func (l *wire) claimed() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if taken := l.w.taken; taken != nil && l.cut.Err() == nil {
		select {
		case <-taken:
		default:
			close(taken)
		}
	}
}

// poll polls the server with the function `ask`. If the worker may receive no work, poll only waits
// until ctx ends.
func poll[T any](ctx context.Context, l *wire, ask func(context.Context) ([]T, error)) ([]T, error) {
	if l.dead.Load() || l.cut.Err() != nil {
		<-ctx.Done()
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.cut, cancel)()
	claims, err := ask(ctx)
	if l.dead.Load() {
		return nil, errDead
	}
	if len(claims) > 0 {
		l.claimed()
	}
	return claims, err
}

// PollAgents implements perdure.Dispatch.
func (l *wire) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	return poll(ctx, l, func(ctx context.Context) ([]perdure.AgentClaim, error) { return l.Dispatch.PollAgents(ctx, p) })
}

// PollTasks implements perdure.Dispatch.
func (l *wire) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	return poll(ctx, l, func(ctx context.Context) ([]perdure.TaskClaim, error) {
		claims, err := l.Dispatch.PollTasks(ctx, p)
		l.w.learn(claims)
		return claims, err
	})
}

// Commit implements perdure.Dispatch.
func (l *wire) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	reply, err := send(l, write{boundary: true, what: describe(c)}, func() (perdure.CommitReply, error) {
		reply, err := l.Dispatch.Commit(ctx, c)
		if err == nil {
			l.w.committed(c, reply)
		}
		return reply, err
	})
	return reply, err
}

// FinishTask implements perdure.Dispatch.
func (l *wire) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	what := "the result of the task " + l.w.kindOf(f.Lease.TaskID)
	if f.Error != nil {
		what = "the failure of the task " + l.w.kindOf(f.Lease.TaskID)
	}
	reply, err := send(l, write{boundary: true, what: what}, func() (perdure.FinishReply, error) {
		reply, err := l.Dispatch.FinishTask(ctx, f)
		if err == nil {
			l.w.finish(f)
		}
		return reply, err
	})
	if err == nil && reply.Claim != nil {
		l.claimed()
	}
	return reply, err
}

// Append implements perdure.Dispatch.
func (l *wire) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	var replies []perdure.FrameReply
	stale := func() bool {
		return !slices.ContainsFunc(replies, func(r perdure.FrameReply) bool { return r.Err == nil })
	}
	return send(l, write{what: fmt.Sprintf("%d streamed pieces", len(frames)), stale: stale}, func() ([]perdure.FrameReply, error) {
		var err error
		replies, err = l.Dispatch.Append(ctx, frames)
		return replies, err
	})
}

// PutBlob implements perdure.Dispatch.
func (l *wire) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	raw, err := io.ReadAll(content)
	if err != nil {
		return perdure.BlobRef{}, err
	}
	return send(l, write{what: fmt.Sprintf("an upload of %d bytes", length)}, func() (perdure.BlobRef, error) {
		return l.Dispatch.PutBlob(ctx, owner, length, bytes.NewReader(raw))
	})
}

// Register implements perdure.Dispatch.
func (l *wire) Register(ctx context.Context, r perdure.Registration) (perdure.Settings, error) {
	return repeat(l, func() (perdure.Settings, error) { return l.Dispatch.Register(ctx, r) })
}

// Heartbeat implements perdure.Dispatch.
func (l *wire) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	return repeat(l, func() (perdure.HeartbeatReply, error) { return l.Dispatch.Heartbeat(ctx, h) })
}

// Release implements perdure.Dispatch.
func (l *wire) Release(ctx context.Context, r perdure.Release) error {
	_, err := repeat(l, func() (struct{}, error) { return struct{}{}, l.Dispatch.Release(ctx, r) })
	l.w.poke()
	return err
}

// repeat delivers a call at which no fault is injected: Register, Heartbeat or Release. It delivers
// the call twice if the plan says so.
func repeat[T any](l *wire, call func() (T, error)) (answer T, err error) {
	if l.dead.Load() {
		return answer, errDead
	}
	if l.w.plan.twice {
		if answer, err = call(); err != nil || l.w.plan.first {
			_, _ = call() // the second delivery; the worker receives the first reply
			return answer, err
		}
	}
	return call()
}
