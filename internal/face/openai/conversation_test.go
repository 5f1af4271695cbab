package openai_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// conversationOf creates a conversation and returns its id.
func (s *stage) conversationOf(body string) string {
	s.t.Helper()
	return s.call("POST", "/v1/conversations", body).conversation()
}

// conversation decodes a conversation object, checks it against OpenAI's published schema, and
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
	Object  string
	Data    []item
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
	typed   conversations.ConversationItemList
	lines   []string // one line of text per item
	ids     []string
	idOf    map[string]string // ids of the items, by their lines
	rawData []map[string]any
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

// line describes an item in one line of text.
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

// givenParts returns the parts of the messages that the model received in its most recent call.
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

// TestAConversationIsOneExecution checks that all create requests in a conversation run in one
// execution. Items that were added between two requests become input of the second request, and
// keep their ids.
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

// TestCreatesAtOnceInAConversation checks that a create request gets 409 while another response of
// the conversation runs. Each of several concurrent requests gets its own response if it is
// repeated after 409.
func TestCreatesAtOnceInAConversation(t *testing.T) {
	longtest.Skip(t, "seconds")
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

// TestAConversationOutlivesItsExecution checks that after a response of a conversation was
// cancelled, the conversation continues in a new execution, which begins with the earlier
// conversation.
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

// TestAConversationOfDeletedExecutions checks that the items of a conversation are no longer listed
// after the conversation's execution was deleted, or the log of this execution was pruned. If only
// the log was pruned, the model still receives the earlier conversation.
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
			s.pruneEnded()
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

// TestAConversationsCreateIsRepeated checks that a create request that is repeated with its
// idempotency key returns the same response, also after further requests, after the end of the
// execution, and after the deletion of the conversation.
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
		s.keyed("\xff", body(4)).refused(400, "Idempotency-Key", "invalid_argument")
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

// TestOneKeyAtOnceInAConversation checks that four concurrent create requests with the same
// idempotency key become one response.
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

// TestAResponseOfAConversationIsBranched checks a create request that names a response of a
// conversation but not the conversation. It runs in a new execution, which is not part of the
// conversation.
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
