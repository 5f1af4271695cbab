package face_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/fair"
)

// openFair opens a server that shares its processor between two orgs. A request may compute only
// while it has one of the places in the share of its org. The share of the org "default" has one
// place, which a test can occupy.
func openFair(t *testing.T) (*testServer, *fair.Share) {
	share := fair.New(2, 100)
	share.Longest = time.Hour
	h := open(t, func(c *face.Config) { c.Share = share })
	for _, org := range []string{"other", "default"} {
		visit := share.Visit(org)
		enter(t, visit)
		visit.Leave()
	}
	return h, share
}

func enter(t *testing.T, v *fair.Visit) {
	t.Helper()
	if err := v.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// untilWaiting waits until n requests wait for a place in the share of their org.
func untilWaiting(share *fair.Share, n int) {
	for share.Waiting() != n {
		runtime.Gosched()
	}
}

func TestRequestsComputeInTheirOrgsShare(t *testing.T) {
	h, share := openFair(t)
	x := h.Start("")
	mine := share.Visit("default")
	enter(t, mine)
	answers := make(chan reply, 3)
	requests := []*http.Request{
		h.Request("GET", h.Path(x.ID, ""), ""),
		h.Request("POST", h.Path(x.ID, "/signal"), `{"signalName":"x.y"}`),
		h.Request("GET", "/agent-executions?q=a", ""),
	}
	for _, r := range requests {
		go func() { answers <- h.Send(r) }()
	}
	untilWaiting(share, len(requests))
	select {
	case a := <-answers:
		t.Errorf("answered %d without a place", a.Status)
	default:
	}
	mine.Leave()
	for range requests {
		(<-answers).Want(200, nil)
	}
}

func TestMessagesOfSocketsComputeInTheirOrgsShare(t *testing.T) {
	h, share := openFair(t)
	log, responses := h.Socket(h.Start("").ID), h.responses()
	mine := share.Visit("default")
	enter(t, mine)
	log.Send("load_events", `{}`)
	answer := make(chan responsesFrame, 1)
	go func() { answer <- ask(responses, "nobody") }()
	untilWaiting(share, 2)
	select {
	case a := <-answer:
		t.Errorf("answered %+v without a place", a)
	default:
	}
	mine.Leave()
	if m := log.Next(); m.Type != "events_loaded" {
		t.Errorf("the page is %+v", m)
	}
	if a := <-answer; a.Type != "error" || a.Status != 400 {
		t.Errorf("answered %+v", a)
	}
}

// TestWaitingRequestsFreeTheirPlace checks that a request takes up no place in its org's share of
// the processor while it waits: for the rest of its body, or as a stream for new events. Another
// request of the org is answered meanwhile.
func TestWaitingRequestsFreeTheirPlace(t *testing.T) {
	h, _ := openFair(t)
	x := h.Start("")
	stream := h.Request("GET", h.Path(x.ID, "/stream"), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open, err := http.DefaultClient.Do(stream.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	body, more := io.Pipe()
	slow := h.Request("POST", h.Path(x.ID, "/signal"), "")
	slow.Body, slow.ContentLength = body, -1
	answer := make(chan reply, 1)
	go func() { answer <- h.Send(slow) }()
	if _, err := io.WriteString(more, `{"signalName":`); err != nil {
		t.Fatal(err)
	}
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, nil)
	if _, err := io.WriteString(more, `"x.y"}`); err != nil {
		t.Fatal(err)
	}
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	(<-answer).Want(200, nil)
}

// TestABodyIsReadOnlyWhenTheOrgMayCompute checks that the server does not read the body of a
// request before the request has a place in the share of its org.
func TestABodyIsReadOnlyWhenTheOrgMayCompute(t *testing.T) {
	h, share := openFair(t)
	x := h.Start("")
	mine := share.Visit("default")
	enter(t, mine)
	body, more := io.Pipe()
	r := h.Request("POST", h.Path(x.ID, "/signal"), "")
	r.Body, r.ContentLength = body, -1
	answer := make(chan reply, 1)
	go func() { answer <- h.Send(r) }()
	untilWaiting(share, 1) // nothing of the body is sent yet
	mine.Leave()
	if _, err := io.WriteString(more, `{"signalName":"x.y"}`); err != nil {
		t.Fatal(err)
	}
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	(<-answer).Want(200, nil)
}

// TestStreamsReadInTheirOrgsShare checks that a stream waits for a place in the share of its org
// whenever it reads the log, even after its handler has returned.
func TestStreamsReadInTheirOrgsShare(t *testing.T) {
	h, share := openFair(t)
	x := h.Start("")
	mine, next := share.Visit("default"), share.Visit("default")
	enter(t, mine)
	began := make(chan *http.Response, 1)
	go func() {
		res, err := http.DefaultClient.Do(h.Request("GET", h.Path(x.ID, "/stream"), ""))
		if err != nil {
			t.Error(err)
		}
		began <- res
	}()
	untilWaiting(share, 1)
	entered := make(chan error, 1)
	go func() { entered <- next.Enter(t.Context()) }()
	untilWaiting(share, 2)
	mine.Leave() // the request gets the place, and next gets it afterwards
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	res := <-began
	defer res.Body.Close()
	untilWaiting(share, 1) // the stream, which needs a place to read the log
	next.Leave()
	if _, err := io.ReadAtLeast(res.Body, make([]byte, 1<<10), 10); err != nil {
		t.Error(err)
	}
}

// TestTooManyWaitingRequestsAreRefused checks that a request gets 429 if the maximum number of
// requests of its org already waits for a place in the share of the org.
func TestTooManyWaitingRequestsAreRefused(t *testing.T) {
	h, share := openFair(t)
	share.Queue = 0
	x := h.Start("")
	mine := share.Visit("default")
	enter(t, mine)
	refused := h.Call("GET", h.Path(x.ID, ""), "")
	if refused.Problem(429, "rate_limited", ""); refused.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", refused.Header.Get("Retry-After"))
	}
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"x.y"}`).Problem(429, "rate_limited", "")
	if got := h.Send(h.Request("POST", "/v1/responses", `{}`)); got.Status != 429 {
		t.Errorf("a response is answered %d", got.Status)
	}
	mine.Leave()
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, nil)
}
