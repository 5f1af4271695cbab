package face_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/face"
)

// wsClient is a client of the WebSocket. It stores events by seq, and blocks as the bytes that it
// received.
type wsClient struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn

	events map[int64]string
	text   map[int64]string
	first  int64 // lowest seq; chunks of earlier blocks are ignored
	ended  bool
}

type wsMessage struct {
	Type string
	Data struct {
		Events   []wsEvent
		FirstSeq int64 `json:"first_seq"`
		LastSeq  int64 `json:"last_seq"`
		MaxSeq   int64 `json:"max_seq"`
		HasMore  bool  `json:"has_more"`
		Stale    bool  `json:"is_stale_client"`
		Reset    *client.Reset
		Prepend  bool
		wsEvent
		Code, Message string
		PromptID      string `json:"prompt_id"`
		Execution     string `json:"agent_execution_id"`
	}
}

type wsEvent struct {
	Cursor, Event string
	Data          json.RawMessage
}

func (h *house) socket(id uuid.UUID, headers ...string) *wsClient {
	h.T.Helper()
	c, res, err := h.dialSocket(id, headers...)
	if err != nil {
		h.T.Fatalf("%v %v", err, res)
	}
	h.T.Cleanup(func() { _ = c.conn.CloseNow() })
	if m := c.next(); m.Type != "connected" || m.Data.Execution != id.String() || m.Data.MaxSeq < 1 {
		h.T.Fatalf("the first message is %+v", m)
	}
	return c
}

func (h *house) dialSocket(id uuid.UUID, headers ...string) (*wsClient, *http.Response, error) {
	req := h.Request("GET", h.Path(id, "/ws"), "", headers...)
	ctx, cancel := context.WithTimeout(h.T.Context(), 30*time.Second)
	h.T.Cleanup(cancel)
	var offered []string
	if o := req.Header.Get("Sec-WebSocket-Protocol"); o != "" {
		offered = strings.Split(o, ", ")
	}
	conn, res, err := websocket.Dial(ctx, req.URL.String(), &websocket.DialOptions{HTTPHeader: req.Header, Host: req.Host, Subprotocols: offered})
	if err == nil {
		conn.SetReadLimit(64 << 20)
	}
	return &wsClient{t: h.T, ctx: ctx, conn: conn, events: map[int64]string{}, text: map[int64]string{}}, res, err
}

func (c *wsClient) send(kind, data string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(fmt.Sprintf(`{"type":%q,"data":%s}`, kind, data))); err != nil {
		c.t.Fatal(err)
	}
}

func (c *wsClient) next() wsMessage {
	c.t.Helper()
	_, raw, err := c.conn.Read(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	var m wsMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		c.t.Fatalf("%v: %s", err, raw)
	}
	return m
}

// load requests a page, applies it and all events that arrive before it, and returns it.
func (c *wsClient) load(data string) wsMessage {
	c.t.Helper()
	c.send("load_events", data)
	for {
		m := c.next()
		if m.Type != "event" {
			c.take(m)
			return m
		}
		c.take(m)
	}
}

// take applies a message.
func (c *wsClient) take(m wsMessage) {
	c.t.Helper()
	if m.Data.FirstSeq > 0 && (c.first == 0 || m.Data.FirstSeq < c.first) {
		c.first = m.Data.FirstSeq
	}
	if m.Data.Stale {
		c.events, c.text = map[int64]string{}, map[int64]string{}
	}
	for _, e := range m.Data.Events {
		c.fold(e)
	}
	if m.Type == "event" {
		c.fold(m.Data.wsEvent)
	}
}

func (c *wsClient) fold(e wsEvent) {
	c.t.Helper()
	var d struct {
		Seq      int64
		Offset   int
		Data     json.RawMessage
		Snapshot bool
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		c.t.Fatal(err)
	}
	switch e.Event {
	case "end":
		c.ended = true
		return
	case "token", "thinking", "terminal", "snapshot":
		var text string
		if err := json.Unmarshal(d.Data, &text); err != nil {
			c.t.Fatalf("%s: %v", e.Data, err)
		}
		if d.Seq < c.first && !d.Snapshot {
			return
		}
		if !d.Snapshot && d.Offset != len(c.text[d.Seq]) {
			c.t.Errorf("event %d goes on at %d, %d bytes are held", d.Seq, d.Offset, len(c.text[d.Seq]))
		}
		if d.Snapshot {
			c.text[d.Seq] = ""
		}
		c.text[d.Seq] += text
		return
	}
	if _, held := c.events[d.Seq]; held {
		c.t.Errorf("event %d came twice", d.Seq)
	}
	c.events[d.Seq] = e.Event
}

// toEnd follows until the log ends.
func (c *wsClient) toEnd() {
	c.t.Helper()
	for !c.ended {
		c.take(c.next())
	}
}

// picture returns everything that the client holds, as text.
func (c *wsClient) picture() string {
	var b strings.Builder
	all := maps.Clone(c.events)
	for seq, text := range c.text {
		all[seq] = "block " + text
	}
	for _, seq := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%d %s\n", seq, all[seq])
	}
	return b.String()
}

func wantPicture(t *testing.T, h *house, id uuid.UUID) string {
	t.Helper()
	c := &wsClient{t: t, events: map[int64]string{}, text: map[int64]string{}}
	for _, e := range h.Follow(h.Path(id, "/stream/consolidated")).All() {
		c.fold(wsEvent{e.ID, e.Event, json.RawMessage(e.Data)})
	}
	return c.picture()
}

// A client that loads all pages, forward or backward, has the same content as a client that
// followed the stream.
func TestWebSocketPagesJoinedEqualTheStream(t *testing.T) {
	h := open(t)
	r := play(h)
	want := wantPicture(t, h, r.ID)
	for limit := 1; limit < 30; limit += 4 {
		forward := h.socket(r.ID)
		m := forward.load(fmt.Sprintf(`{"after_seq":0,"limit":%d}`, limit))
		for m.Data.HasMore {
			m = forward.load(fmt.Sprintf(`{"after_seq":%d,"limit":%d}`, m.Data.LastSeq, limit))
		}
		forward.toEnd()
		back := h.socket(r.ID)
		m = back.load(fmt.Sprintf(`{"limit":%d}`, limit))
		newest := m.Data.LastSeq
		for m.Data.HasMore {
			m = back.load(fmt.Sprintf(`{"before_seq":%d,"limit":%d}`, m.Data.FirstSeq, limit))
			if !m.Data.Prepend || m.Data.LastSeq >= newest {
				t.Errorf("an older page is %+v", m.Data)
			}
		}
		back.toEnd()
		for _, c := range []*wsClient{forward, back} {
			if got := c.picture(); got != want {
				t.Errorf("limit %d:\n%s\nwant\n%s", limit, got, want)
			}
		}
	}
}

// Two clients load pages while blocks grow. Both end with the same content as a client that
// followed the stream.
func TestWebSocketLoadsWhileTheRunIsLive(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	r.Stream(0, 0, "token", "one ")
	r.Stream(1, 0, "terminal", "$ ")
	r.Say(userText("hi"))
	c := h.socket(x.ID)
	old := h.socket(x.ID)
	first := old.load(`{"limit":2}`).Data.FirstSeq // follows from now on
	m := c.load(`{"after_seq":0,"limit":3}`)
	grown := int64(4)
	for m.Data.HasMore {
		r.Stream(0, grown, "token", "é")
		grown += 2
		m = c.load(fmt.Sprintf(`{"after_seq":%d,"limit":2}`, m.Data.LastSeq))
	}
	r.Stream(0, grown, "token", "end")
	old.load(fmt.Sprintf(`{"before_seq":%d,"limit":1000}`, first))
	r.Stream(1, 2, "terminal", "ls\n")
	r.Complete()
	c.toEnd()
	old.toEnd()
	want := wantPicture(t, h, x.ID)
	if got := c.picture(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := old.picture(); got != want {
		t.Errorf("the client that loaded the older page late:\n%s\nwant\n%s", got, want)
	}
}

// A client that continues from any cursor, also inside a block, ends with the whole log.
func TestWebSocketGoesOnFromEveryCursor(t *testing.T) {
	h := open(t)
	r := play(h)
	whole := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	want := wantPicture(t, h, r.ID)
	for i := range len(whole) - 2 {
		c := h.socket(r.ID)
		c.first = 1
		for _, e := range whole[:i+1] {
			c.fold(wsEvent{e.ID, e.Event, json.RawMessage(e.Data)})
		}
		m := c.load(fmt.Sprintf(`{"cursor":%q,"limit":4}`, whole[i].ID))
		for m.Data.HasMore {
			m = c.load(fmt.Sprintf(`{"cursor":%q,"limit":4}`, m.Data.Events[len(m.Data.Events)-1].Cursor))
		}
		c.toEnd()
		if got := c.picture(); got != want {
			t.Fatalf("cut after %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// A client that is ahead of the log, or has a cursor of another log, is told that it is stale.
// After the page and the events that follow, it has the server's log.
func TestStaleSeqSync(t *testing.T) {
	h := open(t)
	r := play(h)
	want := wantPicture(t, h, r.ID)
	for _, ask := range []string{`{"after_seq":10000,"limit":1000}`, `{"cursor":"AAAAAAAAAAEB","limit":1000}`} {
		c := h.socket(r.ID)
		c.events[9999], c.text[9998] = "of another life", "stale"
		if m := c.load(ask); !m.Data.Stale || m.Data.Prepend {
			t.Errorf("%s: %+v", ask, m.Data)
		}
		c.toEnd()
		if got := c.picture(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", ask, got, want)
		}
	}
}

func TestMultipleClientsSeeSameEvents(t *testing.T) {
	h := open(t)
	x := h.Start("")
	var clients []*wsClient
	for range 5 {
		c := h.socket(x.ID)
		c.load(`{"after_seq":0}`)
		clients = append(clients, c)
	}
	r := h.Claim()
	for i := range 50 {
		r.Stream(0, int64(i), "token", "x")
	}
	r.Say(userText("hi"))
	r.Complete()
	want := wantPicture(t, h, x.ID)
	for i, c := range clients {
		c.toEnd()
		if got := c.picture(); got != want {
			t.Errorf("client %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// A client whose connection breaks while an agent streams continues from its newest seq.
func TestReconnectDuringAgentStreaming(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	c := h.socket(x.ID)
	c.load(`{"after_seq":0}`)
	for i := range 20 {
		r.Stream(0, int64(i*2), "token", "ab")
		if i%5 != 4 {
			continue
		}
		_ = c.conn.CloseNow()
		again := h.socket(x.ID)
		again.events, again.text = c.events, c.text
		last := int64(0)
		for seq := range again.events {
			last = max(last, seq)
		}
		again.load(fmt.Sprintf(`{"after_seq":%d}`, last))
		c = again
	}
	r.Say(assistantText("x"))
	r.Complete()
	c.toEnd()
	if got, want := c.picture(), wantPicture(t, h, x.ID); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWebSocketPromptIsIdempotent(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.socket(x.ID)
	for range 3 {
		c.send("prompt", `{"prompt_id":"p1","text":"hello"}`)
		if m := c.next(); m.Type != "prompt_ack" || m.Data.PromptID != "p1" {
			t.Errorf("a prompt is answered %+v", m)
		}
	}
	r := h.Claim()
	pending, err := h.Store.PendingSignals(t.Context(), r.ID, nil, 0, 10)
	if err != nil || len(pending) != 1 || string(pending[0].Value) != `{"text":"hello"}` || pending[0].ID != "p1" {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	c.send("keepalive", `{}`)
	if m := c.next(); m.Type != "keepalive_ack" || m.Data.MaxSeq < 2 {
		t.Errorf("keepalive is answered %+v", m)
	}
	r.Complete()
	c.send("prompt", `{"prompt_id":"p2","text":"late"}`)
	if m := c.next(); m.Type != "error" || m.Data.Code != "execution_ended" || m.Data.PromptID != "p2" || m.Data.Message == "" {
		t.Errorf("a late prompt is answered %+v", m)
	}
}

func TestWebSocketCancel(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.socket(x.ID)
	c.load(`{}`)
	c.send("cancel", `{}`)
	c.toEnd()
	if !slices.Contains(slices.Collect(maps.Values(c.events)), "agent.cancelled") {
		t.Errorf("cancelled:\n%s", c.picture())
	}
}

// Invalid input gets an error, and the socket continues.
func TestWebSocketBadInput(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.socket(x.ID)
	for _, bad := range []string{
		`no json`, `[]`, `{"type":"dance"}`, `{"type":"load_events","data":{"limit":0}}`, `{"type":"load_events","data":{"limit":100000000}}`,
		`{"type":"load_events","data":{"after_seq":-1}}`, `{"type":"load_events","data":{"after_seq":1,"before_seq":2}}`,
		`{"type":"load_events","data":{"after_seq":"x"}}`, `{"type":"load_events","data":{"cursor":"!"}}`,
		`{"type":"prompt"}`, `{"type":"prompt","data":{"prompt_id":"","text":"x"}}`, `{"type":"prompt","data":{"prompt_id":"p","text":""}}`,
	} {
		if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(bad)); err != nil {
			t.Fatal(err)
		}
		if m := c.next(); m.Type != "error" || m.Data.Code != "invalid_argument" || m.Data.Message == "" {
			t.Errorf("%s is answered %+v", bad, m)
		}
	}
	c.load(`{}`)
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(`{"type":"`+strings.Repeat("x", 2<<20)+`"}`)); err == nil {
		_, _, err = c.conn.Read(c.ctx)
		if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("a frame over the limit: %v", err)
		}
	}
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, nil)
}

func TestWebSocketAccess(t *testing.T) {
	h := open(t, func(c *face.Config) { c.Origins = []string{"https://app.example.com"} })
	x := h.Start("")
	session := h.signIn(h.ClientKey)
	socket := []string{"Authorization", "", "Cookie", session.cookie, "Sec-WebSocket-Protocol", session.protocols()}
	for name, c := range map[string]struct {
		id      uuid.UUID
		headers []string
		status  int
	}{
		"no key":                  {x.ID, []string{"Authorization", ""}, 401},
		"a worker's key":          {x.ID, []string{"Authorization", "Bearer " + h.WorkerKey}, 403},
		"an unknown execution":    {h.ID, nil, 404},
		"the cookie alone":        {x.ID, []string{"Authorization", "", "Cookie", session.cookie, "Origin", h.URL}, 401},
		"the page's half alone":   {x.ID, []string{"Authorization", "", "Sec-WebSocket-Protocol", session.protocols(), "Origin", h.URL}, 401},
		"the session, no origin":  {x.ID, socket, 403},
		"the session from abroad": {x.ID, append(slices.Clone(socket), "Origin", "https://evil.example.com"), 403},
		"halves of two":           {x.ID, []string{"Authorization", "", "Cookie", h.signIn(h.ClientKey).cookie, "Sec-WebSocket-Protocol", session.protocols(), "Origin", h.URL}, 401},
	} {
		_, res, err := h.dialSocket(c.id, c.headers...)
		if err == nil || res == nil || res.StatusCode != c.status {
			t.Errorf("%s: %v %v, want %d", name, err, res, c.status)
		}
	}
	for _, origin := range []string{h.URL, "https://app.example.com"} {
		c, res, err := h.dialSocket(x.ID, append(slices.Clone(socket), "Origin", origin)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Values("Sec-WebSocket-Protocol"); len(got) != 1 || got[0] != "perdure" {
			t.Errorf("the server selects %q", got)
		}
		_ = c.conn.CloseNow()
	}
	h.Call("GET", h.Path(x.ID, "/ws"), "").Want(426, nil)
}

// A stopping server and a revoked key close the socket with a reason.
func TestWebSocketEndsAreTold(t *testing.T) {
	h := open(t, func(c *face.Config) { c.RecheckEvery = time.Millisecond })
	x := h.Start("")
	key, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	brief := h.socket(x.ID, "Authorization", "Bearer "+secret)
	stays := h.socket(x.ID)
	h.Call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	if _, _, err := brief.conn.Read(brief.ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("with a revoked key: %v", err)
	}
	close(h.Stop)
	if _, _, err := stays.conn.Read(stays.ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("when the server stops: %v", err)
	}
}

// A client that never reads is disconnected, and delays nobody else.
func TestWebSocketOfAClientThatNeverReads(t *testing.T) {
	h := open(t, func(c *face.Config) { c.WriteTimeout = time.Second })
	x := h.Start("")
	r := h.Claim()
	text := strings.Repeat("x", 200<<10)
	for i := range 40 {
		r.Stream(0, int64(i*len(text)), "token", text)
	}
	c := h.socket(x.ID)
	other := h.socket(x.ID)
	for range 10 {
		c.send("load_events", `{"after_seq":2}`)
	}
	other.load(`{"after_seq":3}`)
	r.Complete()
	other.toEnd()
	var err error
	for err == nil {
		err = c.conn.Write(c.ctx, websocket.MessageText, []byte(`{"type":"keepalive"}`))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the client that never reads was not cut off")
	}
}
