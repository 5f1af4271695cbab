package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

func (b *bench) message(id uuid.UUID, r SignalRequest, text string) (SignalReply, error) {
	r.Name, r.Value = perdure.UserMessage, json.RawMessage(`{"text":"`+text+`"}`)
	return b.e.Signal(b.Context(), org, id, r)
}

// say appends a message that belongs to a response, and returns the entry's id.
func (h *holder) say(m perdure.Message, response, key string) uuid.UUID {
	h.Helper()
	e, err := perdure.NewMessageEntry(m)
	h.must(err)
	e.ParentID, e.ResponseID, e.Key = h.execution(h.id).Leaf, response, key
	h.append(perdure.NewEntry{Entry: e})
	return e.ID
}

// TestEveryInputHasAResponse checks that a start and a message each get a response, and that the
// response can be read by its id. A repeated message has the same response.
func TestEveryInputHasAResponse(t *testing.T) {
	b := newBench(t)
	x, err := b.e.Start(t.Context(), org, StartRequest{Kind: "agent", Response: &rules.ResponseRequest{Request: json.RawMessage(`{"a":1}`), Hidden: true}})
	b.must(err)
	first, err := b.s.Response(t.Context(), org, x.ResponseID)
	b.must(err)
	if first.Execution != x.ID || first.SignalID != "" || first.FirstPos != 1 || !first.Hidden || string(first.Request) != `{"a":1}` {
		t.Errorf("the execution's: %+v", first)
	}
	reply, err := b.message(x.ID, SignalRequest{ID: "s"}, "hi")
	b.must(err)
	second, err := b.s.Response(t.Context(), org, reply.ResponseID)
	b.must(err)
	if second.Execution != x.ID || second.SignalID != "s" || second.FirstPos != 2 || second.Hidden || second.Request != nil {
		t.Errorf("the message's: %+v", second)
	}
	again, err := b.message(x.ID, SignalRequest{ID: "s"}, "hi")
	b.must(err)
	if again.ResponseID != reply.ResponseID {
		t.Errorf("sent again it is %s, was %s", again.ResponseID, reply.ResponseID)
	}
	b.must(b.e.Conversations.HideResponse(t.Context(), org, x.ID, reply.ResponseID))
	if second, err = b.s.Response(t.Context(), org, reply.ResponseID); err != nil || !second.Hidden {
		t.Errorf("hidden: %+v, %v", second, err)
	}
	b.wantCode(b.e.Conversations.HideResponse(t.Context(), "other", x.ID, reply.ResponseID), perdure.NotFound)
}

// TestSteeringInputsJoinTheRunningResponse checks two inputs that arrive during a response. The
// server assigns a response id to each input. The commit that takes an input says to which response
// the input belongs. If the commit names the running response, the input joins that response. If it
// names the input's own response id, the input begins a new response with this id.
func TestSteeringInputsJoinTheRunningResponse(t *testing.T) {
	b := newBench(t)
	h := b.started()
	running := h.execution(h.id).ResponseID
	steering, err := b.message(h.id, SignalRequest{ID: "s1"}, "a")
	b.must(err)
	own, err := b.message(h.id, SignalRequest{ID: "s2"}, "b")
	b.must(err)
	for signal, response := range map[string]string{"s1": running, "s2": own.ResponseID} {
		e, err := perdure.NewMessageEntry(perdure.UserText(signal))
		b.must(err)
		e.ParentID, e.ResponseID, e.Key = h.execution(h.id).Leaf, response, "signal:"+signal
		h.commit(func(c *perdure.Commit) { c.Take, c.Entries = []string{signal}, []perdure.NewEntry{{Entry: e}} })
	}
	for id, want := range map[string]string{steering.ResponseID: running, own.ResponseID: "", running: ""} {
		if row, err := b.s.Response(t.Context(), org, id); err != nil || row.Joined != want {
			t.Errorf("%s has joined %q, want %q (%v)", id, row.Joined, want, err)
		}
	}
}

// TestMessagesForTheHeadAreRefusedElsewhere checks messages that name a Head, the response that they
// follow. Such a message is accepted only if the execution waits for its user and Head is its last
// response. A second message for the same Head is refused.
func TestMessagesForTheHeadAreRefusedElsewhere(t *testing.T) {
	b := newBench(t)
	h := b.started()
	head := h.execution(h.id).ResponseID
	h.say(perdure.UserText("a"), head, "")
	_, err := b.message(h.id, SignalRequest{Head: head}, "while it runs")
	b.wantCode(err, perdure.Conflict)
	h.suspend(perdure.WaitSignal(perdure.UserMessage))
	_, err = b.message(h.id, SignalRequest{Head: "resp_other"}, "after another")
	b.wantCode(err, perdure.Conflict)
	taken, err := b.message(h.id, SignalRequest{Head: head, ID: "s"}, "at the head")
	b.must(err)
	_, err = b.message(h.id, SignalRequest{Head: head}, "a second one")
	b.wantCode(err, perdure.Conflict)
	if again, err := b.message(h.id, SignalRequest{Head: head, ID: "s"}, "at the head"); err != nil || again.ResponseID != taken.ResponseID {
		t.Errorf("sent again: %+v, %v", again, err)
	}
}

// TestMessagesHaveToFitTheConversation checks that results of tool calls are accepted only if the
// execution is WAITING and these calls have no result yet. The messages of a signal must form a valid
// conversation.
func TestMessagesHaveToFitTheConversation(t *testing.T) {
	b := newBench(t)
	h := b.started()
	call := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolCall, ID: "c1", Name: "ask"}, {Type: perdure.PartToolCall, ID: "c2", Name: "ask"},
	}}}
	h.say(perdure.UserText("a"), "r", "")
	h.say(call, "r", "")
	result := func(id string) string {
		return `{"role":"tool_result","parts":[{"type":"toolResult","toolCallId":"` + id + `","parts":[]}]}`
	}
	const user, assistant = `{"role":"user","parts":[{"type":"text","text":"x"}]}`, `{"role":"assistant","parts":[{"type":"toolCall","id":"n","name":"ask"}]}`
	send := func(messages string) error {
		turn := &Turn{}
		b.must(json.Unmarshal([]byte(`{"messages":[`+messages+`]}`), turn))
		_, err := b.e.Signal(t.Context(), org, h.id, SignalRequest{Name: perdure.UserMessage, Turn: turn})
		return err
	}
	b.wantCode(send(result("c1")), perdure.InvalidArgument) // it is RUNNING
	h.suspend(perdure.WaitSignal(perdure.UserMessage))
	for _, bad := range []string{
		result("c3"), result("c1") + "," + result("c1"), user + "," + result("c1"), assistant, assistant + "," + user,
		`{"role":"user","parts":[{"type":"toolCall","id":"n","name":"ask"}]}`, `{"role":"robot","parts":[]}`,
	} {
		if err := send(bad); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	b.must(send(result("c2") + "," + result("c1") + "," + user + "," + assistant + "," + result("n")))
}

// TestAnExecutionGoesOnFromAnother checks that an execution can continue after an entry of another
// execution, and that an unknown entry or execution is refused.
func TestAnExecutionGoesOnFromAnother(t *testing.T) {
	b := newBench(t)
	h := b.started()
	at := h.say(perdure.UserText("a"), "r", "")
	start := func(org string, from perdure.EntryRef) error {
		_, err := b.e.Start(t.Context(), org, StartRequest{
			Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, From: &from,
			Messages: []perdure.InputMessage{{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text("b")}}},
		})
		return err
	}
	b.must(start(org, perdure.EntryRef{ExecutionID: h.id, EntryID: at}))
	b.wantCode(start(org, perdure.EntryRef{ExecutionID: h.id, EntryID: uuid.New()}), perdure.NotFound)
	b.wantCode(start(org, perdure.EntryRef{ExecutionID: uuid.New(), EntryID: at}), perdure.NotFound)
}

// TestCancelOfAResponseIsForThatOne checks that the cancel of a response has an effect only while
// that response is the current one.
func TestCancelOfAResponseIsForThatOne(t *testing.T) {
	for name, taken := range map[string]func(h *holder){
		"nobody has taken the message":           func(*holder) {},
		"its worker has done nothing yet":        func(h *holder) { h.bench.claim() },
		"its worker died before it did anything": func(h *holder) { takeover(h.bench.claim()) },
		"its worker died, and no other is there": func(h *holder) {
			h.bench.claim()
			h.clock.advance(testLease + time.Second)
			h.sweep()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			first := h.execution(h.id).ResponseID
			h.say(perdure.UserText("a"), first, "")
			h.suspend(perdure.WaitSignal(perdure.UserMessage))
			b.cancelResponse(h.id, first, false) // it has ended
			next, err := b.message(h.id, SignalRequest{ID: "s"}, "b")
			b.must(err)
			later, err := b.message(h.id, SignalRequest{ID: "t"}, "c")
			b.must(err)
			taken(h)
			b.cancelResponse(h.id, first, false)
			b.cancelResponse(h.id, later.ResponseID, false) // it begins only after the next one
			b.cancelResponse(h.id, next.ResponseID, true)
		})
	}
}

func (b *bench) cancelResponse(execution uuid.UUID, id string, want bool) {
	b.Helper()
	if got, err := b.e.Conversations.CancelResponse(b.Context(), org, execution, id); err != nil || got != want {
		b.Errorf("%s is cancelled: %v, %v; want %v", id, got, err, want)
	}
}

// TestAWaitForAMessageThatIsThereBeginsItsResponse checks a message that arrived during a response
// without joining it. When the agent next waits for a message, the pending message begins the next
// response.
func TestAWaitForAMessageThatIsThereBeginsItsResponse(t *testing.T) {
	b := newBench(t)
	h := b.started()
	first := h.execution(h.id).ResponseID
	h.say(perdure.UserText("a"), first, "")
	early, err := b.message(h.id, SignalRequest{ID: "s1"}, "b")
	b.must(err)
	next, err := b.message(h.id, SignalRequest{ID: "s2"}, "c")
	b.must(err)
	b.cancelResponse(h.id, next.ResponseID, false)
	wait := perdure.WaitSignal(perdure.UserMessage)
	h.commit(func(c *perdure.Commit) {
		c.Take = []string{"s1"}
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}
	})
	b.cancelResponse(h.id, first, false)
	b.cancelResponse(h.id, early.ResponseID, false)
	b.cancelResponse(h.id, next.ResponseID, true)
}
