package face_test

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestDoubledKeysAreRefused checks that four operations refuse a body in which a key occurs twice.
// The error names the key.
func TestDoubledKeysAreRefused(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for at, c := range map[string]struct{ method, body, field string }{
		"/agent-executions":     {"POST", `{"kind":"anything","kind":"count","input":{}}`, "kind"},
		"/agent-executions?":    {"POST", `{"kind":"anything","input":{"a":[{"b":1,"b":2}]}}`, "input.a[0].b"},
		"/agent-definitions":    {"POST", `{"name":"a","name":"b",` + models + `}`, "name"},
		h.Path(x.ID, "/signal"): {"POST", `{"signalName":"go","signalValue":{"n":1,"n":2}}`, "signalValue.n"},
		"/retention":            {"PUT", `{"events":"1h","events":"2h"}`, "events"},
	} {
		h.Call(c.method, at, c.body, "Authorization", "Bearer "+h.AdminKey).Problem(400, "invalid_argument", c.field)
	}
}

// TestDoubledKeysAreRefusedByReferenceAndOverWebSocket checks that a duplicate key is refused in an
// uploaded value that a signal refers to, and in a WebSocket message. No signal is stored.
func TestDoubledKeysAreRefusedByReferenceAndOverWebSocket(t *testing.T) {
	h := open(t)
	x := h.Start("")
	var c struct{ BlobID string }
	h.Call("PUT", h.Path(x.ID, "/content"), `{"n":1,"n":2}`).Want(200, &c)
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"go","signalValueRef":{"blobId":"`+c.BlobID+`"}}`).Problem(400, "invalid_argument", "signalValue.n")
	ws := h.Socket(x.ID)
	for raw, field := range map[string]string{
		`{"type":"keepalive","type":"cancel"}`:                                      "type",
		`{"type":"load_events","data":{"limit":1,"limit":2}}`:                       "data.limit",
		`{"type":"prompt","data":{"prompt_id":"p","text":"a","text":"b"}}`:          "data.text",
		`{"type":"prompt","data":{"prompt_id":"p","text":"a"},"data":{"text":"b"}}`: "data",
	} {
		if err := ws.Conn.Write(ws.Ctx, websocket.MessageText, []byte(raw)); err != nil {
			t.Fatal(err)
		}
		if m := ws.Next(); m.Type != "error" || m.Data.Code != "invalid_argument" || !strings.HasPrefix(m.Data.Message, field+": ") {
			t.Errorf("%s is answered by %+v", raw, m)
		}
	}
	r := h.Claim()
	if signals, err := h.Worker.Signals(t.Context(), r.ID, nil, 0, 10); err != nil || len(signals) != 0 {
		t.Errorf("%d signals are stored, %v", len(signals), err)
	}
}
