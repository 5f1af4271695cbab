package openai_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestAnswersThatAreStoredInPartAreRepeated checks a request with two answers to approval requests.
// The store fails before or after it runs the command that stores one of the answers, or runs this
// command twice. After the request is repeated, each answer is one vote, and the response
// continues.
func TestAnswersThatAreStoredInPartAreRepeated(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, fault := range map[string]storetest.Fault{"before": storetest.FailBefore, "after": storetest.LoseAnswer, "twice": storetest.Twice} {
		for nth := range int64(2) {
			t.Run(fmt.Sprint(name, " ", nth), func(t *testing.T) {
				t.Parallel() // it waits for repetitions of failed commands
				eachStore(t, func(t *testing.T, on store.Store) { repeatAnswers(t, on, fault, nth) })
			})
		}
	}
}

// repeatAnswers sends a request with two answers, and repeats it. The fault occurs when the nth
// answer is stored.
func repeatAnswers(t *testing.T, on store.Store, fault storetest.Fault, nth int64) {
	t.Helper()
	var answers atomic.Int64
	f := &storetest.Faults{Store: on, Plan: func(_ int, c store.Command) storetest.Fault {
		if c.Name == "answer question" && answers.Add(1)-1 == nth {
			return fault
		}
		return storetest.NoFault
	}}
	s := newStageOn(t, f, calls("", "bash", `{"command":"echo one"}`, "bash", `{"command":"echo two"}`), says("done"))
	s.askingAgent(perdure.ApprovalRule{})
	first := s.asks(`"input":"go"`).object()
	asked := first.requests()
	body := answering(first.ID, verdict(asked[0].ID, true, `,"reason":"fine"`), verdict(asked[1].ID, false, ""))
	if failed := s.asks(body); fault != storetest.Twice && failed.status != 503 {
		t.Errorf("the first request gets %d %s", failed.status, failed.body)
	}
	for range 2 {
		last := s.asks(body).object()
		if last.ID != first.ID || last.Status != "completed" || last.text() != "done" {
			t.Errorf("the repeated request gets %s", last.raw)
		}
	}
	id := s.executionOf(first.ID)
	page, err := on.Questions(t.Context(), "default", store.QuestionFilter{ExecutionID: &id})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("%d questions, %v", len(page.Items), err)
	}
	for _, q := range page.Items {
		if len(q.Votes) != 1 || q.Status != perdure.QuestionAnswered {
			t.Errorf("question %s is %s with %d votes", q.Key, q.Status, len(q.Votes))
		}
	}
}
