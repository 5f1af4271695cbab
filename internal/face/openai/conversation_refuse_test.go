package openai_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestADeletedConversation checks that a conversation that is deleted while a response runs is no
// longer found. The response completes, and other requests can still refer to the items of this
// response.
func TestADeletedConversation(t *testing.T) {
	said, on := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, holds(says("slow"), said, on))
	id := s.conversationOf(`{"items":[{"role":"user","content":"p"}]}`)
	pending := s.items(id).ids[0]
	stays := s.conversationOf(`{"items":[{"role":"user","content":"q"}]}`)
	a := s.create(in(id) + `"input":"a","background":true`).object()
	<-said
	item := s.items(id).ids[0]
	s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"late"}]}`).list()
	r := s.call("DELETE", "/v1/conversations/"+id, "")
	if string(r.body) != `{"deleted":true,"id":"`+id+`","object":"conversation.deleted"}`+"\n" || item != pending {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.unknown("default", id, item)
	close(on)
	if o := s.untilEnd(a.ID); o.Status != "completed" || o.text() != "slow" || conversationOf(t, o) != id {
		t.Errorf("the response: %s", o.raw)
	}
	s.create(`"input":[{"type":"item_reference","id":"` + item + `"}]`).object()
	s.wantPrompt("user: p")
	s.wantItems(stays, "user: q")
}

// unknown checks that an org finds neither a conversation nor an item of it.
func (s *stage) unknown(org, id, item string) {
	s.t.Helper()
	at := "/v1/conversations/" + id
	for _, one := range [][3]string{
		{"GET", at},
		{"DELETE", at},
		{"POST", at, `{"metadata":{"k":"v"}}`},
		{"GET", at + "/items"},
		{"GET", at + "/items/" + item},
		{"POST", at + "/items", `{"items":[{"role":"user","content":"x"}]}`},
	} {
		s.callAs(org, one[0], one[1], one[2]).refused(404, "", "not_found")
	}
	s.callAs(org, "POST", "/v1/responses", `{"model":"test/m","conversation":"`+id+`","input":"x"}`).refused(404, "conversation", "not_found")
}

// TestConversationsOfOtherOrgs checks that an org finds neither another org's conversation nor its
// items. An item of one conversation cannot be read through another conversation.
func TestConversationsOfOtherOrgs(t *testing.T) {
	s := newStage(t, says("one"))
	s.work("other")
	id := s.conversationOf(`{"metadata":{"k":"v"},"items":[{"role":"user","content":"p"}]}`)
	s.create(in(id) + `"input":"a"`).object()
	s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"q"}]}`).list()
	ids := s.items(id).ids
	s.unknown("other", id, ids[0])
	s.unknown("default", "conv_none", ids[0])
	s.unknown("default", "conv_%00", ids[0])
	n := len(s.model.asked())
	for _, item := range ids {
		s.callAs("other", "POST", "/v1/responses", `{"model":"test/m","input":[{"type":"item_reference","id":"`+item+`"}]}`).refused(400, "input[0].id", "item_not_found")
		s.callAs("other", "POST", "/v1/conversations", `{"items":[{"type":"item_reference","id":"`+item+`"}]}`).refused(400, "items[0].id", "item_not_found")
	}
	other := s.conversationOf(`{}`)
	for _, item := range append(ids, "msg_none", "x", "msg_"+strings.Repeat("a", 24)+"p0") {
		s.call("GET", "/v1/conversations/"+other+"/items/"+item, "").refused(404, "", "not_found")
	}
	s.wantItems(id, "user: p", "user: a", "assistant: one", "user: q")
	if len(s.model.asked()) != n {
		t.Error("a refused create asked the model")
	}
}

// TestConversationsThatAreRefused checks that invalid requests about a conversation get 400 with
// the parameter, and no item is added.
func TestConversationsThatAreRefused(t *testing.T) {
	s := newStage(t)
	id := s.conversationOf(`{"metadata":{"k":"v"}}`)
	at := "/v1/conversations/" + id
	many := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"x"},`, 21), ",")
	for name, c := range map[string]struct{ method, path, body, param, code string }{
		"no JSON":             {"POST", "/v1/conversations", `{`, "", "invalid_json"},
		"no object":           {"POST", "/v1/conversations", `[]`, "", "invalid_json"},
		"another member":      {"POST", "/v1/conversations", `{"name":"x"}`, "name", "unknown_parameter"},
		"a member twice":      {"POST", "/v1/conversations", `{"metadata":{},"metadata":{}}`, "metadata", "duplicate_parameter"},
		"metadata":            {"POST", "/v1/conversations", `{"metadata":{"k":1}}`, "metadata", "invalid_type"},
		"long metadata":       {"POST", at, `{"metadata":{"k":"` + strings.Repeat("x", 513) + `"}}`, "metadata", "invalid_value"},
		"none to change":      {"POST", at, `{}`, "metadata", "missing_required_parameter"},
		"items to change":     {"POST", at, `{"items":[]}`, "items", "unknown_parameter"},
		"no items":            {"POST", at + "/items", `{}`, "items", "missing_required_parameter"},
		"an empty list":       {"POST", at + "/items", `{"items":[]}`, "items", "missing_required_parameter"},
		"21 items":            {"POST", at + "/items", `{"items":[` + many + `]}`, "items", "array_above_max_length"},
		"21 items at first":   {"POST", "/v1/conversations", `{"items":[` + many + `]}`, "items", "array_above_max_length"},
		"an unknown type":     {"POST", at + "/items", `{"items":[{"type":"web_search_call"}]}`, "items[0].type", "unsupported_value"},
		"an item of nothing":  {"POST", at + "/items", `{"items":[{"role":"user","content":[]}]}`, "items[0]", "invalid_value"},
		"nothing said":        {"POST", at + "/items", `{"items":[{"role":"assistant","content":[]}]}`, "items[0]", "invalid_value"},
		"an unknown item":     {"POST", at + "/items", `{"items":[{"type":"item_reference","id":"msg_x"}]}`, "items[0].id", "item_not_found"},
		"a call alone":        {"POST", at + "/items", `{"items":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`, "items", "invalid_value"},
		"a limit":             {"GET", at + "/items?limit=101", "", "limit", "invalid_value"},
		"an order":            {"GET", at + "/items?order=up", "", "order", "invalid_value"},
		"after":               {"GET", at + "/items?after=msg_x", "", "after", "invalid_value"},
		"include":             {"GET", at + "/items?include[]=web_search_call.action.sources", "", "include", "unsupported_value"},
		"both":                {"POST", "/v1/responses", `{"model":"test/m","input":"x","conversation":"` + id + `","previous_response_id":"resp_x"}`, "conversation", "mutually_exclusive_parameters"},
		"an id that is none":  {"POST", "/v1/responses", `{"model":"test/m","input":"x","conversation":7}`, "conversation", "invalid_type"},
		"an object of none":   {"POST", "/v1/responses", `{"model":"test/m","input":"x","conversation":{}}`, "conversation", "invalid_value"},
		"an object with more": {"POST", "/v1/responses", `{"model":"test/m","input":"x","conversation":{"id":"` + id + `","x":1}}`, "conversation.x", "unknown_parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.call(c.method, c.path, c.body)
			r.t = t
			r.refused(400, c.param, c.code)
		})
	}
	s.call("DELETE", at+"/items/msg_x", "").refused(405, "", "method_not_allowed")
	if l := s.items(id); len(l.ids) != 0 || l.HasMore || l.FirstID != nil {
		t.Errorf("the items are %v", l.lines)
	}
	s.call("GET", at+"/items?include[]=message.input_image.image_url", "").list()
	for _, c := range []struct{ body, want string }{{`{"metadata":{"a":"b"}}`, `{"a":"b"}`}, {`{"metadata":null}`, `{}`}} {
		r := s.call("POST", at, c.body)
		if got := s.call("GET", at, ""); r.conversation() != id || string(got.body) != string(r.body) || !strings.Contains(string(got.body), `"metadata":`+c.want) {
			t.Errorf("%s: %s, then %s", c.body, r.body, got.body)
		}
	}
}

// TestPendingItemsAreBounded checks that a conversation has at most 1,000 pending items, which are
// items that no response has taken as input yet, and at most 8 MiB of them. The next response takes
// all of them.
func TestPendingItemsAreBounded(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := newStage(t)
	id := s.conversationOf(`{}`)
	twenty := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"x"},`, 20), ",")
	for range 50 {
		s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[`+twenty+`]}`).list()
	}
	one := `{"items":[{"role":"user","content":"x"}]}`
	s.call("POST", "/v1/conversations/"+id+"/items", one).refused(400, "items", "array_above_max_length")
	s.create(in(id) + `"input":"a"`).object()
	if got := strings.Count(s.prompt(), "user: x"); got != 1000 {
		t.Errorf("the model was given %d items", got)
	}
	s.call("POST", "/v1/conversations/"+id+"/items", one).list()
	large := `{"items":[{"role":"user","content":"` + strings.Repeat("x", 5<<20) + `"}]}`
	s.call("POST", "/v1/conversations/"+id+"/items", large).list()
	s.call("POST", "/v1/conversations/"+id+"/items", large).refused(413, "", "payload_too_large")
	s.create(in(id) + `"input":"b"`).object()
	s.call("POST", "/v1/conversations/"+id+"/items", large).list()
}
