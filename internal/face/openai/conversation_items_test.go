package openai_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestItemsOfAConversation checks that the items of a conversation are listed in pages of any size,
// in both orders. Each item can be retrieved by its id, and referred to in a create request and in
// another conversation.
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

// TestCallsOfToolsThatRanHereAreAdded checks that items of calls of tools that workers have run can
// be added to a conversation in every form in which clients send them back. The items stay the same
// when a response takes them as input.
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

// TestCallsInAConversation checks both ways to send the results of a client's calls: in the next
// create request, or added to the conversation before that request. A second result of the same
// call, and a result without a call, are refused.
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

// TestAnAnswerThatCameTooLateIsLeftOut checks a tool result that a client adds to a conversation,
// and that is not used yet when a user message withdraws its tool call. The next create request
// leaves the result out and succeeds.
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

// TestWhatIsNotStoredIsPartOfItsConversation checks a response that was created in a conversation
// with "store": false, or was deleted. The response is not found by its id. But its items stay in
// the conversation, and requests can refer to them until the conversation is deleted.
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

// counted is a store that counts the reads of signals, which contain the inputs of responses.
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

// TestAPageReadsWhatItNeeds checks that a page of four items of a conversation with 30 responses
// reads the inputs of at most four responses.
func TestAPageReadsWhatItNeeds(t *testing.T) {
	longtest.Skip(t, "seconds")
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
