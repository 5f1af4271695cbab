package face_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
)

// TestTwoServersNeverAssignTheSameSeq checks that positions and seqs have no gap if two servers
// append to one log at the same time. No two data events have the same seq.
func TestTwoServersNeverAssignTheSameSeq(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	other := &testServer{h.Restarted()}
	const pieces = 40
	var writers sync.WaitGroup
	for n := range int64(6) {
		server := []*testServer{h, other}[n%2]
		writers.Go(func() {
			for i := range int64(pieces) {
				replies, err := server.Worker.Append(context.WithoutCancel(t.Context()), []frame{
					{AgentLease: &r.Lease, Block: 100 * n, Type: "token", Offset: i, Text: "x"},
					{AgentLease: &r.Lease, Block: 100*n + 1 + i, Type: "data", Fields: []byte(`{"data":{"type":"plan"}}`)},
				})
				if err != nil || replies[0].Err != nil || replies[1].Err != nil {
					t.Errorf("%v %v", replies, err)
				}
			}
		})
	}
	writers.Wait()
	r.Complete()
	whole := h.Follow(h.Path(x.ID, "/stream/consolidated")).All()
	last, pos, plans := int64(0), int64(0), map[int64]bool{}
	for _, e := range whole[:len(whole)-1] {
		if e.Seq() > last+1 {
			t.Errorf("after seq %d comes %s", last, e.Data)
		}
		if at := posOf(t, e.ID); at != pos+1 {
			t.Errorf("after position %d comes %d", pos, at)
		}
		last, pos = max(last, e.Seq()), pos+1
		if e.Event == "data" {
			if plans[e.Seq()] {
				t.Errorf("seq %d is given twice", e.Seq())
			}
			plans[e.Seq()] = true
		}
	}
	if len(plans) != 6*pieces {
		t.Errorf("%d of %d events are there", len(plans), 6*pieces)
	}
}

// TestAcceptedInputIsVisibleAtOnce checks that a filtered stream sends the events about an
// execution's creation and start, first entry and first checkpoint without delay. The full stream
// sends the event about a model call before the first token.
func TestAcceptedInputIsVisibleAtOnce(t *testing.T) {
	h := open(t)
	x := h.Start("")
	s := h.Follow(h.Path(x.ID, "/stream"))
	if e := s.Must(); e.Event != "agent.created" {
		t.Errorf("first comes %s", e.Event)
	}
	r := h.Claim()
	if e := s.Must(); e.Event != "agent.started" {
		t.Errorf("then comes %s", e.Event)
	}
	all := h.Follow(h.Path(x.ID, "/stream/consolidated"))
	r.Say(userText("hi"))
	for _, want := range []string{"entry.appended", "agent.checkpoint"} {
		if e := s.Must(); e.Event != want {
			t.Errorf("then comes %s, want %s", e.Event, want)
		}
	}
	r.Schedule("llm-request", "one")
	for e := all.Must(); e.Event != "task.started"; e = all.Must() {
	}
}

// TestReadersNeitherCancelNorStartRuns checks that a run is neither cancelled nor started again
// when readers of its streams and WebSockets connect and disconnect.
func TestReadersNeitherCancelNorStartRuns(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	ctx, leave := context.WithCancel(t.Context())
	for range 3 {
		for _, path := range []string{"/stream", "/stream/consolidated?render=html", "/stream?after_seq=1"} {
			h.Follow(h.Path(x.ID, path)).Must()
			req := h.Request("GET", h.Path(x.ID, path), "").WithContext(ctx)
			go func() {
				if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
					_ = res.Body.Close()
				}
			}()
		}
		c := h.Socket(x.ID)
		c.Load(`{"after_seq":0}`)
		_ = c.Conn.CloseNow()
	}
	leave()
	r.Stream(0, 0, "token", "still here")
	r.Complete()
	events := h.Follow(h.Path(x.ID, "/stream/consolidated")).All()
	if n := strings.Count(show(events), " agent.started "); n != 1 || slices.ContainsFunc(events, func(e sseEvent) bool { return strings.HasPrefix(e.Event, "agent.cancel") }) {
		t.Errorf("it has started %d times:\n%s", n, show(events))
	}
	var all page[perdure.Execution]
	h.Call("GET", "/agent-executions", "").Want(200, &all)
	if len(all.Items) != 1 || all.Items[0].Status != perdure.StatusCompleted {
		t.Errorf("there are %d executions, the first is %s", len(all.Items), all.Items[0].Status)
	}
}

// TestWebSocketPagesLeadOverASupersededBlock checks a client that requests page after page by
// cursor. It reaches the end of the log, although the log contains a superseded block of 20 chunks.
func TestWebSocketPagesLeadOverASupersededBlock(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	lease := r.Schedule("llm-request", "one")
	for i := range int64(20) {
		r.Append(frame{Lease: &lease, Type: "token", Offset: i, Text: "x"})
	}
	r.Fail(lease)
	r.Complete()
	c := h.Socket(x.ID)
	m := c.Load(`{"after_seq":0,"limit":1}`)
	for m.Data.HasMore {
		if len(m.Data.Events) == 0 {
			t.Fatalf("there is more, and no way to it: %+v", m.Data)
		}
		m = c.Load(`{"limit":3,"cursor":"` + m.Data.Events[len(m.Data.Events)-1].Cursor + `"}`)
	}
	c.ToEnd()
	if got, want := c.Picture(), h.StreamedPicture(x.ID); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
