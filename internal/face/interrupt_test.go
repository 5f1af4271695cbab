package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// TestInterrupts checks the ways to interrupt a run: the HTTP route, a signal and the WebSocket. At
// most one interrupt is stored for a running turn; without a running turn, an interrupt has no
// effect. The value of an interrupt is checked, both in the request and as an upload. Runs of
// agents without turns cannot be interrupted.
func TestInterrupts(t *testing.T) {
	h := open(t)
	x := h.Start("")
	at, signal := h.Path(x.ID, "/interrupt"), h.Path(x.ID, "/signal")
	type reply struct {
		SignalID string
		Stopped  *bool
	}
	ask := func(r facetest.Reply, stops bool) reply {
		t.Helper()
		var got reply
		r.Want(200, &got)
		if got.Stopped == nil || *got.Stopped != stops {
			t.Errorf("the interrupt gets %s", r.Body)
		}
		return got
	}
	h.Call("POST", at, `{"reason":7}`).Problem(400, perdure.InvalidArgument, "reason")
	h.Call("POST", at, `{"why":"x"}`).Problem(400, perdure.InvalidArgument, "why")
	h.Call("POST", at, `{"reason":"`+strings.Repeat("x", perdure.MaxInterruptReason+1)+`"}`).Problem(400, perdure.InvalidArgument, "reason")
	for value, field := range map[string]string{`"x"`: "signalValue", `{"why":"x"}`: "signalValue.why", `{"reason":"` + strings.Repeat("x", perdure.MaxInterruptReason+1) + `"}`: "signalValue.reason"} {
		h.Call("POST", signal, `{"signalName":"perdure.interrupt","signalValue":`+value+`}`).Problem(400, perdure.InvalidArgument, field)
		var c struct{ BlobID string }
		h.Call("PUT", h.Path(x.ID, "/content"), value).Want(200, &c)
		h.Call("POST", signal, fmt.Sprintf(`{"signalName":"perdure.interrupt","signalValueRef":{"blobId":%q}}`, c.BlobID)).Problem(400, perdure.InvalidArgument, field)
	}
	first := ask(h.Call("POST", at, `{"reason":"enough"}`), true) // the run is not claimed yet
	for _, r := range []facetest.Reply{h.Call("POST", at, ""), h.Call("POST", signal, `{"signalName":"perdure.interrupt"}`)} {
		if again := ask(r, true); again.SignalID != first.SignalID {
			t.Errorf("a second interrupt is stored as %s, the first one is %s", again.SignalID, first.SignalID)
		}
	}
	c := h.Socket(x.ID)
	c.Send("interrupt", `{"reason":"enough"}`)
	c.Send("interrupt", `{"why":"enough"}`)
	if m := c.Next(); m.Type != "error" || m.Data.Code != "invalid_argument" { // the server answers only the second message
		t.Errorf("another member is answered %+v", m)
	}
	r := h.Claim()
	signals, err := h.Worker.Signals(t.Context(), r.ID, nil, 0, 10)
	if err != nil || len(signals) != 1 || string(signals[0].Value) != `{"reason":"enough"}` {
		t.Fatalf("%d signals are stored, %v", len(signals), err)
	}
	wait := perdure.WaitSignal(perdure.UserMessage)
	r.Commit(perdure.Commit{Take: []string{signals[0].ID}, Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
	before := h.Call("GET", h.Path(x.ID, ""), "").Body
	ask(h.Call("POST", at, `{}`), false)
	ask(h.Call("POST", signal, `{"signalName":"perdure.interrupt","signalValue":{}}`), false)
	if after := h.Call("GET", h.Path(x.ID, ""), "").Body; string(after) != string(before) {
		t.Errorf("an interrupt of nothing changed\n%s to\n%s", before, after)
	}
	h.Call("DELETE", h.Path(x.ID, ""), "").Want(202, nil)
	ask(h.Call("POST", at, `{}`), false)
	h.Call("POST", h.Path(perdure.QuestionID(x.ID, "none"), "/interrupt"), `{}`).Problem(404, perdure.NotFound, "")

	var other perdure.Execution
	h.Call("POST", "/agent-executions", `{"kind":"anything","input":{}}`).Want(201, &other)
	h.Call("POST", h.Path(other.ID, "/interrupt"), `{}`).Problem(400, perdure.InvalidArgument, "kind")
	h.Call("POST", h.Path(other.ID, "/signal"), `{"signalName":"perdure.interrupt","signalValue":{}}`).Problem(400, perdure.InvalidArgument, "kind")
}
