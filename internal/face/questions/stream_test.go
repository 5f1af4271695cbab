package questions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/longtest"
)

// follow opens the stream with the approver's key.
func (h *testServer) follow() *facetest.Stream {
	h.T.Helper()
	return h.Follow("/questions/stream", "Authorization", "Bearer "+h.approver)
}

// question returns the question of an event.
func question(t *testing.T, e facetest.Event) perdure.Question {
	t.Helper()
	var q perdure.Question
	if e.Event != "question" || e.ID != "" {
		t.Fatalf("the event is %+v", e)
	}
	if err := json.Unmarshal([]byte(e.Data), &q); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestTheStreamOfQuestions checks that the stream begins with the open questions, and then sends
// each question that changes.
func TestTheStreamOfQuestions(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("The run.")
		first := a.ask("first")
		done := a.ask("done")
		h.vote(h.approver, done, `"verdict":"deny"`).Want(200, nil)
		s := h.follow()
		e := s.Must()
		var all questionPage
		if err := json.Unmarshal([]byte(e.Data), &all); err != nil || e.Event != "questions" {
			t.Fatal(err, e)
		}
		if fmt.Sprint(keysOf(all)) != "[first]" || all.Open != 1 || all.Items[0].ExecutionTitle != "The run." {
			t.Errorf("the stream begins with %+v", all)
		}
		a.ask("second")
		if q := question(t, s.Must()); q.Key != "second" || q.Status != perdure.QuestionOpen || q.ExecutionTitle != "The run." {
			t.Errorf("the new question is %+v", q)
		}
		h.vote(h.approver, first, `"verdict":"approve"`).Want(200, nil)
		if q := question(t, s.Must()); q.Key != "first" || q.Status != perdure.QuestionAnswered || q.Version != 2 {
			t.Errorf("the answered question is %+v", q)
		}
		a.Complete()
		if q := question(t, s.Must()); q.Key != "second" || q.Status != perdure.QuestionWithdrawn {
			t.Errorf("the withdrawn question is %+v", q)
		}
	})
}

// TestTheStreamWorksWithoutHints checks that a stream sends changes without hints, as if another
// server on the store had made the changes.
func TestTheStreamWorksWithoutHints(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	a := h.start("x")
	other := h.Restarted()
	s := other.Follow("/questions/stream", "Authorization", "Bearer "+h.approver)
	s.Must()
	id := a.ask("one")
	if q := question(t, s.Must()); q.ID != id {
		t.Errorf("the question is %+v", q)
	}
}

// TestASlowReaderOfQuestions checks that a reader that does not read blocks no other reader. When
// the slow reader continues to read, it receives the newest state of every question, but not each
// change that it has missed.
func TestASlowReaderOfQuestions(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	slow, quick := h.follow(), h.follow()
	slow.Must()
	quick.Must()
	large := json.RawMessage(`"` + strings.Repeat("x", 30<<10) + `"`)
	want := map[string]perdure.QuestionStatus{}
	for i := range 30 {
		a := h.start("x")
		for j := range 10 {
			key := fmt.Sprint(i, ".", j)
			id := a.ask(key, func(n *perdure.NewQuestion) { n.Details = large })
			want[key] = perdure.QuestionOpen
			if j%2 == 0 {
				h.as(h.approver, "POST", "/questions/"+id.String()+"/answer", `{"verdict":"deny"}`).Want(200, nil)
				want[key] = perdure.QuestionAnswered
			}
		}
	}
	for name, s := range map[string]*facetest.Stream{"quick": quick, "slow": slow} {
		got := map[string]perdure.QuestionStatus{}
		left := len(want)
		for left > 0 {
			e := s.Must()
			if e.Event == "questions" {
				t.Fatalf("%s: begins again", name)
			}
			q := question(t, e)
			if got[q.Key] != q.Status && q.Status == want[q.Key] {
				left--
			}
			got[q.Key] = q.Status
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d questions, want %d", name, len(got), len(want))
		}
	}
}

// TestStreamsOfAKey checks that streams count towards the limit of their key, and end when the key
// is revoked.
func TestStreamsOfAKey(t *testing.T) {
	h := open(t, func(c *face.Config) { c.StreamsPerKey, c.RecheckEvery = 1, 10*time.Millisecond })
	s := h.follow()
	s.Must()
	h.as(h.approver, "GET", "/questions/stream", "").Want(http.StatusTooManyRequests, nil)
	keys, err := h.Engine.Read().Keys(context.WithoutCancel(t.Context()), "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.Role == perdure.KeyApprover {
			if _, err := h.Engine.RevokeKey(context.WithoutCancel(t.Context()), "default", k.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if e, err := s.Next(); err == nil {
		t.Errorf("after the end of the key came %+v", e)
	}
}

// TestAnIdleStreamOfQuestionsPings checks that a stream without events sends pings.
func TestAnIdleStreamOfQuestionsPings(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, facetest.PingAlways)
	s := h.follow()
	s.Must()
	if e := s.Must(); e.Event != "ping" || e.Data != "{}" {
		t.Errorf("the event is %+v", e)
	}
}

// TestAServerThatStopsEndsStreamsOfQuestions checks that a server that stops resets its streams.
func TestAServerThatStopsEndsStreamsOfQuestions(t *testing.T) {
	h := open(t)
	s := h.follow()
	s.Must()
	close(h.Stop)
	if e, err := s.Next(); err == nil {
		t.Errorf("after the stop came %+v", e)
	}
}
