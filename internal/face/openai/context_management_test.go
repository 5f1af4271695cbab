package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const from1000 = `"context_management":[{"type":"compaction","compact_threshold":1000}],`

// TestTheOutputHasACompaction checks the parameter context_management. A conversation over the
// threshold is compacted completely, and the output contains the compaction. The next create
// request can name the response, send all items, or send only the items from the compaction on.
func TestTheOutputHasACompaction(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	s := newStage(t, summarises("S.", says(long)), summarises("S.", says("two")), summarises("S.", says("three")))
	s.create(from1000 + `"input":"` + long + `"`).object()
	if s.summaries() != 0 {
		t.Fatal("a message alone was compacted")
	}
	first := s.create(from1000 + `"input":"a"`).object()
	if len(first.Output) != 1 {
		t.Fatalf("under the threshold: %s", first.raw)
	}
	events := s.all("POST", "/v1/responses", `{"model":"test/m","stream":true,`+from1000+after(first.ID)+`"input":"`+long+`"}`)
	o := responseOf(t, events[len(events)-1])
	if len(o.Output) != 2 || o.Output[0].Type != "compaction" || o.Usage.In != 24 || s.summaries() != 1 {
		t.Fatalf("%d summaries; got %s", s.summaries(), o.raw)
	}
	s.wantPrompt("user: a\nuser: " + long + "\nuser: [summary]S.")
	if diff := cmp.Diff(events, s.all("GET", "/v1/responses/"+o.ID+"?stream=true", "")); diff != "" {
		t.Errorf("the stream is another when it is read again:\n%s", diff)
	}
	output := outputOf(t, o)
	item, last := string(output[0]), string(output[1])

	n := s.executions()
	s.create(from1000 + after(o.ID) + `"input":"b"`).object()
	s.wantPrompt("user: a\nuser: " + long + "\nuser: [summary]S.\nassistant: " + o.text() + "\nuser: b")
	if s.executions() != n {
		t.Errorf("the chain continued in another execution")
	}
	s.create(`"input":[` + item + `,` + last + `,{"role":"user","content":"c"}]`).object()
	s.wantPrompt("user: [summary]S.\nassistant: " + o.text() + "\nuser: c")
	var named struct{ ID string }
	if err := json.Unmarshal(output[0], &named); err != nil {
		t.Fatal(err)
	}
	s.create(`"input":[{"type":"item_reference","id":"` + named.ID + `"},{"role":"user","content":"d"}]`).object()
	s.wantPrompt("user: [summary]S.\nuser: d")
}

// TestAHistoryWithACompactionOfTheOutput checks that a client that sends all items, with the
// compaction among them, continues its run.
func TestAHistoryWithACompactionOfTheOutput(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	s := newStage(t, summarises("S.", says(long)), summarises("S.", says("two")))
	first := s.create(from1000 + `"store":false,"input":"a"`).object()
	history := `{"role":"user","content":"a"},` + string(outputOf(t, first)[0]) + `,{"role":"user","content":"` + long + `"}`
	second := s.create(from1000 + `"store":false,"input":[` + history + `]`).object()
	for _, i := range outputOf(t, second) {
		history += `,` + string(i)
	}
	s.create(from1000 + `"store":false,"input":[` + history + `,{"role":"user","content":"b"}]`).object()
	s.wantPrompt("user: a\nuser: " + long + "\nuser: [summary]S.\nassistant: " + second.text() + "\nuser: b")
	if s.executions() != 1 || s.summaries() != 1 {
		t.Errorf("%d executions, %d summaries", s.executions(), s.summaries())
	}
}

// TestAConversationListsACompactionOfAnOutput checks that a conversation lists a compaction in the
// output of one of its responses.
func TestAConversationListsACompactionOfAnOutput(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	s := newStage(t, summarises("S.", says(long)), summarises("S.", says("two")))
	id := s.conversationOf(`{}`)
	s.create(in(id) + from1000 + `"input":"a"`).object()
	o := s.create(in(id) + from1000 + `"input":"` + long + `"`).object()
	var list struct{ Data []json.RawMessage }
	if err := json.Unmarshal(s.call("GET", "/v1/conversations/"+id+"/items?order=asc", "").body, &list); err != nil || len(list.Data) != 5 {
		t.Fatalf("%d items, %v", len(list.Data), err)
	}
	if diff := cmp.Diff(string(outputOf(t, o)[0]), string(list.Data[3])); diff != "" {
		t.Error(diff)
	}
}
