package worker

import (
	"bytes"
	"context"
	"io"
	"iter"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// fault is the way in which a call of a faulty dispatch fails.
type fault int

const (
	fine    fault = iota
	before        // the call does not arrive at the server
	limited       // the call does not arrive at the server; its error is rate_limited
	after         // the call arrives at the server, but its reply is lost
	twice         // the call arrives at the server twice; the second reply is returned
)

// faulty is a dispatch whose calls fail as a test plans. It counts the calls and passes them to
// functions of the test.
type faulty struct {
	perdure.Dispatch
	// plan returns the fault of call number n of a method, counted from 1.
	plan func(method string, n int) fault
	// refuse, if set, returns an error for call number n of a method. The server then does not
	// receive the call. If refuse returns nil, the server receives it.
	refuse func(method string, n int) error
	// The functions below, if set, are called with the request or the reply of a call. They may
	// change the request or the reply, or delay the call.
	onCommit    func(perdure.Commit, *perdure.CommitReply) error
	onAgents    func([]perdure.AgentClaim)
	onTasks     func([]perdure.TaskClaim)
	onHeartbeat func(perdure.Heartbeat, *perdure.HeartbeatReply) error
	onEntries   func(perdure.EntryQuery)
	onRelease   func(perdure.Release)
	onEnded     func(perdure.EndedQuery)
	onFinish    func(perdure.TaskFinish) error // if it returns an error, the call does not arrive

	mu    sync.Mutex // guards the field calls
	calls map[string]int
}

func (f *faulty) next(method string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[method]++
	if f.plan == nil {
		return fine
	}
	return f.plan(method, f.calls[method])
}

func (f *faulty) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func unavailable() error { return perdure.Errorf(perdure.Unavailable, "planned") }

func through[T any](f *faulty, method string, call func() (T, error)) (T, error) {
	var none T
	kind := f.next(method)
	if f.refuse != nil {
		if err := f.refuse(method, f.count(method)); err != nil {
			return none, err
		}
	}
	switch kind {
	case before:
		return none, unavailable()
	case limited:
		return none, perdure.Errorf(perdure.RateLimited, "planned")
	case after:
		if _, err := call(); err != nil && !perdure.IsCode(err, perdure.Unavailable) {
			return none, err
		}
		return none, unavailable()
	case twice:
		if v, err := call(); err != nil {
			return v, err
		}
	}
	return call()
}

func (f *faulty) Register(ctx context.Context, r perdure.Registration) (perdure.Settings, error) {
	return through(f, "Register", func() (perdure.Settings, error) { return f.Dispatch.Register(ctx, r) })
}

// PollAgents applies only the fault `before`. It never repeats a poll, because the claims in a lost
// reply would become available only when their leases expire.
func (f *faulty) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	if f.next("PollAgents") == before {
		return nil, unavailable()
	}
	claims, err := f.Dispatch.PollAgents(ctx, p)
	if f.onAgents != nil && len(claims) > 0 {
		f.onAgents(claims)
	}
	return claims, err
}

func (f *faulty) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	if f.next("PollTasks") == before {
		return nil, unavailable()
	}
	claims, err := f.Dispatch.PollTasks(ctx, p)
	if f.onTasks != nil && len(claims) > 0 {
		f.onTasks(claims)
	}
	return claims, err
}

func (f *faulty) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	reply, err := through(f, "Heartbeat", func() (perdure.HeartbeatReply, error) { return f.Dispatch.Heartbeat(ctx, h) })
	if err == nil && f.onHeartbeat != nil {
		err = f.onHeartbeat(h, &reply)
	}
	return reply, err
}

func (f *faulty) Release(ctx context.Context, r perdure.Release) error {
	if f.onRelease != nil {
		f.onRelease(r)
	}
	_, err := through(f, "Release", func() (struct{}, error) { return struct{}{}, f.Dispatch.Release(ctx, r) })
	return err
}

func (f *faulty) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	reply, err := through(f, "Commit", func() (perdure.CommitReply, error) { return f.Dispatch.Commit(ctx, c) })
	if err == nil && f.onCommit != nil {
		err = f.onCommit(c, &reply)
	}
	return reply, err
}

func (f *faulty) FinishTask(ctx context.Context, t perdure.TaskFinish) (perdure.FinishReply, error) {
	return through(f, "FinishTask", func() (perdure.FinishReply, error) {
		if f.onFinish != nil {
			if err := f.onFinish(t); err != nil {
				return perdure.FinishReply{}, err
			}
		}
		return f.Dispatch.FinishTask(ctx, t)
	})
}

func (f *faulty) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	return through(f, "Append", func() ([]perdure.FrameReply, error) { return f.Dispatch.Append(ctx, frames) })
}

func (f *faulty) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	f.next("Entries")
	if f.onEntries != nil {
		f.onEntries(q)
	}
	return f.Dispatch.Entries(ctx, q)
}

func (f *faulty) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	raw, err := io.ReadAll(content)
	if err != nil {
		return perdure.BlobRef{}, err
	}
	return through(f, "PutBlob", func() (perdure.BlobRef, error) {
		return f.Dispatch.PutBlob(ctx, owner, length, bytes.NewReader(raw))
	})
}

func (f *faulty) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	f.next("Tasks")
	for range ids {
		f.next("an id of Tasks")
	}
	return f.Dispatch.Tasks(ctx, execution, ids)
}

func (f *faulty) Ended(ctx context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	if f.onEnded != nil {
		f.onEnded(q)
	}
	return through(f, "Ended", func() (perdure.EndedPage, error) { return f.Dispatch.Ended(ctx, q) })
}

// overFaulty returns a change of a worker's configuration. With it, the worker calls the bench's
// engine through f.
func (b *bench) overFaulty(f *faulty) func(*Config) {
	f.Dispatch = b.e.Dispatch(org, false)
	return func(c *Config) { c.Dispatch = f }
}
