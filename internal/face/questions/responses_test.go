package questions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// output contains the members of a response object that the tests read.
type output struct {
	ID, Status string
	Output     []struct {
		Type, Role, Status string
		Content            []struct{ Text string }
	}
}

// TestAResponseThatAsks checks a run of the Responses API that waits for a question. The response
// stays in progress, and its output has a message with the question, which says how to answer it. A
// create request that waits for the end of the response returns when the question is asked. After
// the answer, the response completes, and still has that message.
func TestAResponseThatAsks(t *testing.T) {
	h := open(t)
	created := make(chan facetest.Reply, 1)
	go func() {
		created <- h.Call("POST", "./v1/responses", `{"model":"scripted/m","input":"Plan a trip."}`)
	}()
	a := asker{h.Claim(), h}
	a.Say(facetest.UserText("Plan a trip."))
	id := a.ask("form", func(n *perdure.NewQuestion) {
		n.Kind, n.Prompt, n.Schema = perdure.QuestionInput, "How long?", json.RawMessage(`{"type":"integer"}`)
	})
	wait := perdure.WaitAny(perdure.WaitQuestion(id), perdure.WaitSignal("userMessage"))
	a.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})

	var o output
	(<-created).Want(200, &o)
	check := func(status string) {
		t.Helper()
		if o.Status != status || len(o.Output) != 1 || o.Output[0].Type != "message" || o.Output[0].Role != "assistant" || o.Output[0].Status != "completed" {
			t.Fatalf("the response is %+v, want one message and %s", o, status)
		}
		if text := o.Output[0].Content[0].Text; !strings.HasPrefix(text, "How long?") || !strings.Contains(text, "perdure answer "+id.String()) {
			t.Errorf("the message is %q", text)
		}
	}
	check("in_progress")
	h.Call("GET", "./v1/responses/"+o.ID, "").Want(200, &o)
	check("in_progress")
	h.Call("POST", "./v1/responses", `{"model":"scripted/m","input":"More.","previous_response_id":"`+o.ID+`"}`).Want(400, nil)

	h.vote(h.approver, id, `"verdict":"answer","answer":3`).Want(200, nil)
	b := asker{h.Claim(), h}
	b.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`{"text":"bye"}`))}})
	h.Call("GET", "./v1/responses/"+o.ID, "").Want(200, &o)
	check("completed")
	first := string(h.Call("GET", "./v1/responses/"+o.ID+"?stream=true", "").Want(200, nil).Body)
	if again := string(h.Call("GET", "./v1/responses/"+o.ID+"?stream=true", "").Want(200, nil).Body); again != first || !strings.Contains(first, "How long?") {
		t.Errorf("the events are\n%s\nand the second time\n%s", first, again)
	}
}
