package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/wsmessage"
)

const (
	// socketLife is the time after which the server closes a WebSocket, as in OpenAI's API.
	socketLife = 60 * time.Minute
	// maxWaiting is the maximum number of frames of a client that wait until an earlier frame is
	// answered. These frames have at most bodyLimit bytes together.
	maxWaiting = 16
)

// Reasons for the end of a WebSocket. Each is used as the cause of the WebSocket's context.
var (
	ErrStopping = front.ErrStopping
	ErrKeyOver  = front.ErrKeyOver
)

var (
	errSocketLife  = errors.New("the connection has been open for 60 minutes")
	errFlooded     = errors.New("too many frames wait")
	errStreamBroke = errors.New("the stream of a response broke off")
	errNotSent     = errors.New("a frame could not be sent")
)

// Admission is the permission to use a WebSocket.
type Admission struct {
	// Context is the context of the WebSocket. When it ends, the WebSocket is closed, and the cause
	// of the context is the reason.
	Context context.Context
	// Count counts a create request towards the limits of the caller's key. If Count returns an
	// error, the request is refused. Count may be nil.
	Count func() error
	// Leave is called when the WebSocket has ended; it may be nil.
	Leave func()
}

func (m Admission) count() error {
	if m.Count == nil {
		return nil
	}
	return m.Count()
}

// socket opens a WebSocket, over which a client creates responses one after the other.
func (a *API) socket(w http.ResponseWriter, r *http.Request) {
	if refused := notUpgrade(w, r); refused != nil {
		refused.WriteTo(w)
		return
	}
	m, refused := a.Admit(r)
	if refused != nil {
		refused.WriteTo(w)
		return
	}
	if m.Leave != nil {
		defer m.Leave()
	}
	options := &websocket.AcceptOptions{InsecureSkipVerify: true} // Admit has checked the origin
	if a.Subprotocol != "" {
		options.Subprotocols = []string{a.Subprotocol}
	}
	conn, err := websocket.Accept(w, r, options)
	if err != nil {
		a.Logger.DebugContext(r.Context(), "no websocket", slog.Any("cause", err))
		return // Accept has sent the response
	}
	k := &socket{API: a, r: r, conn: conn, admission: m, org: orgOf(r), waiting: make(chan frame, maxWaiting)}
	err = k.run(m.Context)
	a.Logger.DebugContext(r.Context(), "websocket closed", slog.Any("cause", err))
}

// notUpgrade returns the error for a request that does not ask for a WebSocket.
func notUpgrade(w http.ResponseWriter, r *http.Request) *Error {
	switch {
	case r.ProtoMajor != 1:
		return invalid("", "invalid_request", "A WebSocket needs a connection of HTTP/1.1; this one is %s. Create responses with POST %s.", r.Proto, responsesPath)
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		w.Header().Set("Upgrade", "websocket")
		refused := invalid("", "websocket_upgrade_required", "GET %s opens a WebSocket: ask for it with the header 'Upgrade: websocket', or create responses with POST.", responsesPath)
		refused.Status = http.StatusUpgradeRequired
		return refused
	}
	return nil
}

// socket is one open WebSocket. One goroutine reads the client's frames. Another one processes the
// frames in order, and writes the responses.
type socket struct {
	*API
	r         *http.Request
	conn      *websocket.Conn
	admission Admission
	org       string

	waiting      chan frame
	waitingBytes atomic.Int64 // total size of the frames that wait

	chain chain // used only by the goroutine that answers
}

func (k *socket) run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer func() { // also after a panic: the HTTP server does not close a hijacked connection
		end(errStreamBroke)
		_ = k.conn.CloseNow()
	}()
	var helpers sync.WaitGroup
	helpers.Go(func() { end(k.read(ctx)) })
	helpers.Go(func() { end(k.attend(ctx)) })
	helpers.Go(func() { end(k.ping(ctx)) })
	err := k.serve(ctx)
	end(err)
	k.close(ctx, err)
	helpers.Wait() // close has ended the wait for a frame
	return err
}

// serve processes the client's frames until the socket ends.
func (k *socket) serve(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case f := <-k.waiting:
			k.waitingBytes.Add(-int64(len(f.raw)))
			if err := k.answer(ctx, f); err != nil {
				return err
			}
		}
	}
}

// attend waits until the socket has reached its age limit or the server stops. The error that it
// returns is the reason for the end of the WebSocket.
func (k *socket) attend(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.Stop:
		return ErrStopping
	case <-k.After(socketLife):
		return errSocketLife
	}
}

// ping sends pings, and returns an error if the client does not answer a ping.
func (k *socket) ping(ctx context.Context) error {
	next := time.NewTicker(k.PingEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-next.C:
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.WriteTimeout) // not cancelled with ctx, because the end of the socket ends the ping anyway
		err := k.conn.Ping(within)
		cancel()
		if err != nil {
			return fmt.Errorf("%w: %w", wsmessage.ErrNoAnswer, err)
		}
	}
}

// close closes the socket with a code that tells the client whether to reconnect. Codes 1001 and
// 1011 mean that the client should reconnect. Code 1008 means that the client must change something
// before it reconnects.
func (k *socket) close(ctx context.Context, err error) {
	code, reason := websocket.StatusCode(0), ""
	switch {
	case errors.Is(err, ErrStopping):
		code, reason = websocket.StatusGoingAway, "the server is stopping; connect again"
	case errors.Is(err, errSocketLife):
		_ = k.refuse(context.WithoutCancel(ctx), tooOld())
		code, reason = websocket.StatusGoingAway, "the connection was open for 60 minutes; connect again"
	case errors.Is(err, errStreamBroke):
		code, reason = websocket.StatusInternalError, "the stream of the response broke off; read on with GET"
	case errors.Is(err, ErrKeyOver):
		code, reason = websocket.StatusPolicyViolation, "the key is revoked, its org is disabled, or the session has ended"
	case errors.Is(err, errFlooded):
		code, reason = websocket.StatusPolicyViolation, "too many frames wait; send the next when a response has ended"
	}
	if code != 0 {
		_ = k.conn.Close(code, reason)
	}
	_ = k.conn.CloseNow()
}

func tooOld() *Error {
	e := invalid("", "websocket_connection_limit_reached", "The WebSocket connection has been open for 60 minutes, its limit. Open a new one to continue.")
	e.Param = nil
	return e
}
