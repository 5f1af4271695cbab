package ws_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/longtest"
)

// TestWebSocketPagesJoinedEqualTheStream checks that a client that loads all pages, forward or
// backward, has the same content as a client of the event stream.
func TestWebSocketPagesJoinedEqualTheStream(t *testing.T) {
	h := open(t)
	r := play(h)
	want := h.StreamedPicture(r.ID)
	for limit := 1; limit < 30; limit += 4 {
		forward := h.Socket(r.ID)
		m := forward.Load(fmt.Sprintf(`{"after_seq":0,"limit":%d}`, limit))
		for m.Data.HasMore {
			m = forward.Load(fmt.Sprintf(`{"after_seq":%d,"limit":%d}`, m.Data.LastSeq, limit))
		}
		forward.ToEnd()
		back := h.Socket(r.ID)
		m = back.Load(fmt.Sprintf(`{"limit":%d}`, limit))
		newest := m.Data.LastSeq
		for m.Data.HasMore {
			m = back.Load(fmt.Sprintf(`{"before_seq":%d,"limit":%d}`, m.Data.FirstSeq, limit))
			if !m.Data.Prepend || m.Data.LastSeq >= newest {
				t.Errorf("an older page is %+v", m.Data)
			}
		}
		back.ToEnd()
		for _, c := range []*wsClient{forward, back} {
			if got := c.Picture(); got != want {
				t.Errorf("limit %d:\n%s\nwant\n%s", limit, got, want)
			}
		}
	}
}

// TestWebSocketLoadsWhileTheRunIsLive checks two clients that load pages while blocks grow. At the
// end, both have the same content as a client of the event stream.
func TestWebSocketLoadsWhileTheRunIsLive(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	r.Stream(0, 0, "token", "one ")
	r.Stream(1, 0, "terminal", "$ ")
	r.Say(userText("hi"))
	c := h.Socket(x.ID)
	old := h.Socket(x.ID)
	first := old.Load(`{"limit":2}`).Data.FirstSeq // from now on, the client follows the log
	m := c.Load(`{"after_seq":0,"limit":3}`)
	grown := int64(4)
	for m.Data.HasMore {
		r.Stream(0, grown, "token", "é")
		grown += 2
		m = c.Load(fmt.Sprintf(`{"after_seq":%d,"limit":2}`, m.Data.LastSeq))
	}
	r.Stream(0, grown, "token", "end")
	old.Load(fmt.Sprintf(`{"before_seq":%d,"limit":1000}`, first))
	r.Stream(1, 2, "terminal", "ls\n")
	r.Complete()
	c.ToEnd()
	old.ToEnd()
	want := h.StreamedPicture(x.ID)
	if got := c.Picture(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := old.Picture(); got != want {
		t.Errorf("the client that loaded the older page late:\n%s\nwant\n%s", got, want)
	}
}

// TestWebSocketContinuesFromEveryCursor checks that a client that continues from a cursor of any
// event or chunk has the whole log at the end.
func TestWebSocketContinuesFromEveryCursor(t *testing.T) {
	h := open(t)
	r := play(h)
	whole := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	want := h.StreamedPicture(r.ID)
	for i := range len(whole) - 2 {
		c := h.Socket(r.ID)
		c.First = 1
		for _, e := range whole[:i+1] {
			c.Apply(wsEvent{Cursor: e.ID, Event: e.Event, Data: json.RawMessage(e.Data)})
		}
		m := c.Load(fmt.Sprintf(`{"cursor":%q,"limit":4}`, whole[i].ID))
		for m.Data.HasMore {
			m = c.Load(fmt.Sprintf(`{"cursor":%q,"limit":4}`, m.Data.Events[len(m.Data.Events)-1].Cursor))
		}
		c.ToEnd()
		if got := c.Picture(); got != want {
			t.Fatalf("cut after %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// TestStaleSeqSync checks that a client with a seq after the end of the log, or a cursor of another
// log, is told that its copy is stale. The client then receives a page and the events after this
// page, and at the end has the same log as the server.
func TestStaleSeqSync(t *testing.T) {
	h := open(t)
	r := play(h)
	want := h.StreamedPicture(r.ID)
	for _, ask := range []string{`{"after_seq":10000,"limit":1000}`, `{"cursor":"AAAAAAAAAAEB","limit":1000}`} {
		c := h.Socket(r.ID)
		c.Events[9999], c.Text[9998] = "of another life", "stale"
		if m := c.Load(ask); !m.Data.Stale || m.Data.Prepend {
			t.Errorf("%s: %+v", ask, m.Data)
		}
		c.ToEnd()
		if got := c.Picture(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", ask, got, want)
		}
	}
}

func TestMultipleClientsSeeSameEvents(t *testing.T) {
	h := open(t)
	x := h.Start("")
	var clients []*wsClient
	for range 5 {
		c := h.Socket(x.ID)
		c.Load(`{"after_seq":0}`)
		clients = append(clients, c)
	}
	r := h.Claim()
	for i := range 50 {
		r.Stream(0, int64(i), "token", "x")
	}
	r.Say(userText("hi"))
	r.Complete()
	want := h.StreamedPicture(x.ID)
	for i, c := range clients {
		c.ToEnd()
		if got := c.Picture(); got != want {
			t.Errorf("client %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// TestReconnectDuringAgentStreaming checks that a client whose connection breaks while the agent
// streams text can continue from its newest seq.
func TestReconnectDuringAgentStreaming(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	c := h.Socket(x.ID)
	c.Load(`{"after_seq":0}`)
	for i := range 20 {
		r.Stream(0, int64(i*2), "token", "ab")
		if i%5 != 4 {
			continue
		}
		_ = c.Conn.CloseNow()
		again := h.Socket(x.ID)
		again.Events, again.Text = c.Events, c.Text
		last := int64(0)
		for seq := range again.Events {
			last = max(last, seq)
		}
		again.Load(fmt.Sprintf(`{"after_seq":%d}`, last))
		c = again
	}
	r.Say(assistantText("x"))
	r.Complete()
	c.ToEnd()
	if got, want := c.Picture(), h.StreamedPicture(x.ID); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWebSocketPromptIsIdempotent(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.Socket(x.ID)
	for range 3 {
		c.Send("prompt", `{"prompt_id":"p1","text":"hello"}`)
		if m := c.Next(); m.Type != "prompt_ack" || m.Data.PromptID != "p1" {
			t.Errorf("a prompt is answered %+v", m)
		}
	}
	r := h.Claim()
	pending, err := h.Store.PendingSignals(t.Context(), r.ID, nil, 0, 10)
	if err != nil || len(pending) != 1 || string(pending[0].Value) != `{"text":"hello"}` || pending[0].ID != "p1" {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	c.Send("keepalive", `{}`)
	if m := c.Next(); m.Type != "keepalive_ack" || m.Data.MaxSeq < 2 {
		t.Errorf("keepalive is answered %+v", m)
	}
	r.Complete()
	c.Send("prompt", `{"prompt_id":"p2","text":"late"}`)
	if m := c.Next(); m.Type != "error" || m.Data.Code != "execution_ended" || m.Data.PromptID != "p2" || m.Data.Message == "" {
		t.Errorf("a late prompt is answered %+v", m)
	}
}

func TestWebSocketCancel(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.Socket(x.ID)
	c.Load(`{}`)
	c.Send("cancel", `{}`)
	c.ToEnd()
	if !slices.Contains(slices.Collect(maps.Values(c.Events)), "agent.cancelled") {
		t.Errorf("cancelled:\n%s", c.Picture())
	}
}

// TestWebSocketBadInput checks that the server answers invalid input with an error, and that the
// socket stays open.
func TestWebSocketBadInput(t *testing.T) {
	h := open(t)
	x := h.Start("")
	c := h.Socket(x.ID)
	for _, bad := range []string{
		`no json`, `[]`, `{"type":"dance"}`, `{"type":"load_events","data":{"limit":0}}`, `{"type":"load_events","data":{"limit":100000000}}`,
		`{"type":"load_events","data":{"after_seq":-1}}`, `{"type":"load_events","data":{"after_seq":1,"before_seq":2}}`,
		`{"type":"load_events","data":{"after_seq":"x"}}`, `{"type":"load_events","data":{"cursor":"!"}}`,
		`{"type":"prompt"}`, `{"type":"prompt","data":{"prompt_id":"","text":"x"}}`, `{"type":"prompt","data":{"prompt_id":"p","text":""}}`,
	} {
		if err := c.Conn.Write(c.Ctx, websocket.MessageText, []byte(bad)); err != nil {
			t.Fatal(err)
		}
		if m := c.Next(); m.Type != "error" || m.Data.Code != "invalid_argument" || m.Data.Message == "" {
			t.Errorf("%s is answered %+v", bad, m)
		}
	}
	c.Load(`{}`)
	if err := c.Conn.Write(c.Ctx, websocket.MessageText, []byte(`{"type":"`+strings.Repeat("x", 2<<20)+`"}`)); err == nil {
		_, _, err = c.Conn.Read(c.Ctx)
		if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("a frame over the limit: %v", err)
		}
	}
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, nil)
}

func TestWebSocketAccess(t *testing.T) {
	h := open(t, func(c *face.Config) { c.Origins = []string{"https://app.example.com"} })
	x := h.Start("")
	session := h.SignIn(h.ClientKey)
	socket := []string{"Authorization", "", "Cookie", session.Cookie, "Sec-WebSocket-Protocol", session.Protocols()}
	for name, c := range map[string]struct {
		id      uuid.UUID
		headers []string
		status  int
	}{
		"no key":                  {x.ID, []string{"Authorization", ""}, 401},
		"a worker's key":          {x.ID, []string{"Authorization", "Bearer " + h.WorkerKey}, 403},
		"an unknown execution":    {h.ID, nil, 404},
		"the cookie alone":        {x.ID, []string{"Authorization", "", "Cookie", session.Cookie, "Origin", h.URL}, 401},
		"the page's half alone":   {x.ID, []string{"Authorization", "", "Sec-WebSocket-Protocol", session.Protocols(), "Origin", h.URL}, 401},
		"the session, no origin":  {x.ID, socket, 403},
		"the session from abroad": {x.ID, append(slices.Clone(socket), "Origin", "https://evil.example.com"), 403},
		"halves of two":           {x.ID, []string{"Authorization", "", "Cookie", h.SignIn(h.ClientKey).Cookie, "Sec-WebSocket-Protocol", session.Protocols(), "Origin", h.URL}, 401},
	} {
		_, res, err := h.DialSocket(c.id, c.headers...)
		if err == nil || res == nil || res.StatusCode != c.status {
			t.Errorf("%s: %v %v, want %d", name, err, res, c.status)
		}
	}
	for _, origin := range []string{h.URL, "https://app.example.com"} {
		c, res, err := h.DialSocket(x.ID, append(slices.Clone(socket), "Origin", origin)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Values("Sec-WebSocket-Protocol"); len(got) != 1 || got[0] != "perdure" {
			t.Errorf("the server selects %q", got)
		}
		_ = c.Conn.CloseNow()
	}
	h.Call("GET", h.Path(x.ID, "/ws"), "").Want(426, nil)
}

// TestWebSocketEndsAreReported checks that a stopping server and a revoked key close the socket
// with a reason.
func TestWebSocketEndsAreReported(t *testing.T) {
	h := open(t, func(c *face.Config) { c.RecheckEvery = time.Millisecond })
	x := h.Start("")
	key, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	brief := h.Socket(x.ID, "Authorization", "Bearer "+secret)
	stays := h.Socket(x.ID)
	h.Call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	if _, _, err := brief.Conn.Read(brief.Ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("with a revoked key: %v", err)
	}
	close(h.Stop)
	if _, _, err := stays.Conn.Read(stays.Ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("when the server stops: %v", err)
	}
}

// TestWebSocketOfAClientThatNeverReads checks that a client that never reads is disconnected, and
// delays nobody else.
func TestWebSocketOfAClientThatNeverReads(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, func(c *face.Config) { c.WriteTimeout = time.Second })
	x := h.Start("")
	r := h.Claim()
	text := strings.Repeat("x", 200<<10)
	for i := range 40 {
		r.Stream(0, int64(i*len(text)), "token", text)
	}
	c := h.Socket(x.ID)
	other := h.Socket(x.ID)
	for range 10 {
		c.Send("load_events", `{"after_seq":2}`)
	}
	other.Load(`{"after_seq":3}`)
	r.Complete()
	other.ToEnd()
	var err error
	for err == nil {
		err = c.Conn.Write(c.Ctx, websocket.MessageText, []byte(`{"type":"keepalive"}`))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the client that never reads was not cut off")
	}
}
