package ws_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/perdure/perdure"
)

// raw returns the type and the data of the server's next message, without decoding the data into a
// Go type.
func raw(c *wsClient) (kind string, data map[string]any) {
	c.T.Helper()
	_, raw, err := c.Conn.Read(c.Ctx)
	if err != nil {
		c.T.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(raw, &whole); err != nil {
		c.T.Fatalf("%v: %s", err, raw)
	}
	if names(whole) != "data type" {
		c.T.Errorf("a message is %s", raw)
	}
	kind, _ = whole["type"].(string)
	data, _ = whole["data"].(map[string]any)
	return kind, data
}

var snakeCase = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// TestMessagesHaveTheirNames checks that every tested message has the form {type, data}, and that
// its data has exactly the defined members in snake_case.
func TestMessagesHaveTheirNames(t *testing.T) {
	h := open(t)
	x := h.Start("")
	h.Claim().Say(userText("hi"))
	c, res, err := h.DialSocket(x.ID)
	if err != nil {
		t.Fatalf("%v %v", err, res)
	}
	t.Cleanup(func() { _ = c.Conn.CloseNow() })
	const loaded = "events first_seq has_more is_stale_client last_seq max_seq prepend"
	ask := func(kind, data, want, members string) map[string]any {
		t.Helper()
		if kind != "" {
			c.Send(kind, data)
		}
		got, body := raw(c)
		if got != want || names(body) != members {
			t.Errorf("%s %s is answered %s with %s, want %s with %s", kind, data, got, names(body), want, members)
		}
		for name := range body {
			if !snakeCase.MatchString(name) {
				t.Errorf("%s has %s", got, name)
			}
		}
		return body
	}
	ask("", "", "connected", "agent_execution_id max_seq status")
	ask("load_events", `{"after_seq":0,"limit":1}`, "events_loaded", loaded)
	ask("load_events", `{"before_seq":2}`, "events_loaded", loaded)
	page := ask("load_events", `{"after_seq":0,"limit":2}`, "events_loaded", loaded)
	first, _ := page["events"].([]any)[0].(map[string]any)
	if names(first) != "cursor data event" {
		t.Errorf("an event of a page has %s", names(first))
	}
	ask("load_events", fmt.Sprintf(`{"cursor":%q,"limit":1}`, first["cursor"]), "events_loaded", loaded)
	ask("keepalive", `{}`, "keepalive_ack", "max_seq")
	ask("prompt", `{"prompt_id":"p1","text":"more"}`, "prompt_ack", "prompt_id")
	ask("dance", `{}`, "error", "code message")
	ask("prompt", `{"prompt_id":"p2"}`, "error", "code message prompt_id")
	ask("load_events", `{"after_seq":1000}`, "events_loaded", loaded+" reset")
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"go"}`).Want(200, nil)
	ask("", "", "event", "cursor data event")
}

// TestPagesOfASocket checks that a request for a page that names no position gets the newest 50
// events. Loading older pages does not change the position from which the socket follows the log. A
// request with a seq after the end of the log gets the newest page.
func TestPagesOfASocket(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	events := make([]perdure.NewEvent, 118)
	for i := range events {
		events[i] = perdure.NewEvent{Type: perdure.EventData, Fields: []byte(`{"data":{"type":"plan"}}`)}
	}
	r.Commit(perdure.Commit{Events: events}) // 120 events, with those of the start
	c := h.Socket(x.ID)
	page := func(ask string, first, last int64, more, prepend, stale bool) {
		t.Helper()
		d := c.Load(ask).Data
		if d.FirstSeq != first || d.LastSeq != last || d.MaxSeq != 120 || d.HasMore != more || d.Prepend != prepend || d.Stale != stale ||
			int64(len(d.Events)) != last-first+1 {
			t.Errorf("%s gives %d to %d of %d (%d events), more %v, prepend %v, stale %v", ask, d.FirstSeq, d.LastSeq, d.MaxSeq, len(d.Events), d.HasMore, d.Prepend, d.Stale)
		}
		for i, e := range d.Events {
			var of struct{ Seq int64 }
			if err := json.Unmarshal(e.Data, &of); err != nil || of.Seq != first+int64(i) {
				t.Fatalf("%s: event %d has the seq %d (%v)", ask, i, of.Seq, err)
			}
		}
	}
	page(`{}`, 71, 120, true, false, false)
	page(`{"before_seq":71}`, 21, 70, true, true, false)
	page(`{"before_seq":21}`, 1, 20, false, true, false)
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"go"}`).Want(200, nil)
	m := c.Next() // the event after the newest page, whichever older pages were loaded
	if m.Type != "event" || m.Data.Event != "signal.received" {
		t.Errorf("then comes %+v", m)
	}
	r.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`1`))}})
	c.ToEnd()

	c = h.Socket(x.ID)
	stale := c.Load(`{"after_seq":100000}`).Data
	if !stale.Stale || stale.Prepend || stale.LastSeq != stale.MaxSeq || len(stale.Events) != 50 {
		t.Errorf("a client that is ahead is given %d to %d of %d, stale %v", stale.FirstSeq, stale.LastSeq, stale.MaxSeq, stale.Stale)
	}
	c.ToEnd() // follows the log after that page
	for _, ask := range []string{`{"after_seq":50}`, `{"after_seq":70,"limit":1000}`} {
		c := h.Socket(x.ID)
		if d := c.Load(ask).Data; d.Stale || d.Prepend || d.FirstSeq > d.LastSeq {
			t.Errorf("%s is answered %+v", ask, d)
		}
	}
}

// TestPromptsAreSignals checks that a prompt that is sent repeatedly with the same id, on two
// sockets and as a signal, is stored once.
func TestPromptsAreSignals(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for range 2 {
		c := h.Socket(x.ID)
		for range 2 {
			c.Send("prompt", `{"prompt_id":"p1","text":"hello"}`)
			if m := c.Next(); m.Type != "prompt_ack" || m.Data.PromptID != "p1" {
				t.Errorf("it is answered %+v", m)
			}
		}
	}
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"hello"},"signalId":"p1"}`).Want(200, nil)
	r := h.Claim()
	r.Complete()
	received := ofType(h.Follow(h.Path(x.ID, "/stream")).All(), "signal.received")
	if len(received) != 1 || received[0].Fields["signalId"] != "p1" || fmt.Sprint(received[0].Fields["signalValue"]) != "map[text:hello]" ||
		received[0].Fields["signalName"] != perdure.UserMessage {
		t.Errorf("%d messages: %v", len(received), received)
	}
}
