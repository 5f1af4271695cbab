package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/httpapi"
)

// openFair opens a house whose org shares the processor with others and has one place, which the
// test's own visit can take.
func openFair(t *testing.T) (*house, *fair.Share) {
	share := fair.New(2)
	share.Longest = time.Hour
	h := open(t, func(c *httpapi.Config) { c.Share = share })
	for _, org := range []string{"other", "default"} {
		visit := share.Visit(org)
		visit.Enter(t.Context())
		visit.Leave()
	}
	return h, share
}

// untilWaiting returns when n requests wait for a place.
func untilWaiting(share *fair.Share, n int) {
	for share.Waiting() != n {
		runtime.Gosched()
	}
}

func TestRequestsComputeInTheirOrgsShare(t *testing.T) {
	h, share := openFair(t)
	x := h.start("")
	mine := share.Visit("default")
	mine.Enter(t.Context())
	answers := make(chan reply, 3)
	requests := []*http.Request{
		h.request("GET", h.path(x.ID, ""), ""),
		h.request("POST", h.path(x.ID, "/signal"), `{"signalName":"x.y"}`),
		h.request("GET", "/agent-executions?q=a", ""),
	}
	for _, r := range requests {
		go func() { answers <- h.send(r) }()
	}
	untilWaiting(share, len(requests))
	select {
	case a := <-answers:
		t.Errorf("answered %d without a place", a.status)
	default:
	}
	mine.Leave()
	for range requests {
		(<-answers).want(200, nil)
	}
}

func TestMessagesOfSocketsComputeInTheirOrgsShare(t *testing.T) {
	h, share := openFair(t)
	log, responses := h.socket(h.start("").ID), h.responses()
	mine := share.Visit("default")
	mine.Enter(t.Context())
	log.send("load_events", `{}`)
	answer := make(chan responsesFrame, 1)
	go func() { answer <- responses.ask("nobody") }()
	untilWaiting(share, 2)
	select {
	case a := <-answer:
		t.Errorf("answered %+v without a place", a)
	default:
	}
	mine.Leave()
	if m := log.next(); m.Type != "events_loaded" {
		t.Errorf("the page is %+v", m)
	}
	if a := <-answer; a.Type != "error" || a.Status != 400 {
		t.Errorf("answered %+v", a)
	}
}

// A request that waits for its client, or for new events, has no place, so other requests of the
// org proceed.
func TestWhatWaitsHasNoPlace(t *testing.T) {
	h, _ := openFair(t)
	x := h.start("")
	stream := h.request("GET", h.path(x.ID, "/stream"), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open, err := http.DefaultClient.Do(stream.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	body, more := io.Pipe()
	slow := h.request("POST", h.path(x.ID, "/signal"), "")
	slow.Body, slow.ContentLength = body, -1
	answer := make(chan reply, 1)
	go func() { answer <- h.send(slow) }()
	if _, err := io.WriteString(more, `{"signalName":`); err != nil {
		t.Fatal(err)
	}
	h.call("GET", h.path(x.ID, ""), "").want(200, nil)
	if _, err := io.WriteString(more, `"x.y"}`); err != nil {
		t.Fatal(err)
	}
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	(<-answer).want(200, nil)
}
