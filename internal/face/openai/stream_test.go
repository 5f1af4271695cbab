package openai_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
)

const tools = `"tools":[{"type":"function","name":"ask","parameters":{"type":"object"}}]`

// sameFromEveryEvent checks that the events of a response are numbered from 0. A stream that starts
// after any event must contain exactly the later events.
func (s *stage) sameFromEveryEvent(id string, whole []event) {
	s.t.Helper()
	for i, e := range whole {
		if e.Number != int64(i) {
			s.t.Fatalf("event %d has the number %d: %s", i, e.Number, e.Raw)
		}
	}
	path := "/v1/responses/" + id + "?stream=true"
	if diff := cmp.Diff(whole, s.all("GET", path, "")); diff != "" {
		s.t.Fatalf("the whole stream, read again (-want +got):\n%s", diff)
	}
	for i := range whole {
		rest := s.all("GET", fmt.Sprintf("%s&starting_after=%d", path, i), "")
		if diff := cmp.Diff(whole[i+1:], rest, cmp.Comparer(func(a, b []event) bool { return slices.Equal(a, b) })); diff != "" {
			s.t.Fatalf("after event %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestStreamsAreReadAgainFromEveryEvent checks streams of a response that start after any of its
// events. After that event, each stream has the same events as the first stream. The last event
// contains the same response object as the reply to a retrieve request.
func TestStreamsAreReadAgainFromEveryEvent(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, c := range map[string]struct {
		answers []answer
		members string
		last    string
		status  string
		types   string // types of the output items
	}{
		"text":        {[]answer{says("Hello ", "there", ".")}, `"input":"hi"`, "response.completed", "completed", "message"},
		"reasoning":   {[]answer{thinks("hm", says("Hello"))}, `"input":"hi"`, "response.completed", "completed", "reasoning message"},
		"background":  {[]answer{says("Hello")}, `"input":"hi","background":true`, "response.completed", "completed", "message"},
		"max tokens":  {[]answer{stops(says("Hel"), perdure.StopMaxTokens)}, `"input":"hi"`, "response.incomplete", "incomplete", "message"},
		"refusal":     {[]answer{stops(says("No."), perdure.StopRefusal)}, `"input":"hi"`, "response.incomplete", "incomplete", "message"},
		"failure":     {[]answer{fails(says(), false)}, `"input":"hi"`, "response.failed", "failed", ""},
		"late":        {[]answer{fails(thinks("hm", says("Hel", "lo")), false)}, `"input":"hi"`, "response.failed", "failed", "reasoning message"},
		"client tool": {[]answer{calls("I ask.", "ask", `{"a":1}`, "ask", `{"a":2}`)}, `"input":"hi",` + tools, "response.completed", "completed", "message function_call function_call"},
		"unknown tool": {
			[]answer{calls("I look.", "gone", `{}`), says("There is none.")},
			`"input":"hi"`, "response.completed", "completed",
			"message mcp_call message",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.answers...)
			whole := s.all("POST", "/v1/responses", `{"model":"test/m","stream":true,`+c.members+`}`)
			if whole[0].Type != "response.created" || whole[len(whole)-1].Type != c.last {
				t.Errorf("the stream goes from %s to %s", whole[0].Raw, whole[len(whole)-1].Raw)
			}
			end := responseOf(t, whole[len(whole)-1])
			s.sameFromEveryEvent(end.ID, whole)
			now := s.call("GET", "/v1/responses/"+end.ID, "").object()
			if diff := cmp.Diff(string(end.raw), strings.TrimSpace(string(now.raw))); diff != "" {
				t.Errorf("the last event's response and the retrieved one (-event +retrieved):\n%s", diff)
			}
			var types []string
			for _, i := range now.Output {
				types = append(types, i.Type)
			}
			if now.Status != c.status || strings.Join(types, " ") != c.types {
				t.Errorf("got %s", now.raw)
			}
		})
	}
}

// TestCancelledStreamsAreReadAgain checks that a cancelled response keeps the output that it had
// before the cancel.
func TestCancelledStreamsAreReadAgain(t *testing.T) {
	said := make(chan struct{}, 1)
	s := newStage(t, holds(thinks("hm", says("Hel", "lo")), said, nil))
	events, end := s.streamed("POST", "/v1/responses", `{"model":"test/m","input":"hi","stream":true}`)
	var whole []event
	id := ""
	for e := range events {
		checkEvent(t, e.Type, []byte(e.Raw))
		if whole = append(whole, e); id == "" {
			id = responseOf(t, e).ID
		}
		if strings.Contains(e.Raw, `"delta":"Hel`) {
			<-said
			if o := s.call("POST", "/v1/responses/"+id+"/cancel", "").object(); o.Status != "cancelled" {
				t.Errorf("cancelled: %s", o.raw)
			}
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	last := responseOf(t, whole[len(whole)-1])
	if last.Status != "cancelled" || !strings.HasPrefix(last.text(), "Hel") {
		t.Errorf("got %s", last.raw)
	}
	s.sameFromEveryEvent(id, whole)
	if again := s.call("POST", "/v1/responses/"+id+"/cancel", "").object(); string(again.raw) != string(s.call("GET", "/v1/responses/"+id, "").body) {
		t.Errorf("a second cancel: %s", again.raw)
	}
}

// TestRetriedOutputBecomesAnEmptyItem checks that a retried model call leaves its earlier output as
// an incomplete, empty item, so that no index changes. The numbers of events stay the same,
// although the log no longer has the chunks of that output.
func TestRetriedOutputBecomesAnEmptyItem(t *testing.T) {
	longtest.Skip(t, "seconds")
	failed, seen := false, make(chan struct{})
	s := newStage(t, func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		if failed {
			return says("Hello")(ctx, req, b)
		}
		failed = true
		if _, err := says("Hel")(ctx, req, b); err != nil {
			return "", err
		}
		<-seen // the next text becomes a separate chunk
		return fails(says("l"), true)(ctx, req, b)
	})
	events, over := s.streamed("POST", "/v1/responses", `{"model":"test/m","input":"hi","stream":true}`)
	var whole []event
	for e := range events {
		checkEvent(t, e.Type, []byte(e.Raw))
		if whole = append(whole, e); strings.Contains(e.Raw, `"delta":"Hel"`) {
			close(seen)
		}
	}
	if err := over(); err != nil {
		t.Fatal(err)
	}
	end := responseOf(t, whole[len(whole)-1])
	if len(end.Output) != 2 || end.Output[0].Status != "incomplete" || len(end.Output[0].Content) != 0 || end.text() != "Hello" {
		t.Errorf("got %s", end.raw)
	}
	again := s.all("GET", "/v1/responses/"+end.ID+"?stream=true", "")
	if len(again) != len(whole) {
		t.Fatalf("%d events, and %d when read again", len(whole), len(again))
	}
	for i := range whole {
		if again[i].Type != whole[i].Type || again[i].Number != whole[i].Number {
			t.Errorf("event %d is %s, and %s when read again", i, whole[i].Type, again[i].Type)
		}
	}
	s.sameFromEveryEvent(end.ID, again)
}
