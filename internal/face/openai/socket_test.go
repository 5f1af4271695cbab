package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure/internal/face/openai"
	"github.com/perdure/perdure/internal/longtest"
)

// TestSocketResponse checks that the frames of a response over a WebSocket equal the events of the
// response's stream over HTTP, byte for byte.
func TestSocketResponse(t *testing.T) {
	s := newStage(t, thinks("hm", calls("I ask.", "ask", `{"a":1}`)))
	k := s.dial()
	k.ask(`"input":"hi",` + tools)
	got := k.turn()
	id := responseOf(t, got[0]).ID
	if diff := cmp.Diff(s.all("GET", "/v1/responses/"+id+"?stream=true", ""), got); diff != "" {
		t.Errorf("frames are not the stream (-stream +frames):\n%s", diff)
	}
	for i, e := range got {
		if e.Number != int64(i) {
			t.Errorf("frame %d has the number %d", i, e.Number)
		}
	}
}

// TestSocketSequentialResponses checks several responses that are created one after the other over
// one WebSocket. The parameters of each create request apply only to its own response.
func TestSocketSequentialResponses(t *testing.T) {
	s := newStage(t, says("Hello"))
	k := s.dial()
	a := k.create(`"input":"a","store":false,"instructions":"Be brief."`)
	b := k.create(`"input":"b","store":false`)
	if a.Status != "completed" || b.Status != "completed" || a.ID == b.ID || b.Previous != "" {
		t.Errorf("got %+v and %+v", a, b)
	}
	if asked := s.model.asked(); len(asked) != 2 || len(asked[1].Messages) != 1 || asked[1].System != "" {
		t.Errorf("the model was asked %+v", asked)
	}
}

// TestSocketAnswersInTurn checks two frames that arrive while a response runs: an invalid frame and
// a create request. They are answered in order after the end of the response.
func TestSocketAnswersInTurn(t *testing.T) {
	said, open := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, holds(says("slow"), said, open))
	k := s.dial()
	k.ask(`"input":"a"`)
	<-said
	k.send(`no JSON`)
	k.ask(`"input":"c"`)
	all := k.turnOnceRead(func() { close(open) })
	if a := responseOf(t, all[len(all)-1]); a.text() != "slow" || a.Status != "completed" {
		t.Errorf("the first is %+v", a)
	}
	k.refused(400, "", "invalid_json")
	if c := k.end(); c.text() != "slow" || c.Status != "completed" {
		t.Errorf("the third is %+v", c)
	}
}

// TestSocketFlooded checks that a client that sends 17 frames while a response runs is
// disconnected. The response completes.
func TestSocketFlooded(t *testing.T) {
	said, open := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, holds(says("slow"), said, open))
	k := s.dial()
	k.ask(`"input":"a"`)
	id := responseOf(t, k.next()).ID
	<-said
	for range 17 {
		k.ask(`"input":"more"`)
	}
	k.closed(websocket.StatusPolicyViolation)
	close(open)
	if o := s.untilEnd(id); o.Status != "completed" {
		t.Errorf("the response is %s", o.Status)
	}
}

// TestSocketFramesThatWaitHaveABound checks that the frames that wait until a running response has
// ended have at most 8 MiB together. The frame that exceeds the limit is refused when the earlier
// frames were answered, and the connection stays usable.
func TestSocketFramesThatWaitHaveABound(t *testing.T) {
	said, open := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, holds(says("slow"), said, open))
	k := s.dial()
	k.ask(`"input":"a"`)
	k.next()
	<-said
	k.send(strings.Repeat(" ", 5<<20))
	k.send(strings.Repeat(" ", 5<<20))
	k.turnOnceRead(func() { close(open) })
	k.refused(400, "", "invalid_json")
	if why := k.refused(429, "", "rate_limited"); !strings.Contains(why, "8 MiB") {
		t.Errorf("refused with %q", why)
	}
	k.create(`"input":"b"`)
}

// TestSocketCutInTheMiddle checks that after the connection breaks during a response, the client
// reads the remaining events with starting_after.
func TestSocketCutInTheMiddle(t *testing.T) {
	said, open := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, holds(says("one ", "two"), said, open))
	k := s.dial()
	k.ask(`"input":"a"`)
	<-said
	got := []event{k.next(), k.next()}
	_ = k.conn.CloseNow()
	close(open)
	id := responseOf(t, got[0]).ID
	got = append(got, s.all("GET", fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=%d", id, got[1].Number), "")...)
	if end := responseOf(t, got[len(got)-1]); end.Status != "completed" || end.text() != "one two" {
		t.Errorf("the response is %+v", end)
	}
	s.sameFromEveryEvent(id, got)
}

// TestSocketEndsAfterAnHour checks that the server closes a connection after 60 minutes, with an
// error that tells the client to reconnect. A running response completes.
func TestSocketEndsAfterAnHour(t *testing.T) {
	clock := make(chan time.Time)
	var asked time.Duration
	said, open := make(chan struct{}, 1), make(chan struct{})
	s := newStageWith(t, func(c *openai.Config) {
		c.After = func(d time.Duration) <-chan time.Time { asked = d; return clock }
	}, holds(says("slow"), said, open))
	for _, busy := range []bool{false, true} {
		k, id := s.dial(), ""
		if busy {
			k.ask(`"input":"a"`)
			id = responseOf(t, k.next()).ID
			<-said
		}
		clock <- time.Time{}
		if asked != time.Hour {
			t.Errorf("a connection has %s", asked)
		}
		for e := k.next(); ; e = k.next() {
			if e.Type == "error" {
				if !strings.Contains(e.Raw, `"status":400`) || !strings.Contains(e.Raw, `"code":"websocket_connection_limit_reached"`) || !strings.Contains(e.Raw, `"param":null`) {
					t.Errorf("told %s", e.Raw)
				}
				break
			}
		}
		k.closed(websocket.StatusGoingAway)
		if busy {
			close(open)
			if o := s.untilEnd(id); o.Status != "completed" {
				t.Errorf("the response is %s", o.Status)
			}
		}
	}
}

// TestSocketOfAServerThatStops checks that a stopping server closes a connection without a running
// response, and one with a running response, with code 1001.
func TestSocketOfAServerThatStops(t *testing.T) {
	stop := make(chan struct{})
	said, open := make(chan struct{}, 1), make(chan struct{})
	defer close(open)
	s := newStageWith(t, func(c *openai.Config) { c.Stop = stop }, holds(says("slow"), said, open))
	idle, busy := s.dial(), s.dial()
	busy.ask(`"input":"a"`)
	<-said
	close(stop)
	idle.closed(websocket.StatusGoingAway)
	busy.closed(websocket.StatusGoingAway)
}

// TestSocketOfAClientThatNeverReads checks that a client that does not read is disconnected, and
// its response completes.
func TestSocketOfAClientThatNeverReads(t *testing.T) {
	longtest.Skip(t, "seconds")
	text := strings.Repeat("a word, ", 1<<19)
	left := make(chan struct{})
	s := newStageWith(t, func(c *openai.Config) {
		c.Admit = func(r *http.Request) (openai.Admission, *openai.Error) {
			return openai.Admission{Context: r.Context(), Leave: func() { close(left) }}, nil
		}
	}, says(text))
	k := s.dial(impatientHeader, "yes")
	k.ask(`"input":"hi"`)
	id := responseOf(t, k.next()).ID
	<-left // blocks forever if the server waits for the client
	if o := s.untilEnd(id); o.Status != "completed" || o.text() != text {
		t.Errorf("the response is %s", o.Status)
	}
}

// TestSocketNeedsAnUpgrade checks that a request that is not an upgrade gets an error that says how
// to open a WebSocket.
func TestSocketNeedsAnUpgrade(t *testing.T) {
	s := newStage(t)
	resp := s.request("GET", "/v1/responses", "", "default")
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Upgrade") != "websocket" {
		t.Errorf("answered %s, %v", resp.Status, resp.Header)
	}
	s.call("GET", "/v1/responses", "").refused(426, "", "websocket_upgrade_required")
}

// TestASocketEndsWithAPanic checks that a panic during a create request ends the connection.
func TestASocketEndsWithAPanic(t *testing.T) {
	s := newStageWith(t, func(c *openai.Config) {
		c.Admit = func(r *http.Request) (openai.Admission, *openai.Error) {
			return openai.Admission{Context: r.Context(), Count: func() error { panic(http.ErrAbortHandler) }}, nil
		}
	})
	k := s.dial()
	k.send(`{"type":"response.create","model":"test/m","input":"x"}`)
	if _, raw, err := k.conn.Read(k.ctx); err == nil || k.ctx.Err() != nil {
		t.Errorf("the connection stays open: %s, %v", raw, err)
	}
}
