package ws

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/problem"
	"github.com/perdure/perdure/internal/face/record"
	"github.com/perdure/perdure/internal/face/wsmessage"
	"github.com/perdure/perdure/internal/fair"
	eventlog "github.com/perdure/perdure/internal/log"
)

const (
	// wsFrame is the maximum size of a client's message, in bytes.
	wsFrame = 1 << 20
	// wsLimit is the default number of events in a page.
	wsLimit = 50
	// wsMaxLimit is the maximum number of events in a page.
	wsMaxLimit = 1000
)

// envelope is a message on a WebSocket, from the client or from the server.
type envelope struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
	// refused is the reason why the server refuses the client's message; nil if the server accepts
	// the message.
	refused error
}

// open opens a WebSocket for one execution. docs/api.md lists its messages.
func (s *server) open(w http.ResponseWriter, r *http.Request) {
	x, p := s.socketTarget(r)
	if p == nil && r.ProtoMajor != 1 {
		p = problem.New(perdure.InvalidArgument, "a WebSocket needs a connection of HTTP/1.1; over "+r.Proto+" follow the stream of events at .../stream")
	}
	if p != nil {
		p.Write(w)
		return
	}
	leave, p := s.Admit(front.CallerOf(r.Context()), front.TransportWebSocket)
	if p != nil {
		p.Write(w)
		return
	}
	defer leave()
	// The origin has already been checked, against all accepted origins.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{front.SocketProtocol}})
	if err != nil {
		s.Lines(r.Context()).DebugContext(r.Context(), "no websocket", slog.Any("cause", err))
		return // Accept has sent the response
	}
	conn.SetReadLimit(wsFrame)
	ctx, over := s.Supervise(r.Context())
	defer over()
	k := &socket{server: s, conn: conn, org: front.CallerOf(ctx).Org, execution: x.ID, items: make(chan eventlog.Item)}
	err = k.run(ctx, x)
	s.Lines(ctx).DebugContext(ctx, "websocket closed", slog.Any("cause", err))
}

// socketTarget returns the execution that a request names.
func (s *server) socketTarget(r *http.Request) (*perdure.Execution, *problem.Problem) {
	if p := s.ForeignSocket(r); p != nil {
		return nil, p
	}
	x, err := s.Execution(r.Context(), r.PathValue("org"), r.PathValue("id"))
	if err != nil {
		return nil, s.ProblemOf(r.Context(), err)
	}
	return x, nil
}

// socket is one open WebSocket. One goroutine writes to the client. Two others read the client's
// messages and the log, and pass what they read to the writer over unbuffered channels. So if the
// client does not read, nothing accumulates in memory.
type socket struct {
	*server
	conn      *websocket.Conn
	org       string
	execution uuid.UUID

	items  chan eventlog.Item // new items of the log, while the socket follows it
	tail   sync.WaitGroup
	failed chan error

	// The fields below are used only by the writing goroutine.
	chain     *perdure.Cursor // position from which goOn follows the log; nil if the client has loaded no page yet
	following bool
	pages     sentPages
}

func (k *socket) run(ctx context.Context, x *perdure.Execution) error {
	ctx, cancel := context.WithCancel(ctx)
	commands := make(chan envelope)
	k.failed = make(chan error, 1)
	var reader sync.WaitGroup
	reader.Go(func() { k.fail(k.read(ctx, commands)) })
	defer func() { // also after a panic: the HTTP server does not close a hijacked connection
		cancel()
		_ = k.conn.CloseNow() // ends the reader's wait
		reader.Wait()
		k.tail.Wait()
	}()
	err := k.serve(ctx, x, commands)
	k.close(err)
	return err
}

// fail ends the socket with err. Only the first error counts; later ones are dropped, because
// serve may already have returned and fail must not block.
func (k *socket) fail(err error) {
	select {
	case k.failed <- err:
	default:
	}
}

// serve writes messages until the socket ends.
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
	if ctx.Err() != nil {
		return context.Cause(ctx) // the reason for the end, whichever of its effects was noticed first
	}
	return err
}

// read passes the client's messages to the channel `commands`. Its reads do not end with the
// context, because cancelling a read closes the connection before the close frame is sent.
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

// ping checks in the background whether the client still answers. The check does not end with the
// context, because cancelling a ping may close the connection before the close frame is sent.
func (k *socket) ping(ctx context.Context) error {
	k.tail.Go(func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.WriteTimeout)
		defer cancel()
		if err := k.conn.Ping(within); err != nil && within.Err() != nil {
			k.fail(wsmessage.ErrNoAnswer)
		}
	})
	return nil
}

// follow starts to read the log from a cursor.
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

// item sends an item of the log, unless a sent page already contained it.
func (k *socket) item(ctx context.Context, i eventlog.Item) error {
	known := k.pages.know(i)
	k.pages.passed(i.Cursor.Pos)
	if i.Event == "" || known {
		return nil
	}
	if i.Event == eventlog.Reset {
		k.pages = nil
	}
	if err := k.send(ctx, "event", record.Of(i)); err != nil {
		return err
	}
	k.Delivered(front.TransportWebSocket, i)
	return nil
}

// send writes one message to the client. If the client does not read it within the write timeout,
// send closes the connection.
func (k *socket) send(ctx context.Context, kind string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	whole, err := json.Marshal(envelope{Type: kind, Data: raw})
	if err != nil {
		return err
	}
	defer fair.Wait(ctx)()
	return wsmessage.Write(ctx, k.conn, whole, k.WriteTimeout)
}

// close closes the socket with a code that tells the client whether to reconnect. Code 1001 (the
// server is stopping) means that it should reconnect. Code 1008 means that the client's key, org or
// session is no longer valid. After any other error, the connection is closed without a code.
func (k *socket) close(err error) {
	switch {
	case errors.Is(err, front.ErrStopping):
		_ = k.conn.Close(websocket.StatusGoingAway, "the server is stopping; connect again")
	case errors.Is(err, front.ErrKeyOver):
		_ = k.conn.Close(websocket.StatusPolicyViolation, "the key is revoked, its org is disabled, or the session has ended")
	}
	_ = k.conn.CloseNow()
}
