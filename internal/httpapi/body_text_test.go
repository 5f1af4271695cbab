package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// refer uploads a value and sends a signal that refers to it.
func (h *house) refer(x uuid.UUID, name, value string) reply {
	h.t.Helper()
	var c struct{ BlobID uuid.UUID }
	h.call("PUT", h.path(x, "/content"), value).want(200, &c)
	return h.call("POST", h.path(x, "/signal"), fmt.Sprintf(`{"signalName":%q,"signalValueRef":{"blobId":%q}}`, name, c.BlobID))
}

// A body with bytes that are not UTF-8 is refused, and so is an uploaded value. The refusal names
// the member and leaves nothing behind.
func TestBodiesAreUTF8(t *testing.T) {
	h := open(t)
	x := h.start("")
	for _, c := range []struct{ path, body, field string }{
		{"/agent-executions", "{\"userPrompt\":\"a\xff\"," + models + "}", "userPrompt"},
		{"/agent-executions", "{\"userPrompt\":\"a\"," + models + ",\"metadata\":{\"a\":[\"\xc3\"]}}", "metadata.a[0]"},
		{"/agent-executions", "{\"kind\":\"anything\",\"input\":{\"a\":\"\xff\"}}", "input.a"},
		{"/agent-definitions", "{\"name\":\"a\xff\"," + models + "}", "name"},
		{h.path(x.ID, "/signal"), "{\"signalName\":\"x.y\",\"signalValue\":\"a\xff\"}", "signalValue"},
		{h.path(x.ID, "/signal"), "{\"signalName\":\"x.y\xff\"}", "signalName"},
	} {
		h.call("POST", c.path, c.body).problem(400, perdure.InvalidArgument, c.field)
	}
	h.refer(x.ID, "x.y", "{\"a\":\"\xff\"}").problem(400, perdure.InvalidArgument, "signalValue.a")
	h.refer(x.ID, perdure.UserMessage, "{\"text\":\"\xff\"}").problem(400, perdure.InvalidArgument, "signalValue.text")
	r := h.claim()
	if signals, err := h.worker.Signals(t.Context(), r.id, nil, 0, 10); err != nil || len(signals) != 0 {
		t.Errorf("%d signals are stored, %v", len(signals), err)
	}
	if log := h.call("GET", h.path(x.ID, "/events"), "").want(200, nil); !utf8.Valid(log.body) {
		t.Errorf("the log is %q", log.body)
	}
}

// Member names are compared exactly, at every depth.
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
		h.call("POST", "/agent-executions", body).problem(400, perdure.InvalidArgument, field)
	}
	h.call("POST", "/agent-definitions", `{"name":"a","Slug":"b",`+models+`}`).problem(400, perdure.InvalidArgument, "Slug")
	x := h.start("")
	h.call("POST", h.path(x.ID, "/signal"), `{"signalName":"x","SignalValue":1}`).problem(400, perdure.InvalidArgument, "SignalValue")
	c := h.socket(x.ID)
	for _, m := range []string{`{"Type":"keepalive"}`, `{"type":"load_events","data":{"LIMIT":1}}`, `{"type":"prompt","data":{"prompt_id":"p","Text":"x"}}`} {
		if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
		if got := c.next(); got.Type != "error" || got.Data.Code != "invalid_argument" || !strings.Contains(got.Data.Message, "is no member") {
			t.Errorf("%s is answered %+v", m, got)
		}
	}
}

func manyParts(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x"},`, n), ",") + "]"
}

// A message has a bounded number of parts, however it is sent; other signals may have arrays of any
// length.
func TestPartsOfAMessageAreBounded(t *testing.T) {
	h := open(t)
	x := h.start("")
	signal := func(name string, n int) reply {
		return h.call("POST", h.path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":%q,"signalValue":{"parts":%s}}`, name, manyParts(n)))
	}
	over := perdure.MaxParts + 1
	h.call("POST", "/agent-executions", `{"parts":`+manyParts(over)+`,`+models+`}`).problem(400, perdure.InvalidArgument, "parts")
	signal(perdure.UserMessage, over).problem(400, perdure.InvalidArgument, "signalValue.parts")
	h.refer(x.ID, perdure.UserMessage, `{"parts":`+manyParts(over)+`}`).problem(400, perdure.InvalidArgument, "signalValue.parts")
	h.call("POST", "/agent-executions", `{"parts":`+manyParts(perdure.MaxParts)+`,`+models+`}`).want(201, nil)
	signal(perdure.UserMessage, perdure.MaxParts).want(200, nil)
	signal("other", over).want(200, nil)
	h.refer(x.ID, "other", `{"parts":`+manyParts(over)+`}`).want(200, nil)
}
