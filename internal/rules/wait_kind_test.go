package rules

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// u0 is the id of the open question in each suspension, the execution that a test suspends.
var u0 = uuid.UUID{9}

// suspension is an execution that a test suspends, with a running task and an open question. Its
// methods call the functions of this package.
type suspension struct {
	*testing.T
	s    *store.State
	task perdure.TaskLease
}

func newSuspension(t *testing.T) *suspension {
	l := perdure.TaskLease{ExecutionID: uuid.New(), TaskID: uuid.New(), Attempt: 1, ClaimID: uuid.New()}
	return &suspension{T: t, task: l, s: &store.State{
		Now:       perdure.AtMilli(1_000_000),
		Execution: &perdure.Execution{ID: l.ExecutionID, Status: perdure.StatusRunning, Fence: 1, ClaimID: l.ClaimID, Queue: "default"},
		Tasks:     map[uuid.UUID]*perdure.Task{l.TaskID: {ID: l.TaskID, ExecutionID: l.ExecutionID, Status: perdure.TaskRunning, Attempt: 1, ClaimID: l.ClaimID}},
		Entries:   map[uuid.UUID]perdure.EntryHead{}, Keyed: map[string]perdure.EntryHead{},
		Questions: map[uuid.UUID]*perdure.Question{u0: {ID: u0, ExecutionID: l.ExecutionID, Status: perdure.QuestionOpen, QuestionTerms: perdure.QuestionTerms{Kind: "plan"}}},
		Signals:   map[string]*perdure.Signal{}, Blocks: map[perdure.BlockKey]*store.Block{}, Blobs: map[uuid.UUID]*store.Blob{},
	}}
}

func (u *suspension) decided(c *store.Changes, err error) {
	u.Helper()
	if err != nil || c == nil {
		u.Fatalf("the decision is %v (%v)", c, err)
	}
}

func (u *suspension) suspend(w perdure.Wait) (*store.Changes, error) {
	return Commit(u.s, Config{Lease: time.Minute}, perdure.Commit{
		Lease:  perdure.Lease{ExecutionID: u.task.ExecutionID, Fence: 1, ClaimID: u.task.ClaimID},
		Number: 1, Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &w},
	}, nil, nil)
}

func (u *suspension) signal() {
	u.decided(Signal(u.s, Config{}, u.task.ExecutionID, NewSignal{ID: "1", Name: "a", Value: json.RawMessage("null")}))
}

func (u *suspension) finish() {
	u.decided(Finish(u.s, Config{}, TaskEnd{TaskFinish: perdure.TaskFinish{Lease: u.task}}))
}

func (u *suspension) answer() {
	u.decided(AnswerQuestion(u.s, Config{}, u.task.ExecutionID, NewVote{
		Question: u0, Role: perdure.KeyClient, Vote: perdure.Vote{AnswerID: "1", Verdict: perdure.VerdictDeny},
	}))
}

func (u *suspension) timer() {
	u.s.Now = u.s.Now.Add(time.Hour)
	u.decided(FireTimer(u.s))
}

// TestEveryKindOfWaitIsWoken checks, for each kind of wait, that a suspend stores the wait, and
// that the execution becomes PENDING when the wait is met.
func TestEveryKindOfWaitIsWoken(t *testing.T) {
	signal := perdure.WaitSignal("a")
	producers := map[perdure.WaitKind]func(u *suspension) (w perdure.Wait, happen []func()){
		perdure.WaitKindAny: func(u *suspension) (perdure.Wait, []func()) {
			return perdure.WaitAny(signal, perdure.WaitTask(u.task.TaskID)), []func(){u.finish}
		},
		perdure.WaitKindAll: func(u *suspension) (perdure.Wait, []func()) {
			return perdure.WaitAll(signal, perdure.WaitTask(u.task.TaskID)), []func(){u.finish, u.signal}
		},
		perdure.WaitKindSignal: func(u *suspension) (perdure.Wait, []func()) { return signal, []func(){u.signal} },
		perdure.WaitKindTask: func(u *suspension) (perdure.Wait, []func()) {
			return perdure.WaitTask(u.task.TaskID), []func(){u.finish}
		},
		perdure.WaitKindQuestion: func(u *suspension) (perdure.Wait, []func()) {
			return perdure.WaitQuestion(u0), []func(){u.answer}
		},
		perdure.WaitKindTimer: func(u *suspension) (perdure.Wait, []func()) {
			return perdure.WaitUntil(u.s.Now.Add(time.Minute)), []func(){u.timer}
		},
		perdure.WaitKindAfter: func(u *suspension) (perdure.Wait, []func()) {
			return perdure.WaitAfter("sleep", time.Minute), []func(){u.timer}
		},
	}
	for _, kind := range perdure.WaitKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			producer, ok := producers[kind]
			if !ok {
				t.Fatal("this test has no wait of the kind")
			}
			u := newSuspension(t)
			w, happen := producer(u)
			u.decided(u.suspend(w))
			for _, event := range happen {
				if status := u.s.Execution.Status; status != perdure.StatusWaiting {
					t.Fatalf("the execution is %s before the last event", status)
				}
				event()
			}
			if status := u.s.Execution.Status; status != perdure.StatusPending {
				t.Errorf("the execution is %s, and nothing else will wake it", status)
			}
		})
	}
}
