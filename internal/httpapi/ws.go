package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/fair"
)

const (
	// wsFrame is the most bytes of one message of a client.
	wsFrame = 1 << 20
	// wsLimit is how many events a page has unless the client says otherwise.
	wsLimit = 50
	// wsMaxLimit is the most events of a page.
	wsMaxLimit = 1000
)

// envelope is a message of a WebSocket, either way.
type envelope struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
	// refused is why a message of the client is not taken.
	refused error
}

// webSocket follows one execution over a WebSocket. docs/api.md lists the
// messages.
func (s *server) webSocket(w http.ResponseWriter, r *http.Request) {
	x, p := s.socketTarget(r)
	if p == nil && r.ProtoMajor != 1 {
		p = newProblem(perdure.InvalidArgument, "a WebSocket needs a connection of HTTP/1.1; over "+r.Proto+" follow the stream of events at .../stream")
	}
	if p != nil {
		p.write(w)
		return
	}
	leave, p := s.admit(callerOf(r.Context()), transportWebSocket)
	if p != nil {
		p.write(w)
		return
	}
	defer leave()
	// The origin has been looked at, with all the origins that are ours.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{socketProtocol}})
	if err != nil {
		s.lines(r.Context()).DebugContext(r.Context(), "no websocket", slog.Any("cause", err))
		return // Accept has answered
	}
	conn.SetReadLimit(wsFrame)
	ctx, over := s.watch.enter(r.Context())
	defer over()
	k := &socket{server: s, conn: conn, org: callerOf(ctx).org, execution: x.ID, items: make(chan eventlog.Item)}
	err = k.run(ctx, x)
	s.lines(ctx).DebugContext(ctx, "websocket closed", slog.Any("cause", err))
}

// socketTarget checks what the operations check of others.
func (s *server) socketTarget(r *http.Request) (*perdure.Execution, *problem) {
	c := callerOf(r.Context())
	if p := strange(c, r.PathValue("org")); p != nil {
		return nil, p
	}
	if p := s.foreignSocket(r, c); p != nil {
		return nil, p
	}
	id, err := parseID("execution", r.PathValue("id"))
	if err == nil {
		var x *perdure.Execution
		if x, err = s.Engine.Read().Lazy().Execution(r.Context(), c.org, id); err == nil {
			return x, nil
		}
	}
	return nil, s.problemOf(r.Context(), err)
}

// foreignSocket refuses a WebSocket that a page of another origin makes a browser open
// with its session.
func (s *server) foreignSocket(r *http.Request, c caller) *problem {
	if c.proof.session && !s.ownOrigin(r) {
		return newProblem(perdure.PermissionDenied, "a WebSocket with a session must come from this server's own pages (Origin)")
	}
	return nil
}

// socket is one open WebSocket. One goroutine writes to it; the reader of its
// messages and the reader of the log hand over to that one, so nothing is
// gathered for a client that does not read.
type socket struct {
	*server
	conn      *websocket.Conn
	org       string
	execution uuid.UUID

	items  chan eventlog.Item // of the log, once it is followed
	tail   sync.WaitGroup
	failed chan error

	// What follows belongs to the writing goroutine.
	chain     *perdure.Cursor // where following begins: the first page of those that go forward
	following bool
	given     pagesGiven
}

func (k *socket) run(ctx context.Context, x *perdure.Execution) error {
	ctx, cancel := context.WithCancel(ctx)
	commands := make(chan envelope)
	k.failed = make(chan error, 1)
	var reader sync.WaitGroup
	reader.Go(func() { k.fail(k.read(ctx, commands)) })
	defer func() { cancel(); reader.Wait(); k.tail.Wait() }() // close has ended the reader's wait
	err := k.serve(ctx, x, commands)
	k.close(err)
	return err
}

// fail ends the socket. It waits for nobody: one failure is enough, and nobody
// may listen any more.
func (k *socket) fail(err error) {
	select {
	case k.failed <- err:
	default:
	}
}

// serve writes until the socket is over.
func (k *socket) serve(ctx context.Context, x *perdure.Execution, commands <-chan envelope) error {
	err := k.send(ctx, "connected", map[string]any{
		"agent_execution_id": x.ID, "status": x.Status, "max_seq": x.MaxSeq,
	})
	ping := time.NewTicker(k.PingEvery)
	defer ping.Stop()
	for err == nil {
		select {
		case c := <-commands:
			err = k.command(ctx, c)
		case i := <-k.items:
			err = k.item(ctx, i)
		case <-ping.C:
			err = k.ping(ctx)
		case err = <-k.failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

// read hands over the client's messages. The context does not end its wait for
// one: that would cut the connection before it can be said why it ends.
func (k *socket) read(ctx context.Context, commands chan<- envelope) error {
	for {
		kind, raw, err := k.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		var c envelope
		switch {
		case kind == websocket.MessageBinary:
			c = envelope{Type: "(binary)"}
		case json.Unmarshal(raw, &c) != nil:
			c = envelope{Type: "(no JSON)"}
		default:
			c.refused = perdure.DecodeExactly("", raw, new(envelope))
		}
		select {
		case commands <- c:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ping finds out in the background whether the client is still there.
func (k *socket) ping(ctx context.Context) error {
	k.tail.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, k.WriteTimeout)
		defer cancel()
		if err := k.conn.Ping(ctx); err != nil && ctx.Err() != nil {
			k.fail(errNoAnswer)
		}
	})
	return nil
}

var errNoAnswer = errors.New("the client does not answer")

// follow begins to read the log from the position on.
func (k *socket) follow(ctx context.Context, from perdure.Cursor) {
	if k.following {
		return
	}
	k.following = true
	k.tail.Go(func() {
		for item, err := range k.Log.Tail(ctx, k.execution, eventlog.From{Cursor: from.String()}) {
			if err != nil {
				k.fail(err)
				return
			}
			select {
			case k.items <- item:
			case <-ctx.Done():
				return
			}
		}
	})
}

// item sends what the log gives, but for what a page has shown.
func (k *socket) item(ctx context.Context, i eventlog.Item) error {
	known := k.given.know(i)
	k.given.passed(i.Cursor.Pos)
	if i.Event == "" || known {
		return nil
	}
	if i.Event == eventlog.Reset {
		k.given = nil
	}
	if err := k.send(ctx, "event", wireEvent(i)); err != nil {
		return err
	}
	k.delivered(transportWebSocket, i)
	return nil
}

func wireEvent(i eventlog.Item) event {
	return event{Cursor: i.Cursor.String(), Event: i.Event, Data: i.Data}
}

// send writes one message. A client that does not take the next piece of it in
// time is cut off.
func (k *socket) send(ctx context.Context, kind string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	whole, err := json.Marshal(envelope{Type: kind, Data: raw})
	if err != nil {
		return err
	}
	whole = perdure.ValidJSON(whole) // a WebSocket ends for good at a text that is not UTF-8
	defer fair.Wait(ctx)()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(k.WriteTimeout, func() { cancel(errNoAnswer) })
	defer late.Stop()
	if len(whole) <= pieceBytes {
		return k.conn.Write(ctx, websocket.MessageText, whole)
	}
	out, err := k.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(whole, pieceBytes) {
		late.Reset(k.WriteTimeout)
		if _, err := out.Write(piece); err != nil {
			return err
		}
	}
	late.Reset(k.WriteTimeout)
	return out.Close()
}

// close ends the socket so that the client knows whether to come back: 1001 and
// 1011 say so, 1008 that its key, org or session is over.
func (k *socket) close(err error) {
	switch {
	case errors.Is(err, errStopping):
		_ = k.conn.Close(websocket.StatusGoingAway, "the server is stopping; connect again")
	case errors.Is(err, errKeyOver):
		_ = k.conn.Close(websocket.StatusPolicyViolation, "the key is revoked, its org is disabled, or the session has ended")
	}
	_ = k.conn.CloseNow()
}
