package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

const notStored = `"store":false,`

// TestSocketContinuation checks a chain of responses that are not stored. Each response continues
// from the previous one over the same WebSocket, and the model receives the whole conversation.
func TestSocketContinuation(t *testing.T) {
	s := newStage(t, says("OK."), calls("", "ask", `{}`), says("copper"))
	k := s.dial()
	a := k.create(notStored + `"input":"Remember: copper."`)
	b := k.create(notStored + after(a.ID) + `"input":"What is it?",` + tools)
	if len(b.calls()) != 1 || b.Previous != a.ID {
		t.Fatalf("the second is %s", b.raw)
	}
	c := k.create(notStored + after(b.ID) + tools + fmt.Sprintf(`,"input":[{"type":"function_call_output","call_id":%q,"output":"x"}]`, b.calls()[0].CallID))
	if c.text() != "copper" || c.Previous != b.ID {
		t.Errorf("the third is %s", c.raw)
	}
	asked := s.model.asked()
	if last := asked[len(asked)-1]; len(last.Messages) != 5 {
		t.Errorf("the model was asked %+v", last.Messages)
	}
	for _, id := range []string{a.ID, b.ID, c.ID} {
		s.call("GET", "/v1/responses/"+id, "").refused(404, "", "not_found")
	}
}

// TestSocketReconnectStoreFalseRecovery checks that a response that is not stored can be continued
// only over its connection. Requests over another connection, of the same or another org, and over
// HTTP get previous_response_not_found.
func TestSocketReconnectStoreFalseRecovery(t *testing.T) {
	s := newStage(t, says("OK."))
	s.work("other")
	k := s.dial()
	a := k.create(notStored + `"input":"a"`)
	for name, other := range map[string]*talk{"another": s.dial(), "another org's": s.dial("Authorization", "Bearer other")} {
		other.ask(notStored + after(a.ID) + `"input":"b"`)
		other.refused(400, "previous_response_id", "previous_response_not_found")
		if o := other.create(notStored + `"input":"b"`); o.Status != "completed" {
			t.Errorf("%s connection: %s", name, o.raw)
		}
	}
	s.create(notStored+after(a.ID)+`"input":"b"`).refused(400, "previous_response_id", "previous_response_not_found")
	if b := k.create(notStored + after(a.ID) + `"input":"b"`); b.Status != "completed" {
		t.Errorf("the connection itself: %s", b.raw)
	}
}

func TestSocketPreviousResponseNotFound(t *testing.T) {
	s := newStage(t)
	k := s.dial()
	k.ask(notStored + `"previous_response_id":"resp_missing","input":"a"`)
	const want = `{"type":"error","status":400,"error":{"message":"Previous response with id 'resp_missing' not found.",` +
		`"type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`
	if e := k.next(); e.Raw != want {
		t.Errorf("got  %s\nwant %s", e.Raw, want)
	}
	k.create(notStored + `"input":"a"`)
}

// TestSocketRemembersTheNewest checks that a connection remembers only the newest response that is
// not stored.
func TestSocketRemembersTheNewest(t *testing.T) {
	s := newStage(t)
	k := s.dial()
	a := k.create(notStored + `"input":"a"`)
	b := k.create(notStored + after(a.ID) + `"input":"b"`)
	k.create(`"input":"a stored one"`)
	k.ask(notStored + after(a.ID) + `"input":"c"`)
	k.refused(400, "previous_response_id", "previous_response_not_found")
	k.create(notStored + after(b.ID) + `"input":"c"`)
}

// TestSocketFailedContinuationEndsTheChain checks a create request that continues a response and
// fails. Afterwards that response can no longer be continued, but the connection stays usable.
func TestSocketFailedContinuationEndsTheChain(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, c := range map[string]struct {
		frame string
		param string // "" for a response that fails
		code  string
	}{
		"a call that is not open": {`"input":[{"type":"function_call_output","call_id":"call_missing","output":"x"}]`, "input", "invalid_value"},
		"a bad parameter":         {`"input":"b","temperature":7`, "temperature", "invalid_value"},
		"an unknown model":        {`"input":"b","model":"none/m"`, "model", "model_not_found"},
		"a response that fails":   {`"input":"b"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, says("OK."), fails(says("no"), false))
			k := s.dial()
			a := k.create(notStored + `"input":"a"`)
			model := `"model":"test/m",`
			if c.param == "model" {
				model = ""
			}
			k.send(`{"type":"response.create",` + model + notStored + after(a.ID) + c.frame + `}`)
			if c.param != "" {
				k.refused(400, c.param, c.code)
			} else if b := k.end(); b.Status != "failed" {
				t.Errorf("the second is %s", b.raw)
			} else {
				k.ask(notStored + after(b.ID) + `"input":"c"`)
				k.refused(400, "previous_response_id", "previous_response_not_found")
			}
			k.ask(notStored + after(a.ID) + `"input":"c"`)
			k.refused(400, "previous_response_id", "previous_response_not_found")
			if o := k.create(notStored + `"input":"c"`); o.Status != "completed" {
				t.Errorf("a new chain: %s", o.raw)
			}
		})
	}
}

// TestSocketOtherFailuresLeaveTheChain checks create requests that fail, but did not continue from
// the connection's newest response. That response can then still be continued.
func TestSocketOtherFailuresLeaveTheChain(t *testing.T) {
	s := newStage(t)
	k := s.dial()
	a := k.create(notStored + `"input":"a"`)
	k.ask(notStored + `"input":"b","temperature":7`)
	k.refused(400, "temperature", "invalid_value")
	k.ask(notStored + `"previous_response_id":"resp_other","input":"b"`)
	k.refused(400, "previous_response_id", "previous_response_not_found")
	k.send(`no JSON`)
	k.refused(400, "", "invalid_json")
	k.create(notStored + after(a.ID) + `"input":"b"`)
}

// TestSocketStoredChains checks that stored responses can be continued over any connection and over
// HTTP, even after a request that continued from them has failed.
func TestSocketStoredChains(t *testing.T) {
	s := newStage(t, says("one"), says("two"), says("three"), says("four"))
	k, other := s.dial(), s.dial()
	a := k.create(`"input":"a"`)
	b := s.create(after(a.ID) + `"input":"b"`).object()
	c := other.create(after(b.ID) + `"input":"c"`)
	other.ask(after(c.ID) + `"input":"d","temperature":7`)
	other.refused(400, "temperature", "invalid_value")
	d := k.create(after(c.ID) + `"input":"d"`)
	if got := a.text() + b.text() + c.text() + d.text(); got != "onetwothreefour" {
		t.Errorf("got %q", got)
	}
	if o := s.call("GET", "/v1/responses/"+d.ID, "").object(); o.Previous != c.ID {
		t.Errorf("stored as %s", o.raw)
	}
}

// TestSocketWarmUp checks that a warm-up, a create request with generate false, calls no model. A
// request that continues from the warm-up begins with the warm-up's input.
func TestSocketWarmUp(t *testing.T) {
	s := newStage(t, says("one"), says("two"))
	k := s.dial()
	warm := k.create(notStored + `"generate":false,"input":"first","instructions":"Be brief."`)
	if warm.Status != "completed" || len(warm.Output) != 0 || len(s.model.asked()) != 0 {
		t.Fatalf("the warm-up is %s", warm.raw)
	}
	a := k.create(notStored + after(warm.ID) + `"input":"second"`)
	if a.text() != "one" || a.Previous != warm.ID {
		t.Errorf("got %s", a.raw)
	}
	again := k.create(notStored + after(a.ID) + `"generate":false,"input":"third"`)
	b := k.create(after(again.ID) + `"input":"fourth"`)
	if b.text() != "two" {
		t.Errorf("got %s", b.raw)
	}
	asked := s.model.asked()
	var texts string
	for _, m := range asked[1].Messages {
		for _, p := range m.Parts {
			texts += p.Text + ";"
		}
	}
	if texts != "first;second;one;third;fourth;" {
		t.Errorf("the model was asked %q", texts)
	}
}

// TestSocketWarmUpsAreChecked checks that invalid warm-ups are refused, and the error names the
// parameter. A warm-up can be continued only over its connection.
func TestSocketWarmUpsAreChecked(t *testing.T) {
	s := newStage(t)
	k, other := s.dial(), s.dial()
	for frame, param := range map[string]string{
		`"generate":false,"input":"a","temperature":7`:                         "temperature",
		`"generate":"no","input":"a"`:                                          "generate",
		`"generate":false,"input":"a","previous_response_id":"resp_x"`:         "previous_response_id",
		`"generate":false,"input":[{"type":"item_reference","id":"msg_none"}]`: "input[0].id",
		`"generate":false,"input":"a","tools":[{"type":"web_search"}]`:         "tools[0].type",
		`"generate":true`: "input",
		`"generate":false,"input":[{"type":"function_call_output","call_id":"x"}]`: "input[0].output",
		`"generate":false,"input":"a","conversation":"c"`:                          "conversation",
	} {
		k.ask(frame)
		if e := k.next(); e.Type != "error" {
			t.Errorf("%s is answered %s", frame, e.Raw)
		} else if want := fmt.Sprintf(`"param":%q`, param); !strings.Contains(e.Raw, want) {
			t.Errorf("%s is answered %s, want %s", frame, e.Raw, want)
		}
	}
	warm := k.create(`"generate":false,"input":[]`)
	other.ask(after(warm.ID) + `"input":"b"`)
	other.refused(400, "previous_response_id", "previous_response_not_found")
	k.create(after(warm.ID) + `"input":"b"`)
}
