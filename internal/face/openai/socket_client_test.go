package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// talk is a client's WebSocket.
type talk struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

// dial opens a WebSocket for the default org; headers are alternating names and values.
func (s *stage) dial(headers ...string) *talk {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(cancel)
	h := http.Header{"Authorization": {"Bearer default"}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	conn, _, err := websocket.Dial(ctx, s.url+"/v1/responses", &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(64 << 20)
	return &talk{s.t, ctx, conn}
}

func (k *talk) send(frame string) {
	k.t.Helper()
	if err := k.conn.Write(k.ctx, websocket.MessageText, []byte(frame)); err != nil {
		k.t.Fatal(err)
	}
}

// next reads a frame, and checks it against the published schemas.
func (k *talk) next() event {
	k.t.Helper()
	kind, raw, err := k.conn.Read(k.ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	e := event{Raw: string(raw)}
	if err := json.Unmarshal(raw, &e); err != nil || kind != websocket.MessageText {
		k.t.Fatalf("%v, %v: %s", err, kind, raw)
	}
	if e.Type == "error" {
		checkSocketError(k.t, raw)
	} else {
		checkEvent(k.t, e.Type, raw)
	}
	return e
}

var ends = map[string]bool{"response.completed": true, "response.incomplete": true, "response.failed": true, "error": true}

// turn reads frames until a response ends, or until an error.
func (k *talk) turn() []event {
	k.t.Helper()
	var all []event
	for {
		e := k.next()
		all = append(all, e)
		if ends[e.Type] {
			return all
		}
	}
}

// turnOnceRead waits until the server has read everything that was sent before, and then calls the
// function `release`. It returns the frames up to the end of a response.
func (k *talk) turnOnceRead(release func()) []event {
	k.t.Helper()
	answered := make(chan error, 1)
	go func() {
		err := k.conn.Ping(k.ctx) // the pong comes after earlier frames were read
		release()
		answered <- err
	}()
	all := k.turn()
	if err := <-answered; err != nil {
		k.t.Fatal(err)
	}
	return all
}

// create sends a create request with the members, and returns the response after its end.
func (k *talk) create(members string) object {
	k.t.Helper()
	k.ask(members)
	return k.end()
}

func (k *talk) ask(members string) {
	k.t.Helper()
	k.send(`{"type":"response.create","model":"test/m",` + members + `}`)
}

// end reads frames up to the end of a response, and returns the response.
func (k *talk) end() object {
	k.t.Helper()
	all := k.turn()
	return responseOf(k.t, all[len(all)-1])
}

// refused reads an error event, checks its members, and returns its message.
func (k *talk) refused(status int, param, code string) string {
	k.t.Helper()
	e := k.next()
	var in struct {
		Status int
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(e.Raw), &in); err != nil || e.Type != "error" {
		k.t.Fatalf("%v: %s", err, e.Raw)
	}
	return reply{k.t, in.Status, fmt.Appendf(nil, `{"error":%s}`, in.Error)}.refused(status, param, code)
}

// closed reads frames until the server has closed the WebSocket, and checks the code.
func (k *talk) closed(code websocket.StatusCode) {
	k.t.Helper()
	for {
		if _, _, err := k.conn.Read(k.ctx); err != nil {
			if websocket.CloseStatus(err) != code {
				k.t.Errorf("closed with %v, want %v", err, code)
			}
			return
		}
	}
}

var socketErrors = sync.OnceValues(func() (*jsonschema.Schema, error) {
	raw, err := os.ReadFile("testdata/openresponses.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openresponses.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("openresponses.json#/components/schemas/WebSocketErrorEvent")
})

func checkSocketError(t *testing.T, raw []byte) {
	t.Helper()
	shape, err := socketErrors()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = shape.Validate(v)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, raw)
	}
}
