package response_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

var host = response.Identity{Execution: [16]byte{1}, Response: "resp_host"}

// said returns an update with an assistant's text.
func said(responseID, messageID, text string, change ...func(*response.Update)) response.Update {
	u := response.Update{
		ResponseID: responseID, MessageID: messageID, Role: perdure.RoleAssistant,
		Contents: []response.Content{response.Text(text)},
	}
	for _, c := range change {
		c(&u)
	}
	return u
}

func at(seconds int64) func(*response.Update) {
	return func(u *response.Update) { u.CreatedAt = perdure.At(time.Unix(seconds, 0)) }
}

func by(agent string) func(*response.Update) {
	return func(u *response.Update) { u.AgentID = agent }
}

func run(agent, invocation string) func(*response.Update) {
	return func(u *response.Update) { u.AgentID, u.InvocationID = agent, invocation }
}

func with(contents ...response.Content) func(*response.Update) {
	return func(u *response.Update) { u.Contents = contents }
}

func as(role perdure.Role, author string) func(*response.Update) {
	return func(u *response.Update) { u.Role, u.Author = role, author }
}

func result(responseID, messageID, callID, text string) response.Update {
	return response.Update{
		ResponseID: responseID, MessageID: messageID, Role: perdure.RoleToolResult,
		Contents: []response.Content{response.Result(callID, text)},
	}
}

// lines returns one line for each message, with its contents.
func lines(r response.Response) []string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, line(m))
	}
	return all
}

func line(m response.Message) string {
	var parts []string
	for _, c := range m.Contents {
		switch p := c.Part; p.Type {
		case perdure.PartText:
			parts = append(parts, p.Text)
		case perdure.PartThinking:
			parts = append(parts, "("+p.Thinking+"|"+p.ThinkingSignature+")")
		case perdure.PartToolCall:
			parts = append(parts, p.ID+"="+p.Name+p.RawArguments)
		case perdure.PartToolResult:
			parts = append(parts, p.ToolCallID+":"+p.Parts[0].Text)
		default:
			parts = append(parts, string(p.Type))
		}
	}
	return strings.Join(parts, " ")
}

func wantLines(t *testing.T, r response.Response, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(r)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func merge(updates ...response.Update) response.Response { return response.Merge(host, updates) }

func TestMergeMessages_MixedTimestamps_ProducesStableOrder(t *testing.T) {
	wantLines(t, merge(said("r", "a", "A", at(10)), said("r", "b", "B"), said("r", "c", "C", at(5))), "A", "B", "C")
}

func TestMergeMessages_FunctionCallAndResultsWithMixedTimestamps_PreservesLogicalOrder(t *testing.T) {
	r := merge(
		said("r", "call", "", with(response.Call("c1", "f", "{}"))),
		func() response.Update { u := result("r", "result", "c1", "done"); at(1)(&u); return u }(),
		said("r", "answer", "so"),
	)
	wantLines(t, r, "c1=f{}", "c1:done", "so")
}

func TestMergeMessages_InterleavedResponseIds_GroupsByResponseId(t *testing.T) {
	r := merge(said("R1", "a", "1a"), said("R2", "b", "2b"), said("R1", "c", "1c"), said("R2", "d", "2d"))
	wantLines(t, r, "1a", "1c", "2b", "2d")
	if r.ID != host.Response || !slices.Equal(r.ProviderResponseIDs, []string{"R1", "R2"}) {
		t.Errorf("the response is %q of %q", r.ID, r.ProviderResponseIDs)
	}
}

func TestMergeMessages_DanglingUpdatesWithMetadata_MetadataPropagates(t *testing.T) {
	cost := 0.5
	r := merge(
		said("r", "a", "A", func(u *response.Update) { u.FinishReason = perdure.StopToolUse }),
		response.Update{
			AgentID: "agent", FinishReason: perdure.StopEndTurn,
			Usage: &perdure.Usage{Input: 10, Output: 20, TotalTokens: 30, Cost: &cost, Calls: 1},
		},
	)
	want := response.Response{
		ID: host.Response, ProviderResponseIDs: []string{"r"}, AgentID: "agent", FinishReason: perdure.StopEndTurn,
		Usage:    &perdure.Usage{Input: 10, Output: 20, TotalTokens: 30, Cost: &cost, Calls: 1},
		Messages: []response.Message{{ID: "a", Role: perdure.RoleAssistant, Contents: []response.Content{response.Text("A")}}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestMergeMessages_DanglingUpdatesFirst_AppearsAfterKeyedMessages(t *testing.T) {
	r := merge(said("", "", "first"), said("r", "a", "A"), said("", "x", "second"), said("r", "", "B"), said("", "", "third"))
	wantLines(t, r, "A", "B", "first", "second", "third")
}

func TestMergeMessages_MixedMessageIds_KeyedBeforeUnkeyed(t *testing.T) {
	r := merge(
		said("r", "", "u1 "), said("r", "a", "A"), said("r", "", "u2"), said("r", "b", "B"),
		said("r", "", "u3", as(perdure.RoleAssistant, "another")), said("r", "a", "a"),
	)
	wantLines(t, r, "Aa", "B", "u1 u2", "u3")
}

func TestMessageMerger_PreservesInsertionOrder_WhenNoTimestamps(t *testing.T) {
	wantLines(t, merge(said("r", "c", "A"), said("r", "a", "B"), said("r", "b", "C")), "A", "B", "C")
}

func TestMessageMerger_PreservesInsertionOrder_WhenMixedTimestamps(t *testing.T) {
	r := merge(said("r", "a", "A"), said("r", "b", "B", at(3)), said("r", "c", "C"), said("r", "d", "D", at(1)), said("r", "e", "E"))
	wantLines(t, r, "A", "B", "C", "D", "E")
}

func TestMessageMerger_StableSort_WithThreeOrMoreMixedTimestampMessages(t *testing.T) {
	var updates []response.Update
	for i, seconds := range []int64{10, 0, 5, 0, 20, 1, 0} {
		updates = append(updates, said("r", string(rune('a'+i)), string(rune('A'+i)), at(seconds)))
	}
	first := merge(updates...)
	wantLines(t, first, "A", "B", "C", "D", "E", "F", "G")
	for range 100 {
		if diff := cmp.Diff(first, merge(updates...)); diff != "" {
			t.Fatalf("another run differs:\n%s", diff)
		}
	}
}

func TestMessageMerger_GroupsMessagesByAgent_InMultiAgentScenario(t *testing.T) {
	r := merge(said("r", "1", "A1", by("a")), said("r", "2", "B1", by("b")), said("r", "3", "A2", by("a")), said("r", "4", "B2", by("b")))
	wantLines(t, r, "A1", "A2", "B1", "B2")
}

func TestMessageMerger_MaintainsAgentGrouping_WithDifferentResponseIds(t *testing.T) {
	r := merge(said("R1", "1", "A1", by("a")), said("R2", "2", "B1", by("b")), said("R1", "3", "A2", by("a")), said("R2", "4", "B2", by("b")))
	wantLines(t, r, "A1", "A2", "B1", "B2")
	if r.ID != host.Response {
		t.Errorf("the response is %q", r.ID)
	}
}

func TestMessageMerger_PreservesAgentMessageOrder_WithConcurrentAgents(t *testing.T) {
	r := merge(
		said("r", "1", "A1", by("a"), at(1)), said("r", "2", "B1", by("b"), at(2)),
		said("r", "3", "A2", by("a"), at(3)), said("r", "4", "B2", by("b"), at(4)),
	)
	wantLines(t, r, "A1", "A2", "B1", "B2")
	for i, seconds := range []int64{1, 3, 2, 4} {
		if got := r.Messages[i].CreatedAt.Unix(); got != seconds {
			t.Errorf("message %d was created at %d, want %d", i, got, seconds)
		}
	}
}

func TestMergeKeepsResponsesTogether(t *testing.T) {
	r := merge(said("R1", "1", "1a", by("a")), said("R2", "2", "2b", by("b")), said("R1", "3", "1c", by("c")))
	wantLines(t, r, "1a", "1c", "2b")
}

func TestMergeKeepsInvocationsApart(t *testing.T) {
	r := merge(said("r", "1", "A1", run("a", "x")), said("r", "2", "B", run("b", "y")), said("r", "3", "A2", run("a", "z")), said("r", "1", "B1", run("b", "y")))
	wantLines(t, r, "A1", "B", "B1", "A2")
	if r.Messages[2].ID == "1" {
		t.Error("two messages have the id 1")
	}
}

func TestMergePutsResultsAfterTheirCalls(t *testing.T) {
	calls := said("r", "m", "", with(response.Text("look "), response.Call("c1", "f", "{}"), response.Call("c2", "f", "{}")))
	for name, c := range map[string]struct {
		updates []response.Update
		want    []string
	}{
		"in order": {
			[]response.Update{calls, result("r", "t1", "c1", "1"), result("r", "t2", "c2", "2"), said("r", "n", "so")},
			[]string{"look  c1=f{} c2=f{}", "c1:1", "c2:2", "so"},
		},
		"after the answer": {
			[]response.Update{calls, said("r", "n", "so"), result("r", "t2", "c2", "2"), result("r", "t1", "c1", "1")},
			[]string{"look  c1=f{} c2=f{}", "c2:2", "c1:1", "so"},
		},
		"before the call, from another agent and response": {
			[]response.Update{result("", "t", "c1", "1"), said("q", "n", "so"), calls},
			[]string{"so", "look  c1=f{} c2=f{}", "c1:1"},
		},
		"of no call": {
			[]response.Update{said("r", "n", "so"), result("r", "t", "c9", "?"), said("r", "o", "then")},
			[]string{"so", "c9:?", "then"},
		},
		"one call id of two agents": {
			[]response.Update{
				said("r", "m", "", by("a"), with(response.Call("c", "f", "{}"))), said("r", "n", "", by("b"), with(response.Call("c", "g", "{}"))),
				said("r", "t", "", by("b"), as(perdure.RoleToolResult, ""), with(response.Result("c", "1"))),
			},
			[]string{"c=f{}", "c=g{}", "c:1"},
		},
		"one call id of two agents, the results first": {
			[]response.Update{
				said("r", "t", "", by("b"), as(perdure.RoleToolResult, ""), with(response.Result("c", "1"))),
				said("r", "m", "", by("a"), with(response.Call("c", "f", "{}"))), said("r", "n", "", by("b"), with(response.Call("c", "g", "{}"))),
			},
			[]string{"c=g{}", "c:1", "c=f{}"},
		},
		"one call id of two rounds, the results first": {
			[]response.Update{
				result("r", "t", "c", "1"), result("r", "t", "c", "2"),
				said("r", "m", "", with(response.Call("c", "f", "{}"))), said("r", "n", "", with(response.Call("c", "g", "{}"))),
			},
			[]string{"c=f{}", "c:1", "c=g{}", "c:2"},
		},
		"call ids of two rounds": {
			[]response.Update{
				said("r", "m", "", with(response.Call("c", "f", `{"n":1}`))), result("r", "m", "c", "1"),
				said("r", "m", "", with(response.Call("c", "f", `{"n":2}`))), result("r", "m", "c", "2"), said("r", "m", "so"),
			},
			[]string{`c=f{"n":1}`, "c:1", `c=f{"n":2}`, "c:2", "so"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := merge(c.updates...)
			wantLines(t, r, c.want...)
			unique(t, r)
		})
	}
}

func unique(t *testing.T, r response.Response) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range r.Messages {
		if m.ID == "" || response.IsPlaceholder(m.ID) || seen[m.ID] {
			t.Errorf("the message id %q is no id of its own", m.ID)
		}
		seen[m.ID] = true
	}
}

func TestMergeStartsMessagesAnew(t *testing.T) {
	const fake = "__fake_id__"
	for name, c := range map[string]struct {
		updates []response.Update
		want    []string
	}{
		"an id after a result": {
			[]response.Update{said("r", "m", "a"), result("r", "m", "c", "1"), said("r", "m", "b")},
			[]string{"a", "c:1", "b"},
		},
		"an id after a result of no call": {
			[]response.Update{said("r", "m", "a"), result("r", "t", "c", "1"), said("r", "m", "b")},
			[]string{"a", "c:1", "b"},
		},
		"a call that is answered has no more fragments": {
			[]response.Update{
				said("r", "m", "", with(response.Call("c", "f", `{"a`))), result("r", "t", "c", "1"),
				said("r", "m", "", with(response.Call("c", "f", `{}`))),
			},
			[]string{`c=f{"a`, "c:1", "c=f{}"},
		},
		"a fragment without an id after a result": {
			[]response.Update{
				said("r", "m", "", with(response.Call("", "f", `{`))), result("r", "t", "c", "1"),
				said("r", "m", "", with(response.Call("", "", `}`))),
			},
			[]string{`=f{`, "c:1", "=}"},
		},
		"one call id in two messages": {
			[]response.Update{said("r", "m", "", with(response.Call("c", "f", `{`))), said("r", "n", "", with(response.Call("c", "f", `{}`)))},
			[]string{`c=f{`, "c=f{}"},
		},
		"runs of a placeholder": {
			[]response.Update{said("r", fake, "a"), said("r", fake, "b"), said("r", "m", "x"), said("r", fake, "c")},
			[]string{"ab", "x", "c"},
		},
		"a change of role": {
			[]response.Update{said("r", "m", "a"), said("r", "m", "b", as(perdure.RoleUser, "")), said("r", "m", "c", as("", ""))},
			[]string{"a", "bc"},
		},
		"a change of author": {
			[]response.Update{said("r", "m", "a"), said("r", "m", "b", as("", "x")), said("r", "m", "c", as("", "y")), said("r", "m", "d")},
			[]string{"ab", "cd"},
		},
		"one id, without a change": {
			[]response.Update{said("r", "m", "a"), said("r", "n", "x"), said("r", "m", "b")},
			[]string{"ab", "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := merge(c.updates...)
			wantLines(t, r, c.want...)
			unique(t, r)
		})
	}
}

func TestMergeJoinsContents(t *testing.T) {
	zero, one := 0, 1
	note := response.Text("noted")
	note.Annotations = []json.RawMessage{json.RawMessage(`{"url":"u"}`)}
	fragment := func(index *int, id, name, arguments string) response.Content {
		c := response.Call(id, name, arguments)
		c.Index = index
		return c
	}
	for name, c := range map[string]struct {
		contents []response.Content
		want     string
	}{
		"text":                 {[]response.Content{response.Text("a "), response.Text(""), response.Text("\n b")}, "a \n b"},
		"annotated text":       {[]response.Content{response.Text("a"), note, response.Text("b"), response.Text("c")}, "a noted bc"},
		"reasoning":            {[]response.Content{response.Thinking("a", ""), response.Thinking("b", ""), response.Thinking("", "sig"), response.Thinking("c", "")}, "(ab|sig) (c|)"},
		"protected reasoning":  {[]response.Content{response.Thinking("a", ""), {Part: perdure.Part{Type: perdure.PartThinking, Redacted: true}}, response.Thinking("b", "")}, "(a|) (|) (b|)"},
		"calls without ids":    {[]response.Content{response.Call("", "f", "{"), response.Call("", "", "}"), response.Call("", "f", "{"), response.Call("", "g", "{}")}, "=f{} =f{ =g{}"},
		"a call by id":         {[]response.Content{response.Call("c", "f", `{"a`), response.Call("d", "g", `{}`), response.Call("c", "f", `":1}`)}, `c=f{"a":1} d=g{}`},
		"a call by index":      {[]response.Content{fragment(&zero, "c", "f", ""), fragment(&one, "d", "g", `{`), fragment(&zero, "", "", `{}`), fragment(&one, "", "", `}`)}, `c=f{} d=g{}`},
		"always index 0":       {[]response.Content{fragment(&zero, "c", "f", `{"a":1}`), fragment(&zero, "d", "f", `{"b"`), fragment(&zero, "", "", `:2}`)}, `c=f{"a":1} d=f{"b":2}`},
		"an id in every chunk": {[]response.Content{fragment(&zero, "c", "f", `{"a`), fragment(&zero, "c", "f", `":"}`), fragment(&zero, "c", "f", `"}`), fragment(&zero, "c", "f", ``)}, `c=f{"a":"}"}`},
		"the id late":          {[]response.Content{fragment(&zero, "", "f", `{`), fragment(&zero, "c", "", `}`)}, `c=f{}`},
		"delivered twice":      {[]response.Content{response.Call("c", "f", `{"a":1}`), response.Call("c", "f", `{"a":1}`)}, `c=f{"a":1}`},
		"one id, two calls":    {[]response.Content{response.Call("c", "f", `{"a":1}`), response.Call("c", "f", `{"a":2}`)}, `c=f{"a":1} c=f{"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			whole := merge(said("r", "m", "", with(c.contents...)))
			wantLines(t, whole, c.want)
			var updates []response.Update
			for _, content := range c.contents {
				updates = append(updates, said("r", "m", "", with(content)))
			}
			if diff := cmp.Diff(whole, merge(updates...)); diff != "" {
				t.Errorf("one by one it differs:\n%s", diff)
			}
		})
	}
}

func TestMergeDropsMessagesOfWhitespace(t *testing.T) {
	r := merge(said("r", "a", " \n\t "), said("r", "b", "  x\n"), response.Update{ResponseID: "r", MessageID: "c"}, said("r", "d", "", with(response.Thinking(" ", "sig"))))
	wantLines(t, r, "  x\n", "( |sig)")
}

// TestMergeKeepsSignedWhitespace checks that a text with a signature is kept as a separate part,
// and its message is kept, even if the text is empty. This is also so after a Host has stamped the
// updates.
func TestMergeKeepsSignedWhitespace(t *testing.T) {
	signed := func(text, signature string) response.Content {
		return response.Content{Part: perdure.Part{Type: perdure.PartText, Text: text, TextSignature: signature}}
	}
	updates := []response.Update{
		said("r", "a", "", with(signed("", "s1"))),
		said("r", "b", "", with(response.Text(" \n"), signed(" ", "s2"), response.Text("\t"), response.Text(" "))),
		said("r", "c", " \n"),
	}
	want := [][]perdure.Part{
		{signed("", "s1").Part},
		{perdure.Text(" \n"), signed(" ", "s2").Part, perdure.Text("\t ")},
	}
	of := response.Identity{Response: "r"}
	host := response.NewHost(of)
	var stamped []response.Update
	for _, u := range updates {
		stamped = append(stamped, host.Stamp(u)...)
	}
	for how, all := range map[string][]response.Update{"as they came": updates, "stamped": stamped} {
		var got [][]perdure.Part
		for _, m := range response.Merge(of, all).Messages {
			got = append(got, m.Parts())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
}

func TestMergeCreatedAtIsTheFirstValidOne(t *testing.T) {
	r := merge(said("r", "a", "A"), said("r", "b", "B", at(0)), said("r", "b", "b", at(-5)), said("r", "b", "b", at(7)), said("r", "b", "b", at(3)), said("r", "a", "a", at(9)))
	if a, b := r.Messages[0].CreatedAt.Unix(), r.Messages[1].CreatedAt.Unix(); a != 9 || b != 7 || r.CreatedAt.Unix() != 7 {
		t.Errorf("created at %d, %d, and the response at %d; want 9, 7, 7", a, b, r.CreatedAt.Unix())
	}
}

func TestMergeLiftsUsageAndSumsIt(t *testing.T) {
	usage := func(n int64) *perdure.Usage { return &perdure.Usage{Input: n, Calls: 1} }
	r := merge(
		said("r", "a", "", with(response.Text("A"), response.Content{Usage: usage(1)}, response.Text("a"))),
		response.Update{ResponseID: "r", Usage: usage(10), FinishReason: perdure.StopMaxTokens},
		response.Update{Contents: []response.Content{{Usage: usage(100)}}},
		response.Update{ResponseID: "r", FinishReason: perdure.StopEndTurn},
		response.Update{ResponseID: "r"},
	)
	wantLines(t, r, "Aa")
	if diff := cmp.Diff(&perdure.Usage{Input: 111, Calls: 3}, r.Usage); diff != "" || r.FinishReason != perdure.StopEndTurn {
		t.Errorf("finish reason %q, usage (-want +got):\n%s", r.FinishReason, diff)
	}
	if none := merge(said("r", "a", "A")); none.Usage != nil {
		t.Errorf("a usage that nobody gave is %v", none.Usage)
	}
}

func TestMergePutsPropertiesWhereTheyBelong(t *testing.T) {
	one := func(key, value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{key: json.RawMessage(value)}
	}
	r := merge(
		said("r", "a", "A", func(u *response.Update) { u.Properties = one("k", "1") }),
		response.Update{ResponseID: "r", MessageID: "a", Properties: one("l", "2")},
		response.Update{ResponseID: "r", Properties: one("m", "3")},
		said("r", "", "B", func(u *response.Update) { u.Properties = one("n", "4") }),
	)
	got := []map[string]json.RawMessage{r.Messages[0].Properties, r.Messages[1].Properties, r.Properties}
	want := []map[string]json.RawMessage{
		{"k": json.RawMessage("1"), "l": json.RawMessage("2")}, nil, {"m": json.RawMessage("3"), "n": json.RawMessage("4")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// TestMergePutsPropertiesOnTheirMessage checks that an update with properties of a closed message
// changes that message. If an update has contents of several messages, its properties belong to the
// first of these messages.
func TestMergePutsPropertiesOnTheirMessage(t *testing.T) {
	one := map[string]json.RawMessage{"k": json.RawMessage("1")}
	r := merge(
		said("r", "m", "", with(response.Text("a"), response.Result("c", "1")), func(u *response.Update) { u.Properties = one }),
		response.Update{ResponseID: "r", MessageID: "m", Properties: map[string]json.RawMessage{"l": json.RawMessage("2")}},
	)
	want := []map[string]json.RawMessage{one, {"l": json.RawMessage("2")}}
	if diff := cmp.Diff(want, []map[string]json.RawMessage{r.Messages[0].Properties, r.Messages[1].Properties}); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// TestMergerSharesNothing checks that a Merger shares no data with the updates, nor with the
// responses that it has returned.
func TestMergerSharesNothing(t *testing.T) {
	make := func() response.Update {
		c := response.Text("noted")
		c.Annotations = []json.RawMessage{json.RawMessage("1")}
		return said("r", "m", "", with(c), func(u *response.Update) {
			u.Properties = map[string]json.RawMessage{"k": json.RawMessage("1")}
		})
	}
	m, u := response.NewMerger(host), make()
	m.Add(u)
	spoil := func(contents []response.Content, properties map[string]json.RawMessage) {
		contents[0].Annotations[0], properties["k"] = nil, nil
	}
	spoil(u.Contents, u.Properties)
	first := m.Response()
	spoil(first.Messages[0].Contents, first.Messages[0].Properties)
	if diff := cmp.Diff(merge(make()), m.Response()); diff != "" {
		t.Errorf("the response (-want +got):\n%s", diff)
	}
}
