package facetest

import (
	"context"
	"encoding/json"
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
)

// Socket is a client of the WebSocket over which the server sends an execution's log. It stores the
// events by seq, and the text that it received for each block.
type Socket struct {
	T    *testing.T
	Ctx  context.Context
	Conn *websocket.Conn

	Events map[int64]string
	Text   map[int64]string
	First  int64 // lowest seq of the loaded events; chunks of blocks with a lower seq are ignored
	Ended  bool
}

// SocketMessage is a message that the server sent over the WebSocket.
type SocketMessage struct {
	Type string
	Data struct {
		Events   []LogEvent
		FirstSeq int64 `json:"first_seq"`
		LastSeq  int64 `json:"last_seq"`
		MaxSeq   int64 `json:"max_seq"`
		HasMore  bool  `json:"has_more"`
		Stale    bool  `json:"is_stale_client"`
		Reset    *client.Reset
		Prepend  bool
		LogEvent
		Code, Message string
		PromptID      string `json:"prompt_id"`
		Execution     string `json:"agent_execution_id"`
	}
}

// LogEvent is an event of a log, as an item of a page or in a WebSocket message.
type LogEvent struct {
	Cursor, Event string
	Data          json.RawMessage
}

// Socket opens the WebSocket of a run and reads the first message.
func (h *Server) Socket(id uuid.UUID, headers ...string) *Socket {
	h.T.Helper()
	c, res, err := h.DialSocket(id, headers...)
	if err != nil {
		h.T.Fatalf("%v %v", err, res)
	}
	h.T.Cleanup(func() { _ = c.Conn.CloseNow() })
	if m := c.Next(); m.Type != "connected" || m.Data.Execution != id.String() || m.Data.MaxSeq < 1 {
		h.T.Fatalf("the first message is %+v", m)
	}
	return c
}

// DialSocket opens the WebSocket of a run.
func (h *Server) DialSocket(id uuid.UUID, headers ...string) (*Socket, *http.Response, error) {
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
	return &Socket{T: h.T, Ctx: ctx, Conn: conn, Events: map[int64]string{}, Text: map[int64]string{}}, res, err
}

// Send sends a message of the given type.
func (c *Socket) Send(kind, data string) {
	c.T.Helper()
	if err := c.Conn.Write(c.Ctx, websocket.MessageText, []byte(fmt.Sprintf(`{"type":%q,"data":%s}`, kind, data))); err != nil {
		c.T.Fatal(err)
	}
}

// Next reads the next message of the server.
func (c *Socket) Next() SocketMessage {
	c.T.Helper()
	_, raw, err := c.Conn.Read(c.Ctx)
	if err != nil {
		c.T.Fatal(err)
	}
	var m SocketMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		c.T.Fatalf("%v: %s", err, raw)
	}
	return m
}

// Load requests a page of older events. It applies all messages up to the one with the page, and
// returns that message.
func (c *Socket) Load(data string) SocketMessage {
	c.T.Helper()
	c.Send("load_events", data)
	for {
		m := c.Next()
		if m.Type != "event" {
			c.Take(m)
			return m
		}
		c.Take(m)
	}
}

// Take adds the events of a message to what the client has stored.
func (c *Socket) Take(m SocketMessage) {
	c.T.Helper()
	if m.Data.FirstSeq > 0 && (c.First == 0 || m.Data.FirstSeq < c.First) {
		c.First = m.Data.FirstSeq
	}
	if m.Data.Stale {
		c.Events, c.Text = map[int64]string{}, map[int64]string{}
	}
	for _, e := range m.Data.Events {
		c.Apply(e)
	}
	if m.Type == "event" {
		c.Apply(m.Data.LogEvent)
	}
}

// Apply adds one event to what the client has stored.
func (c *Socket) Apply(e LogEvent) {
	c.T.Helper()
	var d struct {
		Seq      int64
		Offset   int
		Data     json.RawMessage
		Snapshot bool
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		c.T.Fatal(err)
	}
	switch e.Event {
	case "end":
		c.Ended = true
		return
	case "token", "thinking", "terminal", "snapshot":
		var text string
		if err := json.Unmarshal(d.Data, &text); err != nil {
			c.T.Fatalf("%s: %v", e.Data, err)
		}
		if d.Seq < c.First && !d.Snapshot {
			return
		}
		if !d.Snapshot && d.Offset != len(c.Text[d.Seq]) {
			c.T.Errorf("event %d goes on at %d, %d bytes are held", d.Seq, d.Offset, len(c.Text[d.Seq]))
		}
		if d.Snapshot {
			c.Text[d.Seq] = ""
		}
		c.Text[d.Seq] += text
		return
	}
	if _, held := c.Events[d.Seq]; held {
		c.T.Errorf("event %d came twice", d.Seq)
	}
	c.Events[d.Seq] = e.Event
}

// ToEnd reads and applies messages until the log ends.
func (c *Socket) ToEnd() {
	c.T.Helper()
	for !c.Ended {
		c.Take(c.Next())
	}
}

// Picture returns everything that the client has stored, as text.
func (c *Socket) Picture() string {
	var b strings.Builder
	all := maps.Clone(c.Events)
	for seq, text := range c.Text {
		all[seq] = "block " + text
	}
	for _, seq := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%d %s\n", seq, all[seq])
	}
	return b.String()
}

// StreamedPicture is the Picture of a client that reads the event stream of a run to its end
// instead of the WebSocket.
func (h *Server) StreamedPicture(id uuid.UUID) string {
	h.T.Helper()
	c := &Socket{T: h.T, Events: map[int64]string{}, Text: map[int64]string{}}
	for _, e := range h.Follow(h.Path(id, "/stream/consolidated")).All() {
		c.Apply(LogEvent{e.ID, e.Event, json.RawMessage(e.Data)})
	}
	return c.Picture()
}
