package face_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/longtest"
)

type streamsConfig = face.Config

func writeSoon(c *face.Config) { c.WriteTimeout = 2 * time.Second }
func pingSoon(c *face.Config)  { c.PingEvery = 50 * time.Millisecond }

// aftermath sends a text as the cursor of an event stream and of a page of events, and checks the
// responses. For a text that is not a cursor, the status must be 400, with the name of the field.
// For a cursor, the stream must be one of three: status 204 if the cursor is at the end, a reset
// followed by the whole log, or the last events of the log. The page of events must contain a reset
// exactly if the stream does.
func (h *testServer) aftermath(id uuid.UUID, cursor string, whole []sseEvent) {
	h.T.Helper()
	path := h.Path(id, "/stream/consolidated")
	_, invalid := perdure.ParseCursor(cursor)
	if invalid != nil {
		h.Call("GET", path, "", "Last-Event-ID", cursor).Problem(400, "invalid_argument", "Last-Event-ID")
		h.Call("GET", h.Path(id, "/events?after="+cursor), "").Problem(400, "invalid_argument", "after")
		return
	}
	res := h.Call("GET", path, "", "Last-Event-ID", cursor)
	if res.Status == 204 {
		if cursor != whole[len(whole)-1].ID {
			h.T.Errorf("%s is taken for the end", cursor)
		}
		return
	}
	got := h.Follow(path, "Last-Event-ID", cursor).All()
	var page struct {
		Items []wsEvent
		Reset json.RawMessage
	}
	h.Call("GET", h.Path(id, "/events?limit=1000&after="+cursor), "").Want(200, &page)
	if reset := got[0].Event == "reset"; reset != (page.Reset != nil) {
		h.T.Errorf("%s: the stream begins with %s, the page has reset %s", cursor, got[0].Event, page.Reset)
	} else if reset && show(got[1:]) != show(whole) {
		h.T.Errorf("after the reset for %s comes\n%s", cursor, show(got[1:]))
	} else if !reset && !strings.HasSuffix(show(whole), show(got)) {
		h.T.Errorf("%s leads to\n%s", cursor, show(got))
	}
}

// TestBrokenCursors sends every prefix of a cursor, the cursor with one byte inserted or replaced,
// and random texts. The function `aftermath` checks what the server answers.
func TestBrokenCursors(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	r := play(h)
	whole := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	cursor := whole[5].ID
	var broken []string
	for i := range cursor {
		broken = append(broken, cursor[:i], cursor[:i]+"_"+cursor[i:])
		for _, b := range []byte{'A', 'z', '-', '_', '0', '!', '=', '~', cursor[i] ^ 1} {
			if b != '%' && b != '?' && b != '#' && b != '&' && b != '+' {
				broken = append(broken, cursor[:i]+string(rune(b))+cursor[i+1:])
			}
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for range 100 {
		raw := make([]byte, 1+chance.IntN(40))
		for i := range raw {
			raw[i] = letters[chance.IntN(len(letters))]
		}
		broken = append(broken, string(raw))
	}
	slices.Sort(broken)
	for _, c := range slices.Compact(broken) {
		if c != "" {
			h.aftermath(r.ID, c, whole)
		}
	}
}

// TestCursorOfAnotherExecution checks a cursor of another execution. Event streams and pages begin
// with a reset, whose reason is "epoch". A WebSocket reports the cursor as stale.
func TestCursorOfAnotherExecution(t *testing.T) {
	h := open(t)
	r := play(h)
	other := h.Start("")
	foreign := h.Follow(h.Path(other.ID, "/stream")).Must().ID
	whole := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	for _, path := range []string{"/stream/consolidated", "/stream", "/stream?types=token", "/stream?render=html"} {
		if e := h.Follow(h.Path(r.ID, path), "Last-Event-ID", foreign).Must(); e.Event != "reset" || e.Fields["reason"] != "epoch" {
			t.Errorf("%s begins with %s %s", path, e.Event, e.Data)
		}
	}
	var page struct {
		Items []wsEvent
		Reset *struct{ Reason string }
	}
	h.Call("GET", h.Path(r.ID, "/events?limit=1000&after="+foreign), "").Want(200, &page)
	if page.Reset == nil || page.Reset.Reason != "epoch" || len(page.Items) != len(whole)-1 {
		t.Errorf("the page has %d items, reset %+v", len(page.Items), page.Reset)
	}
	if m := h.Socket(r.ID).Load(fmt.Sprintf(`{"cursor":%q}`, foreign)); !m.Data.Stale {
		t.Errorf("the socket answers %+v", m)
	}
}

// TestAbsurdLimits checks limits and positions that are out of range or not numbers. They are
// refused with invalid_argument, and over HTTP the error names the field. A valid position far past
// the end of the log causes a reset.
func TestAbsurdLimits(t *testing.T) {
	h := open(t)
	r := play(h)
	for _, n := range []string{"0", "-1", "1001", "9223372036854775808", "18446744073709551616", "1e3", "many", "0x10", "%00"} {
		for path, field := range map[string]string{
			"/agent-executions?limit=":          "limit",
			h.Path(r.ID, "/events?limit="):      "limit",
			h.Path(r.ID, "/entries?limit="):     "limit",
			h.Path(r.ID, "/tasks?limit="):       "limit",
			"/agent-definitions?limit=":         "limit",
			h.Path(r.ID, "/checkpoints?limit="): "limit",
		} {
			h.Call("GET", path+n, "").Problem(400, "invalid_argument", field)
		}
		if n != "0" && n != "1001" {
			h.Call("GET", h.Path(r.ID, "/stream?after_seq="+n), "").Problem(400, "invalid_argument", "after_seq")
			h.Call("GET", durable(r.ID, "?offset="+n), "").Want(map[bool]int{true: 200, false: 400}[n == "-1"], nil)
		}
		if n != "0" {
			h.Call("GET", h.Path(r.ID, "/snapshot?entries="+n), "").Problem(400, "invalid_argument", "entries")
		}
	}
	if e := h.Follow(h.Path(r.ID, "/stream?after_seq=9223372036854775807")).Must(); e.Event != "reset" || e.Fields["reason"] != "ahead" {
		t.Errorf("far ahead: %s %s", e.Event, e.Data)
	}
	c := h.Socket(r.ID)
	for _, ask := range []string{
		`{"limit":0}`, `{"limit":-1}`, `{"limit":1001}`, `{"limit":9223372036854775808}`, `{"limit":"many"}`, `{"limit":1.5}`,
		`{"after_seq":-1}`, `{"before_seq":-1}`, `{"after_seq":9223372036854775808}`, `{"before_seq":1e400}`, `{"after_seq":0,"cursor":"x"}`,
	} {
		if m := c.Load(ask); m.Type != "error" || m.Data.Code != "invalid_argument" || m.Data.Message == "" {
			t.Errorf("%s is answered %+v", ask, m)
		}
	}
	if m := c.Load(`{"after_seq":9223372036854775807}`); !m.Data.Stale {
		t.Errorf("far ahead: %+v", m)
	}
	if m := h.Socket(r.ID).Load(`{"before_seq":9223372036854775807}`); m.Type != "events_loaded" || m.Data.LastSeq != m.Data.MaxSeq {
		t.Errorf("before the far end: %+v", m)
	}
}

// TestWebSocketBinaryFrame checks that a binary frame, and a text frame that is not JSON, get the
// error invalid_argument. The WebSocket stays usable.
func TestWebSocketBinaryFrame(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.Socket(x.ID)
	for _, kind := range []websocket.MessageType{websocket.MessageBinary, websocket.MessageText} {
		frame := `{"type":"keepalive"}`
		if kind == websocket.MessageText {
			frame = "\x00\x01"
		}
		if err := c.Conn.Write(c.Ctx, kind, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if m := c.Next(); m.Type != "error" || m.Data.Code != "invalid_argument" || !strings.Contains(m.Data.Message, "text") {
			t.Errorf("%v: %+v", kind, m)
		}
	}
	c.Load(`{}`)
}

// TestWrongOrigin checks a server that is configured with a list of hosts. It refuses requests and
// WebSockets of web pages whose origin is not the server's own, and the execution stays unchanged.
func TestWrongOrigin(t *testing.T) {
	dev := open(t, func(c *face.Config) { c.Hosts = []string{"127.0.0.1", "localhost"} })
	x := dev.Start("")
	for _, origin := range []string{"https://evil.example.com", "null", "http://127.0.0.1.evil.example.com", "file://"} {
		for _, path := range []string{"/stream", "/stream/consolidated?render=html", "/events", "/snapshot", "/ws"} {
			dev.Call("GET", dev.Path(x.ID, path), "", "Origin", origin).Problem(403, "permission_denied", "")
		}
		dev.Call("GET", durable(x.ID, ""), "", "Origin", origin).Problem(403, "permission_denied", "")
		dev.Call("POST", "/agent-executions", `{}`, "Origin", origin).Problem(403, "permission_denied", "")
		dev.Call("POST", dev.Path(x.ID, "/signal"), `{"signalName":"a"}`, "Origin", origin).Problem(403, "permission_denied", "")
		dev.Call("DELETE", dev.Path(x.ID, ""), "", "Origin", origin).Problem(403, "permission_denied", "")
		if _, res, err := dev.DialSocket(x.ID, "Origin", origin); err == nil || res == nil || res.StatusCode != 403 {
			t.Errorf("a socket from %s: %v %v", origin, res, err)
		}
	}
	var now perdure.Execution
	dev.Call("GET", dev.Path(x.ID, ""), "", "Origin", dev.URL).Want(200, &now)
	if now.Status != perdure.StatusPending {
		t.Errorf("the execution is %s", now.Status)
	}
}

// TestOverlongRequests checks that overlong URLs, cursors and headers are refused. The server still
// answers the next request.
func TestOverlongRequests(t *testing.T) {
	h := open(t)
	x := h.Start("")
	long := strings.Repeat("x", 20<<10)
	h.Call("GET", h.Path(x.ID, "/stream?after="+long), "").Problem(414, "invalid_argument", "")
	h.Call("GET", h.Path(x.ID, "/stream"), "", "Last-Event-ID", long).Problem(400, "invalid_argument", "Last-Event-ID")
	h.Call("GET", h.Path(x.ID, "/events"), "", "X-Long", strings.Repeat("x", 70<<10)).Problem(431, "invalid_argument", "")
	h.Call("GET", "/"+long, "").Problem(414, "invalid_argument", "")
	h.Call("GET", h.Path(x.ID, "/events"), "").Want(200, nil)
}
