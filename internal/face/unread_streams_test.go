package face_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/longtest"
)

// silentClient is a client that sends a request and then does not read.
type silentClient struct {
	*testServer
	conn *net.TCPConn
	req  *http.Request
}

func (h *testServer) silent(path string, headers ...string) *silentClient {
	h.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = conn.Close() })
	s := &silentClient{h, conn.(*net.TCPConn), h.Request("GET", path, "", headers...)}
	if err := s.conn.SetReadBuffer(16 << 10); err != nil {
		h.T.Fatal(err)
	}
	if err := s.req.Write(conn); err != nil {
		h.T.Fatal(err)
	}
	return s
}

// givenUp waits until the server has closed the client's connection.
func (s *silentClient) givenUp() { <-s.Conns.Of(s.conn.LocalAddr().String()) }

// rest reads all events that the server has sent, and returns the error at the end of the
// connection.
func (s *silentClient) rest() ([]sseEvent, error) {
	s.T.Helper()
	res, err := http.ReadResponse(bufio.NewReader(s.conn), s.req)
	if err != nil {
		return nil, err
	}
	s.T.Cleanup(func() { _ = res.Body.Close() })
	var events []sseEvent
	in := &stream{T: s.T, Response: res, Scan: bufio.NewReader(res.Body)}
	for {
		e, err := in.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

// bulk streams text into the log of a run, in pieces of 200 KiB.
func bulk(r *run, pieces int) {
	r.Server.T.Helper()
	text := strings.Repeat("x", 200<<10)
	for i := range pieces {
		r.Stream(0, int64(i*len(text)), "token", text)
	}
}

// reads follows a stream to its end in a goroutine, and then sends all its events on the returned
// channel.
func (h *testServer) reads(path string) <-chan []sseEvent {
	h.T.Helper()
	s, all := h.Follow(path), make(chan []sseEvent, 1)
	go func() {
		var events []sseEvent
		for e, err := s.Next(); ; e, err = s.Next() {
			if err != nil {
				if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
					h.T.Error(err)
				}
				all <- events
				return
			}
			events = append(events, e)
		}
	}()
	return all
}

// TestStreamOfAClientThatNeverReads checks that a client that never reads its stream is
// disconnected. The run still completes, and another reader receives at least 40 events. If the
// client then resumes from its last cursor, it has the whole log at the end.
func TestStreamOfAClientThatNeverReads(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, query := range []string{"/stream/consolidated", "/stream?types=agent.completed,token"} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			h := open(t, writeSoon)
			x := h.Start("")
			r := h.Claim()
			lazy := h.silent(h.Path(x.ID, query))
			whole := h.reads(h.Path(x.ID, query))
			bulk(r, 40)
			r.Complete()
			other := <-whole
			lazy.givenUp()
			got, err := lazy.rest()
			if err == nil || len(got) == 0 || got[len(got)-1].Event == "end" {
				t.Fatalf("it was sent %d events, and then %v", len(got), err)
			}
			got = append(got, h.Follow(h.Path(x.ID, query), "Last-Event-ID", got[len(got)-1].ID).All()...)
			if want := h.Follow(h.Path(x.ID, query)).All(); show(got) != show(want) || len(other) < 40 {
				t.Errorf("%d events came to it, %d to the other, and there are %d", len(got), len(other), len(want))
			}
		})
	}
}

// TestDurableStreamOfAClientThatNeverReads checks that a client that never reads its durable stream
// is disconnected.
func TestDurableStreamOfAClientThatNeverReads(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, writeSoon)
	x := h.Start("")
	r := h.Claim()
	lazy := h.silent(durable(x.ID, "?offset=-1&live=sse"))
	other := h.reads(h.Path(x.ID, "/stream"))
	bulk(r, 40)
	r.Complete()
	<-other
	lazy.givenUp()
}

// TestWebSocketOfAClientThatVanishes checks that the handler of a WebSocket returns if its client
// no longer answers pings. Another client of the same log receives all events.
func TestWebSocketOfAClientThatVanishes(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, writeSoon, pingSoon)
	x := h.Start("")
	gone := make(chan struct{})
	h.Wrap(func(serve http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ws") && r.Header.Get("X-Vanishes") != "" {
				defer close(gone)
			}
			serve(w, r)
		}
	})
	h.silent(h.Path(x.ID, "/ws"), "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "X-Vanishes", "yes")
	other := h.Socket(x.ID)
	other.Load(`{"after_seq":0}`)
	h.Claim().Complete()
	other.ToEnd()
	<-gone
}

// TestStreamsOfAnOrgAreCounted checks the limit of an org's durable streams. The limit counts the
// streams of all keys of the org, and the error names the flag that sets the limit. After a stream
// is deleted, a new one can be created.
func TestStreamsOfAnOrgAreCounted(t *testing.T) {
	h := open(t, func(c *streamsConfig) { c.StreamsPerOrg = 1 })
	h.Call("PUT", "./v1/stream/one", "").Want(201, nil)
	refused := h.Call("PUT", "./v1/stream/two", "", "Authorization", "Bearer "+h.AdminKey)
	if p := refused.Problem(429, "rate_limited", ""); !strings.Contains(p.Detail, "--streams-per-org") || refused.Header.Get("Retry-After") != "60" {
		t.Errorf("the answer is %s, with %v", p.Detail, refused.Header)
	}
	h.Call("DELETE", "./v1/stream/one", "").Want(204, nil)
	h.Call("PUT", "./v1/stream/two", "").Want(201, nil)
}

// TestStreamsOfAKeyAreCounted checks that the open event streams, WebSockets and durable readers of
// one key share a limit. Requests over the limit get 429, and the error names the flag that sets
// the limit. Another key can still open a stream. After a stream has ended, its key can open a new
// one.
func TestStreamsOfAKeyAreCounted(t *testing.T) {
	h := open(t, func(c *streamsConfig) { c.StreamsPerKey = 3 })
	x := h.Start("")
	first := h.Follow(h.Path(x.ID, "/stream"))
	first.Must()
	socket := h.Socket(x.ID)
	durableOne := h.Follow(durable(x.ID, "?offset=-1&live=sse"))
	durableOne.Block()
	for _, path := range []string{h.Path(x.ID, "/stream"), h.Path(x.ID, "/stream/consolidated"), durable(x.ID, "?offset=now&live=long-poll"), durable(x.ID, "?offset=-1&live=sse")} {
		refused := h.Call("GET", path, "")
		if p := refused.Problem(429, "rate_limited", ""); !strings.Contains(p.Detail, "--streams-per-key") || refused.Header.Get("Retry-After") != "5" {
			t.Errorf("the answer is %s, with %v", p.Detail, refused.Header)
		}
	}
	if _, res, err := h.DialSocket(x.ID); err == nil || res == nil || res.StatusCode != 429 || res.Header.Get("Retry-After") != "5" {
		t.Errorf("a fourth, a socket: %v %v", res, err)
	}
	for _, c := range [][3]string{ // readers of responses count, too; over the limit, no response is created
		{"POST", "/v1/responses", `{"model":"none/m","input":"a"}`}, {"POST", "/v1/responses", `{"model":"none/m","input":"a","stream":true}`},
	} {
		if refused := h.Call(c[0], "."+c[1], c[2]); refused.Status != 429 || refused.Header.Get("Retry-After") != "5" || !strings.Contains(string(refused.Body), "--streams-per-key") {
			t.Errorf("%s: %d %s", c[1], refused.Status, refused.Body)
		}
	}
	h.Call("GET", h.Path(x.ID, "/events"), "").Want(200, nil)
	h.Follow(h.Path(x.ID, "/stream"), "Authorization", "Bearer "+h.AdminKey).Must()
	h.Claim().Complete()
	first.All()
	_ = socket.Conn.CloseNow()
	h.untilAdmitted(x.ID)
}

// untilAdmitted opens a WebSocket, and tries again until the server admits it. The server notices
// the end of a stream with a delay.
func (h *testServer) untilAdmitted(id uuid.UUID) {
	h.T.Helper()
	for {
		if c, res, err := h.DialSocket(id); err == nil {
			_ = c.Conn.CloseNow()
			return
		} else if res == nil || res.StatusCode != 429 {
			h.T.Fatal(errors.Join(err, errors.New("not let in")))
		}
	}
}
