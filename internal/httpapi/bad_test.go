package httpapi_test

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
	"github.com/perdure/perdure/internal/httpapi"
)

type streamsConfig = httpapi.Config

func writeSoon(c *httpapi.Config) { c.WriteTimeout = 2 * time.Second }
func pingSoon(c *httpapi.Config)  { c.PingEvery = 50 * time.Millisecond }

// aftermath describes the effect of a broken cursor: the refusal that names it, or the events that
// a stream sends to recover.
func (h *house) aftermath(id uuid.UUID, cursor string, whole []sse) {
	h.t.Helper()
	path := h.path(id, "/stream/consolidated")
	_, invalid := perdure.ParseCursor(cursor)
	if invalid != nil {
		h.call("GET", path, "", "Last-Event-ID", cursor).problem(400, "invalid_argument", "Last-Event-ID")
		h.call("GET", h.path(id, "/events?after="+cursor), "").problem(400, "invalid_argument", "after")
		return
	}
	res := h.call("GET", path, "", "Last-Event-ID", cursor)
	if res.status == 204 {
		if cursor != whole[len(whole)-1].id {
			h.t.Errorf("%s is taken for the end", cursor)
		}
		return
	}
	got := h.follow(path, "Last-Event-ID", cursor).all()
	var page struct {
		Items []wsEvent
		Reset json.RawMessage
	}
	h.call("GET", h.path(id, "/events?limit=1000&after="+cursor), "").want(200, &page)
	if reset := got[0].event == "reset"; reset != (page.Reset != nil) {
		h.t.Errorf("%s: the stream begins with %s, the page has reset %s", cursor, got[0].event, page.Reset)
	} else if reset && show(got[1:]) != show(whole) {
		h.t.Errorf("after the reset for %s comes\n%s", cursor, show(got[1:]))
	} else if !reset && !strings.HasSuffix(show(whole), show(got)) {
		h.t.Errorf("%s leads to\n%s", cursor, show(got))
	}
}

// A cursor with any byte changed, removed or added has one of three effects. It is refused by name,
// leads to a reset and the whole log, or is another position of the same log. Nothing is skipped,
// and nothing breaks.
func TestBrokenCursors(t *testing.T) {
	h := open(t)
	r := play(h)
	whole := h.follow(h.path(r.id, "/stream/consolidated")).all()
	cursor := whole[5].id
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
			h.aftermath(r.id, c, whole)
		}
	}
}

// The cursor of another execution has another epoch, whichever interface it is used with.
func TestCursorOfAnotherExecution(t *testing.T) {
	h := open(t)
	r := play(h)
	other := h.start("")
	foreign := h.follow(h.path(other.ID, "/stream")).must().id
	whole := h.follow(h.path(r.id, "/stream/consolidated")).all()
	for _, path := range []string{"/stream/consolidated", "/stream", "/stream?types=token", "/stream?render=html"} {
		if e := h.follow(h.path(r.id, path), "Last-Event-ID", foreign).must(); e.event != "reset" || e.fields["reason"] != "epoch" {
			t.Errorf("%s begins with %s %s", path, e.event, e.data)
		}
	}
	var page struct {
		Items []wsEvent
		Reset *struct{ Reason string }
	}
	h.call("GET", h.path(r.id, "/events?limit=1000&after="+foreign), "").want(200, &page)
	if page.Reset == nil || page.Reset.Reason != "epoch" || len(page.Items) != len(whole)-1 {
		t.Errorf("the page has %d items, reset %+v", len(page.Items), page.Reset)
	}
	if m := h.socket(r.id).load(fmt.Sprintf(`{"cursor":%q}`, foreign)); !m.Data.Stale {
		t.Errorf("the socket answers %+v", m)
	}
}

// Absurd limits and positions are refused, and the error names them.
func TestAbsurdLimits(t *testing.T) {
	h := open(t)
	r := play(h)
	for _, n := range []string{"0", "-1", "1001", "9223372036854775808", "18446744073709551616", "1e3", "many", "0x10", "%00"} {
		for path, field := range map[string]string{
			"/agent-executions?limit=":          "limit",
			h.path(r.id, "/events?limit="):      "limit",
			h.path(r.id, "/entries?limit="):     "limit",
			h.path(r.id, "/tasks?limit="):       "limit",
			"/agent-definitions?limit=":         "limit",
			h.path(r.id, "/checkpoints?limit="): "limit",
		} {
			h.call("GET", path+n, "").problem(400, "invalid_argument", field)
		}
		if n != "0" && n != "1001" {
			h.call("GET", h.path(r.id, "/stream?after_seq="+n), "").problem(400, "invalid_argument", "after_seq")
			h.call("GET", durable(r.id, "?offset="+n), "").want(map[bool]int{true: 200, false: 400}[n == "-1"], nil)
		}
		if n != "0" {
			h.call("GET", h.path(r.id, "/snapshot?entries="+n), "").problem(400, "invalid_argument", "entries")
		}
	}
	if e := h.follow(h.path(r.id, "/stream?after_seq=9223372036854775807")).must(); e.event != "reset" || e.fields["reason"] != "ahead" {
		t.Errorf("far ahead: %s %s", e.event, e.data)
	}
	c := h.socket(r.id)
	for _, ask := range []string{
		`{"limit":0}`, `{"limit":-1}`, `{"limit":1001}`, `{"limit":9223372036854775808}`, `{"limit":"many"}`, `{"limit":1.5}`,
		`{"after_seq":-1}`, `{"before_seq":-1}`, `{"after_seq":9223372036854775808}`, `{"before_seq":1e400}`, `{"after_seq":0,"cursor":"x"}`,
	} {
		if m := c.load(ask); m.Type != "error" || m.Data.Code != "invalid_argument" || m.Data.Message == "" {
			t.Errorf("%s is answered %+v", ask, m)
		}
	}
	if m := c.load(`{"after_seq":9223372036854775807}`); !m.Data.Stale {
		t.Errorf("far ahead: %+v", m)
	}
	if m := h.socket(r.id).load(`{"before_seq":9223372036854775807}`); m.Type != "events_loaded" || m.Data.LastSeq != m.Data.MaxSeq {
		t.Errorf("before the far end: %+v", m)
	}
}

// A binary frame gets the same answer as any invalid message.
func TestWebSocketBinaryFrame(t *testing.T) {
	h := open(t)
	x := h.start("")
	c := h.socket(x.ID)
	for _, kind := range []websocket.MessageType{websocket.MessageBinary, websocket.MessageText} {
		frame := `{"type":"keepalive"}`
		if kind == websocket.MessageText {
			frame = "\x00\x01"
		}
		if err := c.conn.Write(c.ctx, kind, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if m := c.next(); m.Type != "error" || m.Data.Code != "invalid_argument" || !strings.Contains(m.Data.Message, "text") {
			t.Errorf("%v: %+v", kind, m)
		}
	}
	c.load(`{}`)
}

// Pages of other origins cannot reach a server that serves only its own machine.
func TestWrongOrigin(t *testing.T) {
	dev := open(t, func(c *httpapi.Config) { c.Hosts = []string{"127.0.0.1", "localhost"} })
	x := dev.start("")
	for _, origin := range []string{"https://evil.example.com", "null", "http://127.0.0.1.evil.example.com", "file://"} {
		for _, path := range []string{"/stream", "/stream/consolidated?render=html", "/events", "/snapshot", "/ws"} {
			dev.call("GET", dev.path(x.ID, path), "", "Origin", origin).problem(403, "permission_denied", "")
		}
		dev.call("GET", durable(x.ID, ""), "", "Origin", origin).problem(403, "permission_denied", "")
		dev.call("POST", "/agent-executions", `{}`, "Origin", origin).problem(403, "permission_denied", "")
		dev.call("POST", dev.path(x.ID, "/signal"), `{"signalName":"a"}`, "Origin", origin).problem(403, "permission_denied", "")
		dev.call("DELETE", dev.path(x.ID, ""), "", "Origin", origin).problem(403, "permission_denied", "")
		if _, res, err := dev.dialSocket(x.ID, "Origin", origin); err == nil || res == nil || res.StatusCode != 403 {
			t.Errorf("a socket from %s: %v %v", origin, res, err)
		}
	}
	var now perdure.Execution
	dev.call("GET", dev.path(x.ID, ""), "", "Origin", dev.url).want(200, &now)
	if now.Status != perdure.StatusPending {
		t.Errorf("the execution is %s", now.Status)
	}
}

// An overlong request is refused before it is processed.
func TestOverlongRequests(t *testing.T) {
	h := open(t)
	x := h.start("")
	long := strings.Repeat("x", 20<<10)
	h.call("GET", h.path(x.ID, "/stream?after="+long), "").problem(414, "invalid_argument", "")
	h.call("GET", h.path(x.ID, "/stream"), "", "Last-Event-ID", long).problem(400, "invalid_argument", "Last-Event-ID")
	h.call("GET", h.path(x.ID, "/events"), "", "X-Long", strings.Repeat("x", 70<<10)).problem(431, "invalid_argument", "")
	h.call("GET", "/"+long, "").problem(414, "invalid_argument", "")
	h.call("GET", h.path(x.ID, "/events"), "").want(200, nil)
}
