package face_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/longtest"
)

const responsesPath = "./v1/responses"

// dialResponses opens a WebSocket of responses.
func (h *testServer) dialResponses(headers ...string) (*wsClient, *http.Response, error) {
	req := h.Request("GET", responsesPath, "", headers...)
	ctx, cancel := context.WithTimeout(h.T.Context(), 30*time.Second)
	h.T.Cleanup(cancel)
	var offered []string
	if o := req.Header.Get("Sec-WebSocket-Protocol"); o != "" {
		offered = strings.Split(o, ", ")
	}
	conn, res, err := websocket.Dial(ctx, req.URL.String(), &websocket.DialOptions{HTTPHeader: req.Header, Host: req.Host, Subprotocols: offered})
	return &wsClient{T: h.T, Ctx: ctx, Conn: conn}, res, err
}

func (h *testServer) responses(headers ...string) *wsClient {
	h.T.Helper()
	c, res, err := h.dialResponses(headers...)
	if err != nil {
		h.T.Fatalf("%v %v", err, res)
	}
	h.T.Cleanup(func() { _ = c.Conn.CloseNow() })
	return c
}

// ask sends a create request and returns the first frame of the response.
func ask(c *wsClient, model string) responsesFrame {
	c.T.Helper()
	if err := c.Conn.Write(c.Ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"response.create","model":%q,"input":"hi"}`, model)); err != nil {
		c.T.Fatal(err)
	}
	_, raw, err := c.Conn.Read(c.Ctx)
	if err != nil {
		c.T.Fatal(err)
	}
	var f responsesFrame
	if err := json.Unmarshal(raw, &f); err != nil {
		c.T.Fatalf("%v: %s", err, raw)
	}
	return f
}

type responsesFrame struct {
	Type   string
	Status int
	Error  struct{ Code, Message string }
}

// TestResponsesSocketAccess checks that a WebSocket of responses needs a key of the role client, or
// both halves of a session's secret and an accepted Origin.
func TestResponsesSocketAccess(t *testing.T) {
	h := open(t, func(c *face.Config) { c.Origins = []string{"https://app.example.com"} })
	session := h.SignIn(h.ClientKey)
	socket := []string{"Authorization", "", "Cookie", session.Cookie, "Sec-WebSocket-Protocol", session.Protocols()}
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"no key":                  {[]string{"Authorization", ""}, 401},
		"an unknown key":          {[]string{"Authorization", "Bearer nobody"}, 401},
		"a worker's key":          {[]string{"Authorization", "Bearer " + h.WorkerKey}, 403},
		"the cookie alone":        {[]string{"Authorization", "", "Cookie", session.Cookie, "Origin", h.URL}, 401},
		"the page's half alone":   {[]string{"Authorization", "", "Sec-WebSocket-Protocol", session.Protocols(), "Origin", h.URL}, 401},
		"the session, no origin":  {socket, 403},
		"the session from abroad": {append(slices.Clone(socket), "Origin", "https://evil.example.com"), 403},
	} {
		_, res, err := h.dialResponses(c.headers...)
		if err == nil || res == nil || res.StatusCode != c.status {
			t.Errorf("%s: %v %v, want %d", name, err, res, c.status)
		}
	}
	for _, origin := range []string{h.URL, "https://app.example.com"} {
		c, res, err := h.dialResponses(append(slices.Clone(socket), "Origin", origin)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Values("Sec-WebSocket-Protocol"); len(got) != 1 || got[0] != "perdure" {
			t.Errorf("the server selects %q", got)
		}
		if f := ask(c, "scripted/m"); f.Type != "response.created" {
			t.Errorf("answered %+v", f)
		}
		_ = c.Conn.CloseNow()
	}
	h.Call("GET", responsesPath, "").Want(426, nil)
}

// TestResponsesSocketEndsAreReported checks with which code the server closes WebSockets, without
// and with a running response. The code is 1008 after the key was revoked, and 1001 if the server
// is stopping.
func TestResponsesSocketEndsAreReported(t *testing.T) {
	h := open(t, func(c *face.Config) { c.RecheckEvery = time.Millisecond })
	key, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	idle, busy := h.responses("Authorization", "Bearer "+secret), h.responses("Authorization", "Bearer "+secret)
	if f := ask(busy, "scripted/m"); f.Type != "response.created" {
		t.Fatalf("answered %+v", f)
	}
	stays := h.responses()
	h.Call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	for _, c := range []*wsClient{idle, busy} {
		if _, _, err := c.Conn.Read(c.Ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("with a revoked key: %v", err)
		}
	}
	close(h.Stop)
	if _, _, err := stays.Conn.Read(stays.Ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("when the server stops: %v", err)
	}
}

// TestResponsesSocketsAreCounted checks that a WebSocket of responses counts as a stream of its
// key, and is reported to the observer as a reader.
func TestResponsesSocketsAreCounted(t *testing.T) {
	o := &readingObserver{}
	h := open(t, func(c *face.Config) { c.StreamsPerKey, c.Observer = 1, o })
	first := h.responses()
	if got := o.readers("responses_websocket"); got != 1 {
		t.Errorf("%d are counted", got)
	}
	_, res, err := h.dialResponses()
	if err == nil || res == nil || res.StatusCode != 429 || res.Header.Get("Retry-After") != "5" {
		t.Errorf("a second: %v %v", res, err)
	}
	h.responses("Authorization", "Bearer "+h.AdminKey)
	_ = first.Conn.CloseNow()
	for {
		c, res, err := h.dialResponses()
		if err == nil {
			_ = c.Conn.CloseNow()
			break
		}
		if res == nil || res.StatusCode != 429 {
			t.Fatal(err)
		}
	}
}

// TestResponsesSocketCreatesAreRequests checks that each create request over a WebSocket counts
// towards the request limit of the key.
func TestResponsesSocketCreatesAreRequests(t *testing.T) {
	h := open(t)
	var made struct{ Key string }
	h.Call("POST", "/keys", `{"name":"slow","role":"client","limits":{"requestsPerSecond":1}}`, "Authorization", "Bearer "+h.AdminKey).Want(201, &made)
	var c *wsClient
	for c == nil { // opening the WebSocket counts as a request, too
		if got, res, err := h.dialResponses("Authorization", "Bearer "+made.Key); err == nil {
			c = got
		} else if res == nil || res.StatusCode != 429 {
			t.Fatal(err)
		}
	}
	defer c.Conn.CloseNow()
	for {
		f := ask(c, "none/m")
		if f.Type == "error" && f.Status == 429 && f.Error.Code == string(perdure.RateLimited) {
			return
		}
		if f.Type != "error" || f.Status != 400 {
			t.Fatalf("answered %+v", f)
		}
	}
}

// TestResponsesSocketOfAClientThatVanishes checks that the server detects a client that has
// disappeared without closing the connection.
func TestResponsesSocketOfAClientThatVanishes(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, writeSoon, pingSoon)
	gone := make(chan struct{})
	h.Wrap(func(serve http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			serve(w, r)
		}
	})
	h.silent(responsesPath, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	<-gone
}

func TestResponsesSocketOverHTTP2IsRefused(t *testing.T) {
	h := open(t)
	status, raw := h.h2(0).read(responsesPath)
	if status != 400 || !strings.Contains(string(raw), "HTTP/1.1") {
		t.Errorf("refused with %d %s", status, raw)
	}
}

// readingObserver counts readers by transport.
type readingObserver struct {
	mu   sync.Mutex // guards open
	open map[string]int
}

func (*readingObserver) Request(string, string, int, time.Duration) {}
func (*readingObserver) Delivered(string, time.Duration)            {}

func (o *readingObserver) Reading(transport string) func() {
	o.add(transport, 1)
	return func() { o.add(transport, -1) }
}

func (o *readingObserver) add(transport string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = map[string]int{}
	}
	o.open[transport] += n
}

func (o *readingObserver) readers(transport string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[transport]
}
