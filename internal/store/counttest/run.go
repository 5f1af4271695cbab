package counttest

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
)

// Run is an execution that a worker has claimed, on an engine over a store. Its methods send the
// commits of a worker that parks the execution's goroutine and runs the execution's tasks itself.
type Run struct {
	testing.TB
	d      perdure.Dispatch
	worker uuid.UUID
	lease  perdure.Lease
	number int64
}

// Claim starts an execution and claims it.
func Claim(t testing.TB, s store.Store) *Run {
	t.Helper()
	e := engine.New(engine.Config{Store: s, Tick: time.Hour})
	r := &Run{TB: t, d: e.Dispatch("acme", false), worker: uuid.New()}
	_, err := r.d.Register(t.Context(), perdure.Registration{
		WorkerID: r.worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}, Tasks: []perdure.KindSpec{{Kind: "work"}},
	})
	r.must(err)
	_, err = e.Start(t.Context(), "acme", engine.StartRequest{Kind: "agent"})
	r.must(err)
	claims, err := r.d.PollAgents(t.Context(), perdure.Poll{WorkerID: r.worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1})
	r.must(err)
	if len(claims) != 1 {
		t.Fatalf("%d executions were claimed", len(claims))
	}
	r.lease = claims[0].Lease
	return r
}

func (r *Run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *Run) commit(c perdure.Commit) perdure.CommitReply {
	r.Helper()
	r.number++
	c.Lease, c.Number = r.lease, r.number
	reply, err := r.d.Commit(r.Context(), c)
	r.must(err)
	return reply
}

// Step commits the result of a step. Each n stands for a different step.
func (r *Run) Step(n int) {
	r.Helper()
	key := perdure.StepKey(r.lease.ExecutionID, "s", strconv.Itoa(n))
	r.commit(perdure.Commit{Steps: []perdure.StepRecord{{Name: "s", Key: key, Result: perdure.Inline(json.RawMessage(`"done"`))}}})
}

// Task commits a task that the same worker claims at once and completes. Then the worker claims the
// execution again.
func (r *Run) Task(n int) {
	r.Helper()
	input := json.RawMessage(strconv.Itoa(n))
	key, err := perdure.DefaultTaskKey(r.lease.ExecutionID, "work", input, "")
	r.must(err)
	wait := perdure.WaitTask(perdure.TaskID(key))
	reply := r.commit(perdure.Commit{
		Tasks:   []perdure.NewTask{{Kind: "work", Key: key, Input: perdure.Inline(input), InputHash: sha256.Sum256(input)}},
		Offer:   perdure.TaskOffer{WorkerID: r.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 1},
		Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait},
	})
	if len(reply.Claims) != 1 {
		r.Fatalf("the commit claims %d tasks", len(reply.Claims))
	}
	kept := &perdure.RetainedState{WorkerID: r.worker, At: perdure.CommitNumber{Fence: r.lease.Fence, Number: r.number}}
	end, err := r.d.FinishTask(r.Context(), perdure.TaskFinish{
		WorkerID: r.worker, Lease: reply.Claims[0].Lease, Result: perdure.Inline(json.RawMessage(`"done"`)), Parked: true, Retained: kept,
	})
	r.must(err)
	if end.Claim == nil {
		r.Fatal("the end of the task does not bring the execution")
	}
	r.lease, r.number = end.Claim.Lease, 0
}
