package openai_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestACreateInAConversationIsStoredOnce checks that the first and the second create request in a
// conversation are stored once despite faults. The request fails before or after its commit, and is
// repeated with its idempotency key, or the store runs the command of the request twice.
func TestACreateInAConversationIsStoredOnce(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, fault := range map[string]storetest.Fault{"before": storetest.FailBefore, "after": storetest.LoseAnswer, "twice": storetest.Twice} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for repetitions of failed commands
			var armed atomic.Bool
			f := &storetest.Faults{Store: opentest.Store(t), Plan: func(_ int, c store.Command) storetest.Fault {
				if (c.Name == "start" || c.Name == "signal") && armed.Swap(false) {
					return fault
				}
				return storetest.NoFault
			}}
			s := newStageOn(t, f, says("one"), says("two"))
			id := s.conversationOf(`{"items":[{"role":"user","content":"p"}]}`)
			for n := range 2 {
				body := fmt.Sprintf(`{"model":"test/m","conversation":%q,"input":"i%d"}`, id, n)
				armed.Store(true)
				first := s.keyed(strconv.Itoa(n), body)
				if fault != storetest.Twice && first.status != 503 {
					t.Errorf("the first answer is %d %s", first.status, first.body)
				}
				o := s.keyed(strconv.Itoa(n), body).object()
				if fault == storetest.Twice && first.object().ID != o.ID {
					t.Errorf("got %s and %s", first.body, o.raw)
				}
			}
			s.wantItems(id, "user: p", "user: i0", "assistant: one", "user: i1", "assistant: two")
			if s.executions() != 1 {
				t.Errorf("%d executions", s.executions())
			}
		})
	}
}

// TestChangesOfAConversationThatRunTwice checks that the items of a conversation are stored once,
// although the store runs each command that changes the conversation twice.
func TestChangesOfAConversationThatRunTwice(t *testing.T) {
	f := &storetest.Faults{Store: opentest.Store(t), Plan: func(_ int, c store.Command) storetest.Fault {
		switch c.Name {
		case "create conversation", "add to conversation", "set conversation metadata":
			return storetest.Twice
		}
		return storetest.NoFault
	}}
	s := newStageOn(t, f)
	id := s.conversationOf(`{"items":[{"role":"user","content":"a"}]}`)
	s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"b"},{"role":"user","content":"c"}]}`).list()
	s.call("POST", "/v1/conversations/"+id, `{"metadata":{"k":"v"}}`).conversation()
	s.wantItems(id, "user: a", "user: b", "user: c")
}
