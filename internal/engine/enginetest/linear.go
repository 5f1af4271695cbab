package enginetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store/opentest"
)

// Linearizable runs workers and clients concurrently on one execution, and then on three. It checks
// that their claims, commits, releases, signals, cancels and reads can be put in an order in which
// the reference model returns the same results.
func Linearizable(t *testing.T, open opentest.Opener) {
	for _, executions := range []int{1, 3} {
		t.Run(fmt.Sprint(executions), func(t *testing.T) {
			c := &crowd{fixture: newFixture(t, open), began: time.Now()}
			for range executions {
				c.xs = append(c.xs, c.start())
			}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			together(8, func(i int) {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				for range 10 {
					if i < 4 {
						c.work(i, r)
					} else {
						c.ask(i, r)
					}
				}
			})
			if result := porcupine.CheckOperationsTimeout(linear, c.history, time.Minute); result != porcupine.Ok {
				t.Errorf("no order of the %d operations explains their answers (%s)", len(c.history), result)
			}
		})
	}
}

// crowd is a group of workers and clients, with a record of their operations.
type crowd struct {
	*fixture
	xs    []uuid.UUID
	began time.Time

	mu      sync.Mutex // guards history
	history []porcupine.Operation
}

// operation is a call of a worker or a client. Apart from the field `execution`, exactly one field
// is set.
type operation struct {
	execution     uuid.UUID
	claim, cancel bool
	commit        *perdure.Commit
	release       *perdure.Lease
	signal        *engine.SignalRequest
	pending       bool
	vote          *questions.AnswerRequest
	voter         uuid.UUID
}

// told is the result of an operation.
type told struct {
	code    perdure.Code
	lease   perdure.Lease
	answer  answer
	status  perdure.Status
	decided perdure.QuestionStatus
	pending []string
}

func (c *crowd) now() int64 { return int64(time.Since(c.began)) }

func (c *crowd) note(member int, call int64, in operation, out told) {
	back := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: member, Input: in, Call: call, Output: out, Return: back})
}

// work claims an execution and sends some commits; it sends some of them twice at the same time. It
// then releases the claim and sends one more commit, which must be refused.
func (c *crowd) work(member int, r *rand.Rand) {
	call := c.now()
	claims, err := c.d.PollAgents(c.Context(), pollFor(1, 0))
	if err != nil {
		c.Error(err)
	}
	for _, claim := range claims {
		l, leaf := claim.Lease, claim.Execution.Leaf
		c.note(member, call, operation{execution: l.ExecutionID, claim: true}, told{lease: l})
		signals, number := ids(claim.Signals), int64(1)
		for ; number <= 1+r.Int64N(3); number++ {
			commit := &perdure.Commit{Lease: l, Number: number}
			commit.Entries = []perdure.NewEntry{userEntry(leaf, "hello")}
			leaf = &commit.Entries[0].ID
			if len(signals) > 0 {
				commit.Take, signals = signals[:1], signals[1:]
			}
			switch r.IntN(5) {
			case 0:
				w := perdure.WaitSignal("a")
				commit.Outcome = perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &w}
			case 1:
				commit.Checkpoint = &perdure.NewCheckpoint{}
			case 2:
				commit.Questions = []perdure.NewQuestion{c.question(r)}
			}
			together(1+r.IntN(2), func(int) { c.commit(member, commit) })
		}
		call = c.now()
		if err := c.d.Release(c.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: l}}}); err != nil {
			c.Error(err)
		}
		c.note(member, call, operation{execution: l.ExecutionID, release: &l}, told{})
		c.commit(member, &perdure.Commit{Lease: l, Number: number, Take: []string{"s0"}})
	}
}

func (c *crowd) commit(member int, commit *perdure.Commit) {
	call := c.now()
	reply, err := c.d.Commit(c.Context(), *commit)
	c.note(member, call, operation{execution: commit.Lease.ExecutionID, commit: commit}, told{
		code:   perdure.CodeOf(err),
		answer: answer{ended: reply.Ended, suspended: reply.Suspended, checkpoint: reply.CheckpointSeq},
	})
}

// ask does what a client does: it sends signals and votes, reads the pending signals, and rarely
// cancels the execution.
func (c *crowd) ask(member int, r *rand.Rand) {
	in, call := operation{execution: c.xs[r.IntN(len(c.xs))]}, c.now()
	switch n := r.IntN(20); {
	case n == 0:
		in.cancel = true
		_, _, err := c.e.Cancel(c.Context(), org, in.execution)
		c.note(member, call, in, told{code: perdure.CodeOf(err)})
	case n < 6:
		in.pending = true
		signals, err := c.d.Signals(c.Context(), in.execution, nil, 0, 100)
		c.note(member, call, in, told{code: perdure.CodeOf(err), pending: ids(signals)})
	case n < 13:
		c.answer(member, r, in.execution)
	default:
		in.signal = &engine.SignalRequest{Name: []string{"a", "b"}[r.IntN(2)], ID: fmt.Sprint("s", r.IntN(12))}
		reply, err := c.e.Signal(c.Context(), org, in.execution, *in.signal)
		c.note(member, call, in, told{code: perdure.CodeOf(err), status: reply.Status})
	}
}

// linear gives the reference model to porcupine, a checker of linearizability. Each execution is
// checked separately.
var linear = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[uuid.UUID][]porcupine.Operation{}
		for _, o := range history {
			id := o.Input.(operation).execution
			parts[id] = append(parts[id], o)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init:  func() any { return created(uuid.Nil, time.Time{}) },
	Equal: func(a, b any) bool { return reflect.DeepEqual(a, b) },
	Step: func(state, input, output any) (bool, any) {
		x, out := state.(*execution).clone(), output.(told)
		return x.explains(input.(operation), out), x
	},
}

// explains applies the operation to the reference model. It reports whether that model returns the
// same result as the engine did. The model's clock does not move.
func (x *execution) explains(in operation, out told) bool {
	x.id = in.execution
	now := time.Time{}
	switch {
	case in.claim:
		if !x.claimable(now) {
			return false
		}
		x.claimed(out.lease, now)
		return x.fence == out.lease.Fence
	case in.commit != nil:
		a, code := x.commit(*in.commit, now)
		return code == out.code && (code != "" || a.ended == out.answer.ended && a.suspended == out.answer.suspended && a.checkpoint == out.answer.checkpoint)
	case in.release != nil:
		x.release(*in.release, false, now)
	case in.signal != nil:
		code := x.signal(in.signal.ID, in.signal.Name, now)
		return code == out.code && (code != "" || x.status == out.status)
	case in.cancel:
		x.cancel(now)
	case in.vote != nil:
		code := x.vote(in.vote.Question, in.voter, voteOf(*in.vote), now)
		return code == out.code && (code != "" || x.questions[in.vote.Question].status == out.decided)
	case in.pending:
		return slices.Equal(x.pending, out.pending)
	}
	return out.code == ""
}
