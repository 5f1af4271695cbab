package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
)

// Two servers append to one log at the same time. No seq and no position is used twice or skipped.
func TestTrap25_TwoServersGiveNoSeqTwice(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	other := h.restarted()
	const pieces = 40
	var writers sync.WaitGroup
	for n := range int64(6) {
		server := []*house{h, other}[n%2]
		writers.Go(func() {
			for i := range int64(pieces) {
				replies, err := server.worker.Append(context.WithoutCancel(t.Context()), []frame{
					{AgentLease: &r.lease, Block: 100 * n, Type: "token", Offset: i, Text: "x"},
					{AgentLease: &r.lease, Block: 100*n + 1 + i, Type: "data", Fields: []byte(`{"data":{"type":"plan"}}`)},
				})
				if err != nil || replies[0].Err != nil || replies[1].Err != nil {
					t.Errorf("%v %v", replies, err)
				}
			}
		})
	}
	writers.Wait()
	r.complete()
	whole := h.follow(h.path(x.ID, "/stream/consolidated")).all()
	last, pos, plans := int64(0), int64(0), map[int64]bool{}
	for _, e := range whole[:len(whole)-1] {
		if e.seq() > last+1 {
			t.Errorf("after seq %d comes %s", last, e.data)
		}
		if at := posOf(t, e.id); at != pos+1 {
			t.Errorf("after position %d comes %d", pos, at)
		}
		last, pos = max(last, e.seq()), pos+1
		if e.event == "data" {
			if plans[e.seq()] {
				t.Errorf("seq %d is given twice", e.seq())
			}
			plans[e.seq()] = true
		}
	}
	if len(plans) != 6*pieces {
		t.Errorf("%d of %d events are there", len(plans), 6*pieces)
	}
}

// Accepted input is visible at once on every stream: that the execution exists, that it has
// started, and what it waits for, all before the model's first token.
func TestTrap30_AcceptedIsSeenAtOnce(t *testing.T) {
	h := open(t)
	x := h.start("")
	s := h.follow(h.path(x.ID, "/stream"))
	if e := s.must(); e.event != "agent.created" {
		t.Errorf("first comes %s", e.event)
	}
	r := h.claim()
	if e := s.must(); e.event != "agent.started" {
		t.Errorf("then comes %s", e.event)
	}
	all := h.follow(h.path(x.ID, "/stream/consolidated"))
	r.say(userText("hi"))
	for _, want := range []string{"entry.appended", "agent.checkpoint"} {
		if e := s.must(); e.event != want {
			t.Errorf("then comes %s, want %s", e.event, want)
		}
	}
	r.schedule("llm-request", "one")
	for e := all.must(); e.event != "task.started"; e = all.must() {
	}
}

// Readers may connect and disconnect at any time. No reader cancels a run, and none starts one.
func TestTrap31_ReadersNeitherCancelNorStart(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	ctx, leave := context.WithCancel(t.Context())
	for range 3 {
		for _, path := range []string{"/stream", "/stream/consolidated?render=html", "/stream?after_seq=1"} {
			h.follow(h.path(x.ID, path)).must()
			req := h.request("GET", h.path(x.ID, path), "").WithContext(ctx)
			go func() {
				if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
					_ = res.Body.Close()
				}
			}()
		}
		c := h.socket(x.ID)
		c.load(`{"after_seq":0}`)
		_ = c.conn.CloseNow()
	}
	leave()
	r.stream(0, 0, "token", "still here")
	r.complete()
	events := h.follow(h.path(x.ID, "/stream/consolidated")).all()
	if n := strings.Count(show(events), " agent.started "); n != 1 || slices.ContainsFunc(events, func(e sse) bool { return strings.HasPrefix(e.event, "agent.cancel") }) {
		t.Errorf("it has started %d times:\n%s", n, show(events))
	}
	var all page[perdure.Execution]
	h.call("GET", "/agent-executions", "").want(200, &all)
	if len(all.Items) != 1 || all.Items[0].Status != perdure.StatusCompleted {
		t.Errorf("there are %d executions, the first is %s", len(all.Items), all.Items[0].Status)
	}
}

// Pages by cursor also pass pruned chunks, however many there are.
func TestWebSocketPagesLeadOverASupersededBlock(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	lease := r.schedule("llm-request", "one")
	for i := range int64(20) {
		r.append(frame{Lease: &lease, Type: "token", Offset: i, Text: "x"})
	}
	r.fail(lease)
	r.complete()
	c := h.socket(x.ID)
	m := c.load(`{"after_seq":0,"limit":1}`)
	for m.Data.HasMore {
		if len(m.Data.Events) == 0 {
			t.Fatalf("there is more, and no way to it: %+v", m.Data)
		}
		m = c.load(`{"limit":3,"cursor":"` + m.Data.Events[len(m.Data.Events)-1].Cursor + `"}`)
	}
	c.toEnd()
	if got, want := c.picture(), wantPicture(t, h, x.ID); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
