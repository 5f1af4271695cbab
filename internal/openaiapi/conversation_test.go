package openaiapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// conversationOf creates a conversation and returns its id.
func (s *stage) conversationOf(body string) string {
	s.t.Helper()
	return s.call("POST", "/v1/conversations", body).conversation()
}

// conversation reads the object of a conversation, which has the official shape, and
// returns its id.
func (r reply) conversation() string {
	r.t.Helper()
	if r.status != 200 {
		r.t.Fatalf("status %d: %s", r.status, r.body)
	}
	var c conversations.Conversation
	if err := json.Unmarshal(r.body, &c); err != nil {
		r.t.Fatal(err)
	}
	if !strings.HasPrefix(c.ID, "conv_") || len(c.ID) < 29 || c.Object != "conversation" || c.CreatedAt == 0 || !c.JSON.Metadata.Valid() || len(c.JSON.ExtraFields) > 0 {
		r.t.Errorf("%s is not what the official client reads", r.body)
	}
	return c.ID
}

// list is a page of items of a conversation.
type list struct {
	Object         string
	Data           []item
	FirstID        *string `json:"first_id"`
	LastID         *string `json:"last_id"`
	HasMore        bool    `json:"has_more"`
	typed          conversations.ConversationItemList
	lines          []string // the items in short
	ids            []string
	idOf           map[string]string // by line
	rawData        []map[string]any
	unmarshalError error
}

func (r reply) list() list {
	r.t.Helper()
	if r.status != 200 {
		r.t.Fatalf("status %d: %s", r.status, r.body)
	}
	l := list{idOf: map[string]string{}}
	var raw struct{ Data []map[string]any }
	for _, into := range []any{&l, &l.typed, &raw} {
		if err := json.Unmarshal(r.body, into); err != nil {
			r.t.Fatal(err)
		}
	}
	l.rawData = raw.Data
	for i, it := range l.Data {
		line := it.line()
		l.lines, l.ids, l.idOf[line] = append(l.lines, line), append(l.ids, it.ID), it.ID
		if typed := l.typed.Data[i]; typed.AsAny() == nil || typed.ID == "" {
			r.t.Errorf("%s is no item that the official client knows", typed.RawJSON())
		}
	}
	if l.Object != "list" || len(l.ids) > 0 && (*l.FirstID != l.ids[0] || *l.LastID != l.ids[len(l.ids)-1]) {
		r.t.Errorf("the page is %s", r.body)
	}
	return l
}

// line is an item in short.
func (i item) line() string {
	text := ""
	for _, c := range slices.Concat(i.Content, i.Summary) {
		text += c.Text
	}
	switch i.Type {
	case "message":
		return i.Role + ": " + text
	case "reasoning":
		return "reasoning: " + text
	case "function_call_output":
		return fmt.Sprintf("output of %s: %v", i.CallID, i.Output)
	case "mcp_call":
		return "ran " + i.Name + ": " + strings.TrimSpace(i.outcome())
	}
	return i.Type + " " + i.Name
}

// items lists all items of a conversation, oldest first.
func (s *stage) items(conversation string) list {
	s.t.Helper()
	return s.call("GET", "/v1/conversations/"+conversation+"/items?order=asc&limit=100", "").list()
}

func (s *stage) wantItems(conversation string, want ...string) list {
	s.t.Helper()
	l := s.items(conversation)
	if diff := cmp.Diff(want, l.lines); diff != "" {
		s.t.Errorf("the items (-want +got):\n%s", diff)
	}
	return l
}

// givenParts are the parts that the model was given last.
func (s *stage) givenParts() string {
	s.t.Helper()
	all := s.model.asked()
	var given []perdure.InputMessage
	for _, m := range all[len(all)-1].Messages {
		given = append(given, perdure.InputMessage{Role: m.Role, Parts: m.Parts})
	}
	raw, err := json.MarshalIndent(given, "", " ")
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

func in(conversation string) string { return `"conversation":"` + conversation + `",` }

func conversationOf(t *testing.T, o object) string {
	t.Helper()
	var v struct{ Conversation *struct{ ID string } }
	if err := json.Unmarshal(o.raw, &v); err != nil {
		t.Fatal(err)
	}
	if v.Conversation == nil {
		return ""
	}
	return v.Conversation.ID
}

// A conversation is one execution: each create goes on from its head, behind the items
// that were added meanwhile, which keep their ids.
func TestAConversationIsOneExecution(t *testing.T) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		s := newStageOn(t, open(t, nil), thinks("hm", says("one")), says("two"), says("three"))
		id := s.conversationOf(`{"metadata":{"k":"v"},"items":[{"role":"system","content":"be brief"},{"role":"user","content":"first"}]}`)
		before := s.wantItems(id, "system: be brief", "user: first")
		a := s.create(in(id) + `"input":"a"`).object()
		if got := conversationOf(t, a); got != id || a.Previous != "" {
			t.Errorf("the response is of conversation %q: %s", got, a.raw)
		}
		s.wantPrompt("system: be brief\nuser: first\nuser: a")
		added := s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"by the way"}]}`).list()
		s.create(`"conversation":{"id":"` + id + `"},"input":"b"`).object()
		s.wantPrompt("system: be brief\nuser: first\nuser: a\nassistant: one\nuser: by the way\nuser: b")
		c := s.create(in(id) + `"input":"c","instructions":"shout"`).object()
		if s.executions() != 1 || c.text() != "three" {
			t.Errorf("%d executions, %s", s.executions(), c.raw)
		}
		all := s.wantItems(id, "system: be brief", "user: first", "user: a", "reasoning: hm", "assistant: one",
			"user: by the way", "user: b", "assistant: two", "user: c", "assistant: three")
		for line, was := range map[string]string{"system: be brief": before.ids[0], "user: first": before.ids[1], "user: by the way": added.ids[0], "assistant: one": a.Output[1].ID} {
			if all.idOf[line] != was {
				t.Errorf("%q had the id %s and has %s", line, was, all.idOf[line])
			}
		}
		input := s.call("GET", "/v1/responses/"+a.ID+"/input_items?order=asc", "").list()
		if diff := cmp.Diff(all.ids[:3], input.ids); diff != "" {
			t.Errorf("the input of the first response (-items of the conversation +its own):\n%s", diff)
		}
		plain := s.create(`"input":"plain"`).object()
		if conversationOf(t, plain) != "" || !strings.Contains(string(plain.raw), `"conversation":null`) {
			t.Errorf("a response without one: %s", plain.raw)
		}
	})
}

// The items are listed in pages from either end, each is found by its id, and stands for
// itself in a create.
func TestItemsOfAConversation(t *testing.T) {
	s := newStage(t, says("-"), calls("I look.", "grep", `{"pattern":"a"}`), says("Done."), says("More."))
	s.asAgent("grep")
	id := s.conversationOf(`{"items":[{"role":"user","content":"look"},{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
		{"role":"assistant","content":[{"type":"output_text","text":"I "},{"type":"output_text","text":"am here"}]},
		{"type":"function_call","call_id":"c","name":"mine","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"it"}]}`)
	s.ask(in(id) + `"input":"now"`).object()
	s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"p1"},{"role":"user","content":"p2"}]}`).list()
	want := s.wantItems(id, "user: look", "reasoning: hm", "assistant: I am here", "function_call mine", "output of c: it", "user: now",
		"assistant: I look.", "ran grep: "+s.items(id).Data[7].outcome(), "assistant: Done.", "user: p1", "user: p2")
	backward := slices.Clone(want.ids)
	slices.Reverse(backward)
	for order, all := range map[string][]string{"asc": want.ids, "desc": backward} {
		for limit := 1; limit <= len(all)+1; limit++ {
			var got []string
			for after, more := "", true; more; {
				page := s.call("GET", "/v1/conversations/"+id+"/items?order="+order+"&limit="+strconv.Itoa(limit)+after, "").list()
				if got = append(got, page.ids...); len(page.ids) > limit || page.HasMore == (len(got) == len(all)) {
					t.Fatalf("a page of %d, %s: %v", limit, order, page.ids)
				}
				more, after = page.HasMore, "&after="+page.ids[len(page.ids)-1]
			}
			if diff := cmp.Diff(all, got); diff != "" {
				t.Fatalf("in pages of %d, %s:\n%s", limit, order, diff)
			}
		}
	}
	for i, item := range want.rawData {
		one := s.call("GET", "/v1/conversations/"+id+"/items/"+want.ids[i], "")
		var got map[string]any
		if err := json.Unmarshal(one.body, &got); err != nil || !cmp.Equal(got, item) {
			t.Errorf("%d %s, in the list %v", one.status, one.body, item)
		}
	}
	var references []string
	for _, i := range want.ids {
		references = append(references, `{"type":"item_reference","id":"`+i+`"}`)
	}
	s.ask(`"input":[` + strings.Join(references, ",") + `]`).object()
	stateless := s.givenParts()
	s.ask(in(id)+`"input":[]`).refused(400, "input", "missing_required_parameter")
	copied := s.conversationOf(`{"items":[` + strings.Join(references, ",") + `]}`)
	s.wantItems(copied, want.lines...)
	s.ask(in(copied) + `"input":[{"role":"user","content":"end"}]`).object()
	end := s.givenParts()
	if cut := strings.TrimSuffix(stateless, "\n]"); !strings.HasPrefix(end, cut) || s.executions() != 3 {
		t.Errorf("a conversation of references gives the model\n%s\na create of them\n%s", end, stateless)
	}
	s.wantItems(copied, append(slices.Clone(want.lines), "user: end", "assistant: More.")...)
}

// A call of a tool that ran here is one item of the conversation in whichever form it
// was added, and keeps its id when a response takes it.
func TestCallsOfToolsThatRanHereAreAdded(t *testing.T) {
	s := newStage(t, calls("I look.", "grep", `{"pattern":"a"}`, "gone", `{}`), says("Done."), says("More."))
	s.asAgent("grep")
	first := s.ask(`"input":"look"`).object()
	for name, form := range forms(itemsAsRaw(t, first)) {
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, model: s.model, engine: s.engine, store: s.store, url: s.url, http: s.http}
			body := strings.TrimSuffix(strings.TrimPrefix(asInput(t, asked, form, more), `"input":[`), "]")
			id := s.conversationOf(`{"items":[` + body + `]}`)
			before := s.items(id)
			s.ask(in(id) + `"input":"x"`).object()
			taken := s.items(id)
			if diff := cmp.Diff(before.rawData, taken.rawData[:len(before.rawData)]); diff != "" || len(taken.ids) != len(before.ids)+2 {
				t.Errorf("the items before and after they were taken:\n%s", diff)
			}
			inConversation := s.givenParts()
			s.ask(asInput(t, asked, form, more+`,{"role":"user","content":"x"}`)).object()
			if diff := cmp.Diff(s.givenParts(), inConversation); diff != "" {
				t.Errorf("the model was given (-by a create +by the conversation):\n%s", diff)
			}
		})
	}
}

// A client answers its calls in the create or before it; one answer is taken once.
func TestCallsInAConversation(t *testing.T) {
	tool := `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],`
	output := func(call, text string) string {
		return `{"type":"function_call_output","call_id":"` + call + `","output":"` + text + `"}`
	}
	s := newStage(t, calls("", "f", `{"n":1}`, "f", `{"n":2}`), says("ok"))
	id := s.conversationOf(``)
	items := "/v1/conversations/" + id + "/items"
	s.call("POST", items, `{"items":[`+output("c", "x")+`]}`).refused(400, "items", "invalid_value")
	open := s.create(in(id) + tool + `"input":"a"`).object().calls()
	s.create(in(id)+tool+`"input":"b"`).refused(400, "input", "invalid_value")
	s.call("POST", items, `{"items":[{"role":"user","content":"and"},`+output(open[1].CallID, "two")+`]}`).list()
	s.call("POST", items, `{"items":[`+output(open[1].CallID, "twice")+`]}`).refused(400, "items", "invalid_value")
	s.call("POST", items, `{"items":[`+output("none", "x")+`]}`).refused(400, "items", "invalid_value")
	s.call("POST", items, `{"items":[{"type":"function_call","call_id":"d","name":"f","arguments":"{}"}]}`).refused(400, "items", "invalid_value")
	s.create(in(id) + tool + `"input":[{"role":"user","content":"b"},` + output(open[0].CallID, "one") + `]`).object()
	s.wantPrompt("user: a\nassistant: (f)(f)\ntool_result: two\ntool_result: one\nuser: and\nuser: b")
	l := s.items(id)
	for call, text := range map[string]string{open[0].CallID: "one", open[1].CallID: "two"} {
		if l.idOf["output of "+call+": "+text] == "" {
			t.Errorf("no %s in %v", text, l.lines)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(l.ids)))) != len(l.ids) {
		t.Errorf("two items have one id: %v", l.ids)
	}
}

// A result that waits in the conversation while its call is answered otherwise is left
// out, and does not hold up what comes.
func TestAnAnswerThatCameTooLateIsLeftOut(t *testing.T) {
	s := newStage(t, calls("", "f", `{}`), says("ok"))
	id := s.conversationOf(`{}`)
	a := s.create(in(id) + `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"input":"a"`).object()
	s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"type":"function_call_output","call_id":"`+a.calls()[0].CallID+`","output":"late"}]}`).list()
	row, err := s.store.Response(t.Context(), "default", a.ID)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := s.engine.Signal(t.Context(), "default", row.Execution, engine.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"never mind"}`)})
	if err != nil {
		t.Fatal(err)
	}
	s.untilEnd(sent.ResponseID)
	s.create(in(id) + `"input":"b"`).object()
	if got := s.prompt(); strings.Contains(got, "late") || !strings.HasSuffix(got, "user: never mind\nassistant: ok\nuser: b") {
		t.Errorf("the model was given\n%s", got)
	}
}

// Of creates at once in one conversation each is a response of its own, in turn, or a
// 409 that clients send again.
func TestCreatesAtOnceInAConversation(t *testing.T) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		said, on := make(chan struct{}, 1), make(chan struct{})
		s := newStageOn(t, open(t, nil), holds(says("slow"), said, on))
		id := s.conversationOf(`{"items":[{"role":"user","content":"p"}]}`)
		s.create(in(id) + `"input":"a","background":true`).object()
		<-said
		locked := s.create(in(id) + `"input":"b"`)
		if m := locked.refused(409, "conversation", "conversation_locked"); !strings.Contains(m, "retry") {
			t.Errorf("the error says %q", m)
		}
		s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"q"}]}`).list()
		s.wantItems(id, "user: p", "user: a", "user: q")
		close(on)
		var wg sync.WaitGroup
		var mu sync.Mutex // guards won
		won := map[string]bool{}
		for n := range 4 {
			wg.Go(func() {
				for {
					r := s.create(in(id) + `"input":"n` + strconv.Itoa(n) + `"`)
					if r.status != 200 {
						r.refused(409, "conversation", "conversation_locked")
						continue
					}
					mu.Lock()
					won[r.object().ID] = true
					mu.Unlock()
					return
				}
			})
		}
		wg.Wait()
		l := s.items(id)
		for n := range 4 {
			if l.idOf["user: n"+strconv.Itoa(n)] == "" {
				t.Errorf("n%d is not in %v", n, l.lines)
			}
		}
		if len(won) != 4 || s.executions() != 1 || len(l.ids) != 12 || l.lines[3] != "user: q" {
			t.Errorf("%d responses in %d executions: %v", len(won), s.executions(), l.lines)
		}
	})
}

// A conversation goes on in a new execution where its own has ended, from the end of
// that, and belongs to the new one from then on.
func TestAConversationOutlivesItsExecution(t *testing.T) {
	said, on := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, says("one"), holds(says("slow"), said, on), says("three"), says("four"))
	id := s.conversationOf(`{}`)
	s.create(in(id) + `"input":"a"`).object()
	b := s.create(in(id) + `"input":"b","background":true`).object()
	<-said
	if c := s.call("POST", "/v1/responses/"+b.ID+"/cancel", "").object(); c.Status != "cancelled" {
		t.Fatalf("cancel: %s", c.raw)
	}
	close(on)
	s.create(in(id) + `"input":"c"`).object()
	if got := s.prompt(); !strings.HasPrefix(got, "user: a\nassistant: one\nuser: b\n") || !strings.HasSuffix(got, "user: c") {
		t.Errorf("the model was given\n%s", got)
	}
	s.create(in(id) + `"input":"d"`).object()
	if s.executions() != 2 {
		t.Errorf("%d executions", s.executions())
	}
	l := s.items(id)
	if strings.Count(strings.Join(l.lines, "\n")+"\n", "user: a\n") != 1 || l.lines[0] != "user: a" || l.lines[len(l.lines)-2] != "user: d" {
		t.Errorf("the items are %v", l.lines)
	}
	page := s.call("GET", "/v1/conversations/"+id+"/items?order=asc&limit=1&after="+l.idOf["user: b"], "").list()
	if i := slices.Index(l.ids, l.idOf["user: b"]); page.ids[0] != l.ids[i+1] {
		t.Errorf("after b comes %v", page.lines)
	}
}

// What retention or a client deletes of executions is no longer in the conversation,
// which stays; its logs alone leave what the model reads.
func TestAConversationOfDeletedExecutions(t *testing.T) {
	for _, what := range []string{"execution", "log"} {
		t.Run(what, func(t *testing.T) {
			s := newStage(t, says("one"), says("two"))
			id := s.conversationOf(`{"metadata":{"k":"v"}}`)
			a := s.create(in(id) + `"input":"a"`).object()
			first := s.items(id).ids[0]
			s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"p"}]}`).list()
			row, err := s.store.Response(t.Context(), "default", a.ID)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.engine.Cancel(t.Context(), "default", row.Execution); err != nil {
				t.Fatal(err)
			}
			period, want := perdure.Period(time.Millisecond), "user: p\nuser: b"
			r := perdure.Retention{Executions: &period}
			if what == "log" {
				r, want = perdure.Retention{Logs: &period}, "user: a\nassistant: one\nuser: p\nuser: b"
			}
			if _, err := s.engine.SetRetention(t.Context(), "default", r); err != nil {
				t.Fatal(err)
			}
			if p, err := s.engine.Prune(t.Context(), "default", engine.PruneRequest{}); err != nil || p.Executions.Count+p.Logs.Count != 1 {
				t.Fatalf("pruned %+v, %v", p, err)
			}
			s.wantItems(id, "user: p")
			s.call("GET", "/v1/conversations/"+id+"/items/"+first, "").refused(404, "", "not_found")
			s.call("GET", "/v1/conversations/"+id+"/items?after="+first, "").refused(400, "after", "invalid_value")
			s.create(in(id) + `"input":"b"`).object()
			s.wantPrompt(want)
			if got := s.items(id).lines; strings.Join(got[:2], ", ") != "user: p, user: b" {
				t.Errorf("the items are %v", got)
			}
		})
	}
}

// A create that was stored and not answered gives, sent again under its key, the same
// response: its server may have been killed in between. So it does once the
// conversation is further, in another execution, or deleted.
func TestAConversationsCreateIsRepeated(t *testing.T) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		s := newStageOn(t, open(t, nil), says("one"), says("two"), says("three"))
		id := s.conversationOf(`{"items":[{"role":"user","content":"p"}]}`)
		var ids []string
		body := func(n int) string { return fmt.Sprintf(`{"model":"test/m","conversation":%q,"input":"i%d"}`, id, n) }
		again := func() {
			t.Helper()
			for n, first := range ids {
				if got := s.keyed(strconv.Itoa(n), body(n)).object(); got.ID != first {
					t.Errorf("create %d gave %s and gives %s", n, first, got.ID)
				}
			}
		}
		for n := range 3 {
			ids = append(ids, s.keyed(strconv.Itoa(n), body(n)).object().ID)
			again()
		}
		s.keyed("0", body(1)).refused(400, "", "idempotency_key_reused")
		row, err := s.store.Response(t.Context(), "default", ids[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.engine.Cancel(t.Context(), "default", row.Execution); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.keyed("3", body(3)).object().ID)
		again()
		if l := s.items(id); s.executions() != 2 || len(l.ids) != 9 {
			t.Errorf("%d executions, %v", s.executions(), l.lines)
		}
		s.call("DELETE", "/v1/conversations/"+id, "")
		again()
	})
}

// Two creates at once under one key are one.
func TestOneKeyAtOnceInAConversation(t *testing.T) {
	s := newStage(t, says("one"), says("two"))
	id := s.conversationOf(`{}`)
	s.create(in(id) + `"input":"a"`).object()
	ids := make([]string, 4)
	var wg sync.WaitGroup
	for n := range ids {
		wg.Go(func() {
			ids[n] = s.keyed("k", `{"model":"test/m","conversation":"`+id+`","input":"b"}`).object().ID
		})
	}
	wg.Wait()
	s.wantItems(id, "user: a", "assistant: one", "user: b", "assistant: two")
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("the responses are %v", ids)
	}
}

// A conversation that is deleted while it runs is gone everywhere; its response goes on.
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

// unknown checks that an org finds nothing of a conversation.
func (s *stage) unknown(org, id, item string) {
	s.t.Helper()
	at := "/v1/conversations/" + id
	for _, one := range [][3]string{
		{"GET", at}, {"DELETE", at}, {"POST", at, `{"metadata":{"k":"v"}}`}, {"GET", at + "/items"}, {"GET", at + "/items/" + item},
		{"POST", at + "/items", `{"items":[{"role":"user","content":"x"}]}`},
	} {
		s.callAs(org, one[0], one[1], one[2]).refused(404, "", "not_found")
	}
	s.callAs(org, "POST", "/v1/responses", `{"model":"test/m","conversation":"`+id+`","input":"x"}`).refused(404, "conversation", "not_found")
}

// An org finds no conversation of another, nor an item of it.
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

// What a client sends of a conversation is checked, and what is refused changes nothing.
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

// What may be pending is bounded, and the next response takes all of it.
func TestPendingItemsAreBounded(t *testing.T) {
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

// A response that its client did not want stored, or deleted, is not found by its id;
// its items are part of the conversation all the same.
func TestWhatIsNotStoredIsPartOfItsConversation(t *testing.T) {
	s := newStage(t, says("one"), says("two"))
	id := s.conversationOf(`{}`)
	a := s.create(in(id) + `"store":false,"input":"a"`).object()
	b := s.create(in(id) + `"input":"b"`).object()
	s.call("DELETE", "/v1/responses/"+b.ID, "")
	for _, o := range []object{a, b} {
		s.call("GET", "/v1/responses/"+o.ID, "").refused(404, "", "not_found")
	}
	l := s.wantItems(id, "user: a", "assistant: one", "user: b", "assistant: two")
	references := `"input":[{"type":"item_reference","id":"` + l.ids[1] + `"},{"role":"user","content":"x"},{"type":"item_reference","id":"` + l.ids[3] + `"}]`
	s.create(references).object()
	s.wantPrompt("assistant: one\nuser: x\nassistant: two")
	s.call("DELETE", "/v1/conversations/"+id, "")
	s.create(references).refused(400, "input[0].id", "item_not_found")
}

// A response of a conversation can be gone on from by its id: that is another run, and
// the conversation stays as it is.
func TestAResponseOfAConversationIsBranched(t *testing.T) {
	s := newStage(t, says("one"), says("two"), says("three"))
	id := s.conversationOf(`{}`)
	a := s.create(in(id) + `"input":"a"`).object()
	b := s.create(after(a.ID) + `"input":"b"`).object()
	s.wantPrompt("user: a\nassistant: one\nuser: b")
	s.create(after(b.ID) + `"input":"c"`).object()
	s.create(in(id) + `"input":"d"`).object()
	s.wantPrompt("user: a\nassistant: one\nuser: d")
	s.wantItems(id, "user: a", "assistant: one", "user: d", "assistant: two")
	if s.executions() != 2 || conversationOf(t, b) != "" {
		t.Errorf("%d executions, %s", s.executions(), b.raw)
	}
}

// counted counts the responses that are read from their logs.
type counted struct {
	store.Store
	mu    sync.Mutex // guards reads
	reads int
}

func (c *counted) Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.Store.Signal(ctx, execution, id)
}

func (c *counted) Unwrap() store.Store { return c.Store }

// A page reads the responses that it needs, not the conversation.
func TestAPageReadsWhatItNeeds(t *testing.T) {
	c := &counted{Store: opentest.Store(t)}
	s := newStageOn(t, c)
	id := s.conversationOf(`{}`)
	for n := range 30 {
		s.create(in(id) + `"input":"` + strconv.Itoa(n) + `"`).object()
	}
	l := s.items(id)
	for _, query := range []string{"limit=4", "limit=4&order=desc&after=" + l.ids[20], "limit=4&order=asc&after=" + l.ids[20]} {
		c.mu.Lock()
		c.reads = 0
		c.mu.Unlock()
		s.call("GET", "/v1/conversations/"+id+"/items?"+query, "").list()
		c.mu.Lock()
		if c.reads == 0 || c.reads > 4 {
			t.Errorf("%s: the inputs of %d responses were read", query, c.reads)
		}
		c.mu.Unlock()
	}
}
