package response_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// anyUpdate draws an update with arbitrary members. It draws ids from a small set, so that several
// updates often have the same id.
func anyUpdate(t *rapid.T) response.Update {
	ids := func(label string, all ...string) string { return rapid.SampledFrom(all).Draw(t, label) }
	u := response.Update{
		ResponseID: ids("response", "", "R1", "R2", fake), MessageID: ids("message", "", "m", "n", fake),
		AgentID: ids("agent", "", "a", "b"), InvocationID: ids("invocation", "", "1", "2"), Author: ids("author", "", "x", "y"),
		Role:         perdure.Role(ids("role", "", "user", "assistant", "tool_result")),
		FinishReason: perdure.StopReason(ids("finish", "", "end_turn", "tool_use")),
	}
	at(rapid.SampledFrom([]int64{-1, 0, 1, 2}).Draw(t, "created"))(&u)
	if rapid.Bool().Draw(t, "properties") {
		u.Properties = map[string]json.RawMessage{ids("key", "k", "l"): json.RawMessage(ids("value", "1", "2"))}
	}
	if rapid.Bool().Draw(t, "usage") {
		u.Usage = &perdure.Usage{Input: 1}
	}
	u.Contents = rapid.SliceOfN(rapid.Custom(anyContent), 0, 3).Draw(t, "contents")
	return u
}

func anyContent(t *rapid.T) response.Content {
	text := rapid.SampledFrom([]string{"", " ", "\n", "a", "é", "b c"}).Draw(t, "text")
	id := rapid.SampledFrom([]string{"", "c", "d"}).Draw(t, "call")
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return response.Thinking(text, rapid.SampledFrom([]string{"", "sig"}).Draw(t, "signature"))
	case 1, 2:
		c := response.Call(id, rapid.SampledFrom([]string{"", "f", "g"}).Draw(t, "name"), rapid.SampledFrom([]string{"", "{", `"a"`, "}", "{}"}).Draw(t, "arguments"))
		if n := rapid.IntRange(-1, 1).Draw(t, "index"); n >= 0 {
			c.Index = &n
		}
		return c
	case 3:
		return response.Result(id, text)
	case 4:
		return response.Content{Usage: &perdure.Usage{Output: 1}}
	case 5:
		c := response.Text(text)
		c.Annotations = []json.RawMessage{json.RawMessage(`1`)}
		return c
	}
	return response.Text(text)
}

func anyUpdates(t *rapid.T) []response.Update {
	return rapid.SliceOfN(rapid.Custom(anyUpdate), 0, 12).Draw(t, "updates")
}

// deepCopy returns a copy of the updates that shares no data with them.
func deepCopy(t *rapid.T, all []response.Update) []response.Update {
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var out []response.Update
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMergeDoesNotDependOnCuts checks that the merged response is the same however its texts are
// cut into updates.
func TestMergeDoesNotDependOnCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, pieces []response.Update
		for _, u := range anyUpdates(t) {
			whole = append(whole, u)
			if len(u.Contents) != 1 || u.Contents[0].Part.Type != perdure.PartText || len(u.Contents[0].Annotations) > 0 {
				pieces = append(pieces, u)
				continue
			}
			text := u.Contents[0].Part.Text
			for i, piece := range cuts(t, text) {
				part := u
				part.Contents = []response.Content{response.Text(piece)}
				if i > 0 {
					part.Usage = nil
				}
				pieces = append(pieces, part)
			}
		}
		if diff := cmp.Diff(response.Merge(host, whole), response.Merge(host, pieces)); diff != "" {
			t.Fatalf("cut it differs (-whole +cut):\n%s", diff)
		}
	})
}

// cuts cuts a text into one to four pieces.
func cuts(t *rapid.T, text string) []string {
	var pieces []string
	for range rapid.IntRange(0, 3).Draw(t, "cuts") {
		n := rapid.IntRange(0, len(text)).Draw(t, "at")
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return append(pieces, text)
}

func TestMergeIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		updates := anyUpdates(t)
		before := deepCopy(t, updates)
		first := response.Merge(host, updates)
		for range 100 {
			if again := response.Merge(host, updates); !reflect.DeepEqual(first, again) {
				t.Fatalf("another run differs:\n%s", cmp.Diff(first, again))
			}
		}
		if diff := cmp.Diff(before, deepCopy(t, updates)); diff != "" {
			t.Fatalf("the updates changed:\n%s", diff)
		}
		for _, m := range first.Messages { // the result shares no data with the updates
			for k := range m.Properties {
				m.Properties[k] = nil
			}
			for _, c := range m.Contents {
				clear(c.Annotations)
			}
		}
		if diff := cmp.Diff(before, deepCopy(t, updates)); diff != "" {
			t.Fatalf("the updates changed with the response:\n%s", diff)
		}
	})
}

// TestMergedMessagesAreInOrder checks that in a merged response, ids are unique and not
// placeholders, and every result follows its call. Merging the response a second time does not
// change it.
func TestMergedMessagesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := response.Merge(host, anyUpdates(t))
		seen, called := map[string]bool{}, map[string]int{}
		for i, m := range r.Messages {
			if m.ID == "" || m.ID == fake || seen[m.ID] || m.ProviderResponseID == fake {
				t.Fatalf("message %d has the id %q of the provider's response %q", i, m.ID, m.ProviderResponseID)
			}
			seen[m.ID] = true
			for _, c := range m.Contents {
				if _, before := called[c.Part.ID]; c.Part.Type == perdure.PartToolCall && !before {
					called[c.Part.ID] = i
				}
			}
		}
		for i, m := range r.Messages {
			id := m.Contents[0].Part.ToolCallID
			if at, ok := called[id]; id != "" && ok && at > i {
				t.Fatalf("the result %d of %q stands before its call %d", i, id, at)
			}
		}
		if slices.Contains(r.ProviderResponseIDs, fake) {
			t.Fatal("a placeholder names the provider's response")
		}
	})
}

// conversation draws the output of an agent in a response, message by message.
func conversation(t *rapid.T, agent string) []response.Update {
	var all []response.Update
	for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
		id := fmt.Sprint(agent, round)
		text := rapid.StringMatching(`[a-zé ]{0,8}[a-z]`).Draw(t, "text")
		contents := []response.Content{response.Thinking(text, "sig"), response.Text(text)}
		var results []response.Update
		for n := range rapid.IntRange(0, 3).Draw(t, "calls") {
			call := fmt.Sprint("call-", id, "-", n)
			contents = append(contents, response.Call(call, "f", fmt.Sprintf(`{"text":%q}`, text)))
			u := result("p-"+agent, "result-"+call, call, text)
			u.AgentID = agent
			results = append(results, u)
		}
		all = append(all, said("p-"+agent, id, "", by(agent), with(contents...)))
		all = append(all, results...)
	}
	return all
}

// streamed cuts messages into pieces, as a provider streams them.
func streamed(t *rapid.T, messages []response.Update) []response.Update {
	var all []response.Update
	for _, m := range messages {
		for _, c := range m.Contents {
			if c.Part.Type == perdure.PartToolResult {
				all = append(all, m) // results arrive whole
				continue
			}
			for i, piece := range cuts(t, textOf(c)) {
				u := m
				part := c
				switch c.Part.Type {
				case perdure.PartText:
					part.Part.Text = piece
				case perdure.PartThinking:
					part.Part.Thinking, part.Part.ThinkingSignature = piece, ""
				case perdure.PartToolCall:
					part.Part.RawArguments = piece
					if i > 0 && rapid.Bool().Draw(t, "the id in every chunk") {
						part.Part.Name = ""
					}
				}
				u.Contents = []response.Content{part}
				all = append(all, u)
			}
			if c.Part.Type == perdure.PartThinking {
				all = append(all, said(m.ResponseID, m.MessageID, "", by(m.AgentID), with(response.Thinking("", c.Part.ThinkingSignature))))
			}
		}
	}
	return all
}

func textOf(c response.Content) string {
	switch c.Part.Type {
	case perdure.PartText:
		return c.Part.Text
	case perdure.PartThinking:
		return c.Part.Thinking
	case perdure.PartToolCall:
		return c.Part.RawArguments
	}
	return ""
}

// interleave returns the updates of the streams in a random order in which each stream keeps its
// own order.
func interleave(t *rapid.T, streams ...[]response.Update) []response.Update {
	var all []response.Update
	for {
		var left []int
		for i, s := range streams {
			if len(s) > 0 {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return all
		}
		i := rapid.SampledFrom(left).Draw(t, "next")
		all = append(all, streams[i][0])
		streams[i] = streams[i][1:]
	}
}

// TestStreamingEqualsNonStreaming checks that streamed pieces of messages merge to the same
// response as the complete messages, also if two agents stream at the same time. If a Host has
// stamped both forms, the two responses differ only in the providers' response ids.
func TestStreamingEqualsNonStreaming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := conversation(t, "a"), conversation(t, "b")
		whole := response.Merge(host, slices.Concat(a[:1], b, a[1:]))
		pieces := streamed(t, a)
		mixed := interleave(t, pieces[1:], streamed(t, b))
		mixed = append(pieces[:1:1], mixed...)
		got := response.Merge(host, mixed)
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Fatalf("streamed it differs (-whole +streamed):\n%s", diff)
		}
		h := response.NewHost(host)
		var stamped []response.Update
		for _, u := range mixed {
			stamped = append(stamped, h.Stamp(u)...)
		}
		hosted := response.Merge(host, stamped)
		for i := range whole.Messages {
			whole.Messages[i].ProviderResponseID = "p-" + whole.Messages[i].AgentID
		}
		if diff := cmp.Diff(whole, hosted); diff != "" {
			t.Fatalf("stamped it differs (-whole +stamped):\n%s", diff)
		}
	})
}

// TestResultsFollowTheirCallsInAnyOrder checks calls and results that arrive in any order. Each
// result is placed directly after the message with its call.
func TestResultsFollowTheirCallsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.Permutation(conversation(t, "a")).Draw(t, "order")
		r := response.Merge(host, all)
		holder := ""
		open := map[string]bool{}
		for _, m := range r.Messages {
			if id := m.Contents[0].Part.ToolCallID; id != "" {
				if !open[id] {
					t.Fatalf("the result of %q comes after the message %q: %q", id, holder, lines(r))
				}
				continue
			}
			holder, open = m.ID, map[string]bool{}
			for _, c := range m.Contents {
				open[c.Part.ID] = c.Part.Type == perdure.PartToolCall
			}
		}
	})
}
