package httpapi_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// connections are the open connections of the server, by the client's address.
type connections struct {
	mu   sync.Mutex // guards over
	over map[string]chan struct{}
}

func (c *connections) of(addr string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.over = map[string]chan struct{}{}
	}
	if c.over[addr] == nil {
		c.over[addr] = make(chan struct{})
	}
	return c.over[addr]
}

// begin is like of, for a new connection, because an address can be reused.
func (c *connections) begin(addr string) chan struct{} {
	over := c.of(addr)
	select {
	case <-over:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over[addr] = make(chan struct{})
		return c.over[addr]
	default:
		return over
	}
}

// watchedListener records when the server closes an accepted connection, whichever part of the
// server owns it.
type watchedListener struct {
	net.Listener
	all *connections
}

func (l watchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	over := l.all.begin(conn.RemoteAddr().String())
	return &watchedConn{Conn: conn, over: sync.OnceFunc(func() { close(over) })}, nil
}

type watchedConn struct {
	net.Conn
	over func()
}

func (c *watchedConn) Close() error {
	c.over()
	return c.Conn.Close()
}

// silent is a client that sends a request and then does not read.
type silent struct {
	*house
	conn *net.TCPConn
	req  *http.Request
}

func (h *house) silent(path string, headers ...string) *silent {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	s := &silent{h, conn.(*net.TCPConn), h.request("GET", path, "", headers...)}
	if err := s.conn.SetReadBuffer(16 << 10); err != nil {
		h.t.Fatal(err)
	}
	if err := s.req.Write(conn); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// givenUp waits until the server has closed the client's connection.
func (s *silent) givenUp() { <-s.conns.of(s.conn.LocalAddr().String()) }

// rest reads everything that had been sent, and returns the error at the end.
func (s *silent) rest() ([]sse, error) {
	s.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(s.conn), s.req)
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	var events []sse
	in := &stream{s.t, res, bufio.NewReader(res.Body)}
	for {
		e, err := in.next()
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

// bulk streams text into a run. The server accepts every piece at once, even if a client does not
// read.
func (r *run) bulk(pieces int) {
	r.h.t.Helper()
	text := strings.Repeat("x", 200<<10)
	for i := range pieces {
		r.stream(0, int64(i*len(text)), "token", text)
	}
}

// reads follows a stream to its end in a goroutine.
func (h *house) reads(path string) <-chan []sse {
	h.t.Helper()
	s, all := h.follow(path), make(chan []sse, 1)
	go func() {
		var events []sse
		for e, err := s.next(); ; e, err = s.next() {
			if err != nil {
				if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
					h.t.Error(err)
				}
				all <- events
				return
			}
			events = append(events, e)
		}
	}()
	return all
}

// A stream's client that never reads is disconnected after the timeout, and delays neither the run
// nor others. The events that it received, and the events after its last id, are the whole log.
func TestStreamOfAClientThatNeverReads(t *testing.T) {
	for _, query := range []string{"/stream/consolidated", "/stream?types=agent.completed,token"} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			h := open(t, writeSoon)
			x := h.start("")
			r := h.claim()
			lazy := h.silent(h.path(x.ID, query))
			whole := h.reads(h.path(x.ID, query))
			r.bulk(40)
			r.complete()
			other := <-whole
			lazy.givenUp()
			got, err := lazy.rest()
			if err == nil || len(got) == 0 || got[len(got)-1].event == "end" {
				t.Fatalf("it was sent %d events, and then %v", len(got), err)
			}
			got = append(got, h.follow(h.path(x.ID, query), "Last-Event-ID", got[len(got)-1].id).all()...)
			if want := h.follow(h.path(x.ID, query)).all(); show(got) != show(want) || len(other) < 40 {
				t.Errorf("%d events came to it, %d to the other, and there are %d", len(got), len(other), len(want))
			}
		})
	}
}

// A client of a durable stream that never reads is disconnected after the timeout.
func TestDurableStreamOfAClientThatNeverReads(t *testing.T) {
	h := open(t, writeSoon)
	x := h.start("")
	r := h.claim()
	lazy := h.silent(durable(x.ID, "?offset=-1&live=sse"))
	other := h.reads(h.path(x.ID, "/stream"))
	r.bulk(40)
	r.complete()
	<-other
	lazy.givenUp()
}

// A client that vanishes answers no ping. Its socket ends, and the server releases everything that
// it held for it.
func TestWebSocketOfAClientThatVanishes(t *testing.T) {
	h := open(t, writeSoon, pingSoon)
	x := h.start("")
	gone := make(chan struct{})
	h.wrap(func(serve http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ws") && r.Header.Get("X-Vanishes") != "" {
				defer close(gone)
			}
			serve(w, r)
		}
	})
	h.silent(h.path(x.ID, "/ws"), "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "X-Vanishes", "yes")
	other := h.socket(x.ID)
	other.load(`{"after_seq":0}`)
	h.claim().complete()
	other.toEnd()
	<-gone
}

// The number of an org's durable streams is limited, whichever key or role creates them. The error
// over the limit says so.
func TestStreamsOfAnOrgAreCounted(t *testing.T) {
	h := open(t, func(c *streamsConfig) { c.StreamsPerOrg = 1 })
	h.call("PUT", "./v1/stream/one", "").want(201, nil)
	refused := h.call("PUT", "./v1/stream/two", "", "Authorization", "Bearer "+h.admin)
	if p := refused.problem(429, "rate_limited", ""); !strings.Contains(p.Detail, "--streams-per-org") || refused.header.Get("Retry-After") != "60" {
		t.Errorf("the answer is %s, with %v", p.Detail, refused.header)
	}
	h.call("DELETE", "./v1/stream/one", "").want(204, nil)
	h.call("PUT", "./v1/stream/two", "").want(201, nil)
}

// The number of open streams of one key is limited, counting all kinds. The error over the limit
// says so. Streams that end make room, and other keys have their own limit.
func TestStreamsOfAKeyAreCounted(t *testing.T) {
	h := open(t, func(c *streamsConfig) { c.StreamsPerKey = 3 })
	x := h.start("")
	first := h.follow(h.path(x.ID, "/stream"))
	first.must()
	socket := h.socket(x.ID)
	durableOne := h.follow(durable(x.ID, "?offset=-1&live=sse"))
	durableOne.block()
	for _, path := range []string{h.path(x.ID, "/stream"), h.path(x.ID, "/stream/consolidated"), durable(x.ID, "?offset=now&live=long-poll"), durable(x.ID, "?offset=-1&live=sse")} {
		refused := h.call("GET", path, "")
		if p := refused.problem(429, "rate_limited", ""); !strings.Contains(p.Detail, "--streams-per-key") || refused.header.Get("Retry-After") != "5" {
			t.Errorf("the answer is %s, with %v", p.Detail, refused.header)
		}
	}
	if _, res, err := h.dialSocket(x.ID); err == nil || res == nil || res.StatusCode != 429 || res.Header.Get("Retry-After") != "5" {
		t.Errorf("a fourth, a socket: %v %v", res, err)
	}
	for _, c := range [][3]string{ // readers of responses count, too, and over the limit nothing is started
		{"POST", "/v1/responses", `{"model":"none/m","input":"a"}`}, {"POST", "/v1/responses", `{"model":"none/m","input":"a","stream":true}`},
	} {
		if refused := h.call(c[0], "."+c[1], c[2]); refused.status != 429 || refused.header.Get("Retry-After") != "5" || !strings.Contains(string(refused.body), "--streams-per-key") {
			t.Errorf("%s: %d %s", c[1], refused.status, refused.body)
		}
	}
	h.call("GET", h.path(x.ID, "/events"), "").want(200, nil)
	h.follow(h.path(x.ID, "/stream"), "Authorization", "Bearer "+h.admin).must()
	h.claim().complete()
	first.all()
	_ = socket.conn.CloseNow()
	h.untilAdmitted(x.ID)
}

// untilAdmitted retries until a stream is admitted: a place is free only once the server has
// noticed the end of a stream.
func (h *house) untilAdmitted(id uuid.UUID) {
	h.t.Helper()
	for {
		if c, res, err := h.dialSocket(id); err == nil {
			_ = c.conn.CloseNow()
			return
		} else if res == nil || res.StatusCode != 429 {
			h.t.Fatal(errors.Join(err, errors.New("not let in")))
		}
	}
}
