package face_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// refer uploads a value, and sends a signal with a reference to this value.
func (h *testServer) refer(x uuid.UUID, name, value string) reply {
	h.T.Helper()
	var c struct{ BlobID uuid.UUID }
	h.Call("PUT", h.Path(x, "/content"), value).Want(200, &c)
	return h.Call("POST", h.Path(x, "/signal"), fmt.Sprintf(`{"signalName":%q,"signalValueRef":{"blobId":%q}}`, name, c.BlobID))
}

// TestBodiesAreUTF8 checks that a request body with bytes that are not UTF-8 is refused. A signal
// that refers to an uploaded value with such bytes is refused, too. The error names the member, no
// signal is stored, and the log is valid UTF-8.
func TestBodiesAreUTF8(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for _, c := range []struct{ path, body, field string }{
		{"/agent-executions", "{\"userPrompt\":\"a\xff\"," + models + "}", "userPrompt"},
		{"/agent-executions", "{\"userPrompt\":\"a\"," + models + ",\"metadata\":{\"a\":[\"\xc3\"]}}", "metadata.a[0]"},
		{"/agent-executions", "{\"kind\":\"anything\",\"input\":{\"a\":\"\xff\"}}", "input.a"},
		{"/agent-definitions", "{\"name\":\"a\xff\"," + models + "}", "name"},
		{h.Path(x.ID, "/signal"), "{\"signalName\":\"x.y\",\"signalValue\":\"a\xff\"}", "signalValue"},
		{h.Path(x.ID, "/signal"), "{\"signalName\":\"x.y\xff\"}", "signalName"},
	} {
		h.Call("POST", c.path, c.body).Problem(400, perdure.InvalidArgument, c.field)
	}
	h.refer(x.ID, "x.y", "{\"a\":\"\xff\"}").Problem(400, perdure.InvalidArgument, "signalValue.a")
	h.refer(x.ID, perdure.UserMessage, "{\"text\":\"\xff\"}").Problem(400, perdure.InvalidArgument, "signalValue.text")
	r := h.Claim()
	if signals, err := h.Worker.Signals(t.Context(), r.ID, nil, 0, 10); err != nil || len(signals) != 0 {
		t.Errorf("%d signals are stored, %v", len(signals), err)
	}
	if log := h.Call("GET", h.Path(x.ID, "/events"), "").Want(200, nil); !utf8.Valid(log.Body) {
		t.Errorf("the log is %q", log.Body)
	}
}

// TestMembersOfBodiesHaveTheirExactNames checks that a member name that differs from the defined
// name in case is refused, also in nested objects and in WebSocket messages.
func TestMembersOfBodiesHaveTheirExactNames(t *testing.T) {
	h := open(t)
	for body, field := range map[string]string{
		`{"userPrompt":"a","UserPrompt":"b",` + models + `}`:                                       "UserPrompt",
		`{"USERPROMPT":"a",` + models + `}`:                                                        "USERPROMPT",
		`{"userPrompt":"a","ONESHOT":true,` + models + `}`:                                         "ONESHOT",
		`{"parts":[{"Type":"text","text":"x"}],` + models + `}`:                                    "parts[0].type",
		`{"userPrompt":"a","models":[{"provider":"scripted","modelId":"m","BaseUrl":"http://x"}]}`: "models[0].BaseUrl",
		`{"userPrompt":"a","config":{"maxturns":1},` + models + `}`:                                "config.maxturns",
	} {
		h.Call("POST", "/agent-executions", body).Problem(400, perdure.InvalidArgument, field)
	}
	h.Call("POST", "/agent-definitions", `{"name":"a","Slug":"b",`+models+`}`).Problem(400, perdure.InvalidArgument, "Slug")
	x := h.Start("")
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"x","SignalValue":1}`).Problem(400, perdure.InvalidArgument, "SignalValue")
	c := h.Socket(x.ID)
	for _, m := range []string{`{"Type":"keepalive"}`, `{"type":"load_events","data":{"LIMIT":1}}`, `{"type":"prompt","data":{"prompt_id":"p","Text":"x"}}`} {
		if err := c.Conn.Write(c.Ctx, websocket.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
		if got := c.Next(); got.Type != "error" || got.Data.Code != "invalid_argument" || !strings.Contains(got.Data.Message, "is no member") {
			t.Errorf("%s is answered %+v", m, got)
		}
	}
}

func manyParts(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x"},`, n), ",") + "]"
}

// TestPartsOfAMessageAreBounded checks the maximum number of parts of a message: in a start, in a
// signal and in an uploaded value. Other signals than messages may have more parts.
func TestPartsOfAMessageAreBounded(t *testing.T) {
	h := open(t)
	x := h.Start("")
	signal := func(name string, n int) reply {
		return h.Call("POST", h.Path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":%q,"signalValue":{"parts":%s}}`, name, manyParts(n)))
	}
	over := perdure.MaxParts + 1
	h.Call("POST", "/agent-executions", `{"parts":`+manyParts(over)+`,`+models+`}`).Problem(400, perdure.InvalidArgument, "parts")
	signal(perdure.UserMessage, over).Problem(400, perdure.InvalidArgument, "signalValue.parts")
	h.refer(x.ID, perdure.UserMessage, `{"parts":`+manyParts(over)+`}`).Problem(400, perdure.InvalidArgument, "signalValue.parts")
	h.Call("POST", "/agent-executions", `{"parts":`+manyParts(perdure.MaxParts)+`,`+models+`}`).Want(201, nil)
	signal(perdure.UserMessage, perdure.MaxParts).Want(200, nil)
	signal("other", over).Want(200, nil)
	h.refer(x.ID, "other", `{"parts":`+manyParts(over)+`}`).Want(200, nil)
}
