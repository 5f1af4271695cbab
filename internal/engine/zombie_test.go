package engine

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// write is one kind of write of a worker. The result `refused` reports whether the reply says that
// the lease has ended. The reply to a release never says that; for a release, `refused` reports
// whether nothing changed.
type write func(ctx context.Context, d perdure.Dispatch) (refused bool, err error)

func lostError(err error) (bool, error) {
	if perdure.IsCode(err, perdure.LeaseLost) {
		return true, nil
	}
	return false, err
}

func agentWrites(h *holder, l perdure.Lease) map[string]write {
	commit := func(edit func(*perdure.Commit)) write {
		return func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			c := perdure.Commit{Lease: l, Number: h.number + 1}
			edit(&c)
			_, err := d.Commit(ctx, c)
			return lostError(err)
		}
	}
	return map[string]write{
		"Commit entries":  commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "ghost")} }),
		"Commit tasks":    commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("99")} }),
		"Commit suspend":  commit(suspending(perdure.WaitSignal("x"))),
		"Commit complete": commit(completing()),
		"Commit the same again": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			_, err := d.Commit(ctx, perdure.Commit{Lease: l, Number: h.number})
			return lostError(err)
		},
		"Append": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			replies, err := d.Append(ctx, []perdure.Frame{agentFrame(l, "ghost")})
			return err == nil && replies[0].Err != nil && replies[0].Err.Code == perdure.LeaseLost, err
		},
		"PutBlob": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			_, err := d.PutBlob(ctx, perdure.BlobOwner{ExecutionID: l.ExecutionID, Lease: &l}, 5, bytes.NewReader([]byte("ghost")))
			return lostError(err)
		},
		"Heartbeat": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			beat, err := d.Heartbeat(ctx, perdure.Heartbeat{Agents: []perdure.Lease{l}})
			return err == nil && beat.Agents[0].Lost, err
		},
		"Release": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			return true, d.Release(ctx, perdure.Release{Agents: []perdure.AgentRelease{{Lease: l, Panic: "ghost"}}})
		},
	}
}

func taskWrites(l perdure.TaskLease) map[string]write {
	finish := func(f perdure.TaskFinish) write {
		return func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			f.Lease = l
			_, err := d.FinishTask(ctx, f)
			return lostError(err)
		}
	}
	release := func(started bool) write {
		return func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			return true, d.Release(ctx, perdure.Release{Tasks: []perdure.TaskRelease{{Lease: l, Started: started}}})
		}
	}
	return map[string]write{
		"FinishTask with a result": finish(perdure.TaskFinish{Result: perdure.Inline([]byte(`"ghost"`)), Parked: true}),
		"FinishTask with an error": finish(perdure.TaskFinish{Error: &perdure.TaskError{Code: "ghost", Message: "ghost"}}),
		"Append to a task": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			replies, err := d.Append(ctx, []perdure.Frame{{Lease: &l, Type: perdure.EventToken, Text: "ghost"}})
			return err == nil && replies[0].Err != nil && replies[0].Err.Code == perdure.LeaseLost, err
		},
		"PutBlob of a task": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			_, err := d.PutBlob(ctx, perdure.BlobOwner{ExecutionID: l.ExecutionID, TaskLease: &l}, 5, bytes.NewReader([]byte("ghost")))
			return lostError(err)
		},
		"Heartbeat of a task": func(ctx context.Context, d perdure.Dispatch) (bool, error) {
			beat, err := d.Heartbeat(ctx, perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: l, Progress: []byte(`"ghost"`), Alive: true}}})
			return err == nil && beat.Tasks[0].Lost, err
		},
		"Release of a started task": release(true),
		"Release of a task":         release(false),
	}
}

// TestStaleWritesWriteNothing checks that every write with a wrong fence, attempt or claim id is
// refused, and changes no stored data of the execution.
func TestStaleWritesWriteNothing(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "hello")} })
	_, c := h.scheduled("1")
	for name, edit := range map[string]func(*perdure.Lease, *perdure.TaskLease){
		"the fence of before":    func(a *perdure.Lease, k *perdure.TaskLease) { a.Fence, k.Attempt = a.Fence-1, k.Attempt-1 },
		"a fence to come":        func(a *perdure.Lease, k *perdure.TaskLease) { a.Fence, k.Attempt = a.Fence+1, k.Attempt+1 },
		"another claim id":       func(a *perdure.Lease, k *perdure.TaskLease) { a.ClaimID, k.ClaimID = uuid.New(), uuid.New() },
		"no claim id":            func(a *perdure.Lease, k *perdure.TaskLease) { a.ClaimID, k.ClaimID = uuid.Nil, uuid.Nil },
		"the claim id of others": func(a *perdure.Lease, k *perdure.TaskLease) { a.ClaimID, k.ClaimID = k.ClaimID, a.ClaimID },
	} {
		agent, task := h.claim.Lease, c.Lease
		edit(&agent, &task)
		writes := agentWrites(h, agent)
		for what, w := range taskWrites(task) {
			writes[what] = w
		}
		before := b.snapshot(h.id)
		for what, w := range writes {
			refused, err := w(t.Context(), b.d)
			if err != nil || !refused {
				t.Errorf("%s with %s was not refused: %v", what, name, err)
			}
			if after := b.snapshot(h.id); after != before {
				t.Fatalf("%s with %s wrote:\n%s\n%s", what, name, before, after)
			}
		}
	}
	// With the correct leases, the finish and the commit succeed.
	b.finish(done(c, "1"))
	h.commit(completing())
}
