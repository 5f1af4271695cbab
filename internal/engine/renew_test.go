package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
)

// stubborn is a store in which the commands with the names in the field `names` fail for one
// execution. If the field `err` is nil, these commands block instead.
type stubborn struct {
	store.Store
	names     []string
	execution uuid.UUID
	err       error
}

func (r *stubborn) Do(ctx context.Context, c store.Command) ([]any, error) {
	if c.Execution != r.execution || !slices.Contains(r.names, c.Name) {
		return r.Store.Do(ctx, c)
	}
	if r.err != nil {
		return nil, r.err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestARenewalThatFailsCostsTheOthersNothing checks that a renewal that fails or blocks does not
// affect the other renewals of its heartbeat. The reply to that renewal is Unknown, and its lease
// is unchanged. A heartbeat fails only if no part of it succeeded.
func TestARenewalThatFailsCostsTheOthersNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"unavailable":    perdure.Errorf(perdure.Unavailable, "planned"),
		"without a code": errors.New("planned"),
		"hangs":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newBench(t)
				one, other, parked := b.started(), b.started(), b.started()
				_, c := one.scheduled("1")
				_, d := other.scheduled("2")
				task, otherTask := c.Lease, d.Lease
				parked.parks(0)
				before := b.execution(one.id).LeaseUntil
				b.use(&stubborn{Store: b.s, names: []string{"renew", "renew task"}, execution: one.id, err: failure})
				b.clock.advance(testLease / 2)
				beat := func(holds ...*holder) (perdure.HeartbeatReply, error) {
					h := perdure.Heartbeat{WorkerID: b.worker}
					for _, held := range holds {
						h.Agents = append(h.Agents, held.claim.Lease)
					}
					return b.d.Heartbeat(t.Context(), h)
				}
				reply, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{
					WorkerID: b.worker, Agents: []perdure.Lease{one.claim.Lease, other.claim.Lease},
					Tasks:  []perdure.TaskHeartbeat{{Lease: task}, {Lease: otherTask}},
					Parked: []perdure.ParkedExecution{{ExecutionID: parked.id, At: b.execution(parked.id).LastCommit}},
				})
				b.must(err)
				if reply.Agents[0] != (perdure.AgentHeartbeatReply{Unknown: true}) || reply.Agents[1] != (perdure.AgentHeartbeatReply{}) {
					t.Errorf("the executions are answered with %+v", reply.Agents)
				}
				if reply.Tasks[0] != (perdure.TaskHeartbeatReply{Unknown: true}) || reply.Tasks[1] != (perdure.TaskHeartbeatReply{}) {
					t.Errorf("the tasks are answered with %+v", reply.Tasks)
				}
				if reply.Parked[0] != perdure.ParkedKeep {
					t.Errorf("the parked one is answered with %q", reply.Parked[0])
				}
				if until := b.execution(other.id).LeaseUntil; !until.Equal(b.clock.Now().Add(testLease)) {
					t.Errorf("the other's lease ends at %s", until)
				}
				if until := b.execution(one.id).LeaseUntil; until != before {
					t.Errorf("the lease that was not renewed ends at %s, before at %s", until, before)
				}
				if _, err := beat(one); err == nil {
					t.Error("a heartbeat of which nothing could be done was answered")
				}
				_, err = beat(other)
				b.must(err)
			})
		})
	}
}

// TestParkedGoroutinesOfWhichNothingIsKnownAreKept checks a heartbeat that reports a parked
// goroutine while the server cannot read the goroutine's execution. The reply tells the worker to
// keep the goroutine (ParkedKeep), and the worker's leases are renewed.
func TestParkedGoroutinesOfWhichNothingIsKnownAreKept(t *testing.T) {
	b := newBench(t)
	one, parked := b.started(), b.started()
	parked.parks(0)
	at := b.execution(parked.id).LastCommit
	b.e.refs = &unreadable{ClaimReader: b.e.refs}
	reply, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{
		WorkerID: b.worker, Agents: []perdure.Lease{one.claim.Lease}, Parked: []perdure.ParkedExecution{{ExecutionID: parked.id, At: at}},
	})
	b.must(err)
	if reply.Agents[0] != (perdure.AgentHeartbeatReply{}) || reply.Parked[0] != perdure.ParkedKeep {
		t.Errorf("the heartbeat is answered with %+v", reply)
	}
}

// TestNothingNewIsBelievedOfWhatCannotBeRead checks a goroutine that one worker has parked. While
// the store cannot be read, a heartbeat of another worker reports the same goroutine as its own.
// The server ignores that, because the execution may belong to another org.
func TestNothingNewIsBelievedOfWhatCannotBeRead(t *testing.T) {
	b := newBench(t)
	parked, running := b.started(), b.started()
	parked.parks(0)
	at := b.execution(parked.id).LastCommit
	h := perdure.Heartbeat{WorkerID: b.worker, Parked: []perdure.ParkedExecution{{ExecutionID: parked.id, At: at}}}
	_, err := b.d.Heartbeat(t.Context(), h)
	b.must(err)
	b.e.refs = &unreadable{ClaimReader: b.e.refs}
	defer b.openPoll(b.worker)()
	kept := func() bool { return b.e.keepers.FirstClaims(uuid.New()).Skip(parked.id, b.s.Now()) }
	h.Agents = []perdure.Lease{running.claim.Lease} // this part succeeds
	for _, other := range []struct {
		worker uuid.UUID
		at     perdure.CommitNumber
	}{{uuid.New(), at}, {uuid.New(), perdure.CommitNumber{Fence: 1}}, {b.worker, at}} {
		h.WorkerID, h.Parked[0].At = other.worker, other.at
		_, err := b.d.Heartbeat(t.Context(), h)
		b.must(err)
		if !kept() {
			t.Fatalf("after the heartbeat of %s the execution is not kept by %s", other.worker, b.worker)
		}
	}
}

// unreadable is a reader on which Together, which reads from one snapshot, fails.
type unreadable struct{ store.ClaimReader }

func (*unreadable) Together(context.Context, func(store.ClaimReader) error) error {
	return perdure.Errorf(perdure.Unavailable, "planned")
}

// TestParkedGoroutinesAreAskedAboutTogether checks that a heartbeat checks all parked goroutines
// with one query, and reads only the executions that have changed or that the store does not have.
func TestParkedGoroutinesAreAskedAboutTogether(t *testing.T) {
	b := newBench(t)
	var h perdure.Heartbeat
	h.WorkerID = b.worker
	var want []perdure.ParkedState
	for i := range 12 {
		one := b.started()
		one.parks(0)
		at := b.execution(one.id).LastCommit
		state := perdure.ParkedKeep
		if i == 7 {
			at.Number++
			state = perdure.ParkedMoved
		}
		h.Parked, want = append(h.Parked, perdure.ParkedExecution{ExecutionID: one.id, At: at}), append(want, state)
	}
	h.Parked, want = append(h.Parked, perdure.ParkedExecution{ExecutionID: uuid.New()}), append(want, perdure.ParkedEnded)
	reads := &countedRefs{ClaimReader: b.e.refs}
	b.e.refs = reads
	reply, err := b.d.Heartbeat(t.Context(), h)
	b.must(err)
	if !slices.Equal(reply.Parked, want) {
		t.Errorf("they are answered with %v, want %v", reply.Parked, want)
	}
	if reads.moved != 1 || reads.executions != 2 {
		t.Errorf("%d queries about all and %d about one, want 1 and 2", reads.moved, reads.executions)
	}
}

// countedRefs is a reader that counts the reads of a heartbeat.
type countedRefs struct {
	store.ClaimReader
	moved, executions int
}

func (r *countedRefs) Together(ctx context.Context, read func(store.ClaimReader) error) error {
	return r.ClaimReader.Together(ctx, func(within store.ClaimReader) error {
		outer := r.ClaimReader
		r.ClaimReader = within
		defer func() { r.ClaimReader = outer }()
		return read(r)
	})
}

func (r *countedRefs) Moved(ctx context.Context, org string, all []store.Standing) ([]uuid.UUID, error) {
	r.moved++
	return r.ClaimReader.Moved(ctx, org, all)
}

func (r *countedRefs) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	r.executions++
	return r.ClaimReader.Execution(ctx, org, id)
}
