package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/llm"
)

// TestStreamRetrieveMergeAndEntriesAreTheSame checks that all ways to read a response have the same
// items: the deltas of a stream, the response at the end of the stream, a retrieve request, the
// stored entries, and response.Merge of the entries in random pieces. Each item has a unique id.
func TestStreamRetrieveMergeAndEntriesAreTheSame(t *testing.T) {
	longtest.Skip(t, "seconds")
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			s := newStage(t, conversation(r)...)
			ids, previous, input := map[string]bool{}, "", `"go"`
			for input != "" {
				o := s.same(r, ids, `{"model":"test/m","stream":true,`+previous+`"input":`+input+`,`+tools+`}`)
				previous, input = after(o.ID), outputs(o)
			}
		})
	}
}

// conversation returns a random list of model answers. They have reasoning, text, calls of tools
// that the client runs and calls of tools that workers run. The last answer has no calls.
func conversation(r *rand.Rand) []answer {
	var all []answer
	for range 3 + r.IntN(4) {
		all = append(all, turn(r.Uint64(), r.IntN(4)))
	}
	return append(all, turn(r.Uint64(), 0))
}

func turn(seed uint64, count int) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		r := rand.New(rand.NewPCG(seed, 1))
		if r.IntN(2) == 0 {
			if _, err := thinks("I think. ", says())(ctx, req, b); err != nil {
				return "", err
			}
			b.Sign("sig")
		}
		if _, err := says(strings.SplitAfter("  Some words ,\n and more \n", " ")[:2+r.IntN(6)]...)(ctx, req, b); err != nil {
			return "", err
		}
		if r.IntN(2) == 0 { // adds a part with only a signature, and a signed text
			if err := b.SignedText("", "sig"); err != nil {
				return "", err
			}
			if err := b.SignedText("Signed.", "sig"); err != nil {
				return "", err
			}
		}
		if count == 0 {
			return perdure.StopEndTurn, nil
		}
		var named []string
		for i := range count {
			named = append(named, []string{"ask", "gone"}[r.IntN(2)], fmt.Sprintf(`{"b":%d, "a":"é"}`, i))
		}
		return calls("", named...)(ctx, req, b)
	}
}

// outputs returns input items with the results of the client's calls; "" if there are none.
func outputs(o object) string {
	var all []string
	for _, c := range o.calls() {
		all = append(all, fmt.Sprintf(result, c.CallID, "7"))
	}
	if all == nil {
		return ""
	}
	return "[" + strings.Join(all, ",") + "]"
}

// same creates a response, and checks that all ways to read the response have the same items.
func (s *stage) same(r *rand.Rand, ids map[string]bool, body string) object {
	s.t.Helper()
	events := s.all("POST", "/v1/responses", body)
	end := responseOf(s.t, events[len(events)-1])
	if now := s.call("GET", "/v1/responses/"+end.ID, ""); strings.TrimSpace(string(now.body)) != string(end.raw) {
		s.t.Errorf("retrieved as %s, streamed as %s", now.body, end.raw)
	}
	row, err := s.store.Response(s.t.Context(), "default", end.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	of := response.Identity{Execution: row.Execution, Response: end.ID}
	prefixes := map[string]string{"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "mcp_call": "mcp_"}
	for i, item := range end.Output {
		if ids[item.ID] || item.ID != prefixes[item.Type]+strings.TrimPrefix(end.ID, "resp_")+"o"+strconv.Itoa(i) {
			s.t.Errorf("item %d has the id %s", i, item.ID)
		}
		ids[item.ID] = true
	}
	stored := s.stored(row.Execution, end.ID)
	merged := response.Merge(of, cut(r, stored))
	var messages, names []string
	for i, u := range stored {
		messages = append(messages, u.MessageID)
		if i < len(merged.Messages) {
			names = append(names, merged.Messages[i].ID)
		}
	}
	want := plain(end.Output)
	for how, got := range map[string]any{
		"the deltas folded": folded(events), "the entries": itemsOf(partsOf(stored)), "the pieces merged": itemsOf(mergedParts(merged)),
	} {
		if diff := cmp.Diff(any(want), got); diff != "" {
			s.t.Errorf("%s (-streamed +got):\n%s", how, diff)
		}
	}
	if diff := cmp.Diff(messages, names); diff != "" || len(messages) != len(merged.Messages) {
		s.t.Errorf("the messages (-stored +merged):\n%s", diff)
	}
	if diff := cmp.Diff(mergedParts(merged), partsOf(stored)); diff != "" {
		s.t.Errorf("the parts (-merged +stored):\n%s", diff)
	}
	u := merged.Usage
	if in := int(u.Input + u.CacheRead + u.CacheWrite); in != end.Usage.In || int(u.Output) != end.Usage.Out {
		s.t.Errorf("usage merged %+v, streamed %+v", u, end.Usage)
	}
	return end
}

// stored returns the stored messages of a response, except those of the user.
func (s *stage) stored(execution uuid.UUID, id string) []response.Update {
	s.t.Helper()
	x, err := s.store.Execution(s.t.Context(), "default", execution)
	if err != nil {
		s.t.Fatal(err)
	}
	var all []response.Update
	mine := map[string]bool{}
	for e, err := range s.store.Path(s.t.Context(), execution, *x.Leaf, nil, 0, false) {
		if err != nil {
			s.t.Fatal(err)
		}
		m, err := e.Message()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, c := range m.ToolCalls() {
			mine[c.ID] = e.ResponseID == id
		}
		if e.ResponseID != id || e.Role != perdure.RoleAssistant && !mine[e.Answers] {
			continue
		}
		u := response.Update{ResponseID: id, MessageID: e.MessageID, Role: e.Role, Usage: m.Usage, FinishReason: m.StopReason}
		for _, p := range m.Parts {
			u.Contents = append(u.Contents, response.Content{Part: p})
		}
		all = append(all, u)
	}
	return all
}

// cut divides the texts and arguments of the updates into pieces of random length. It does not
// divide a signed text.
func cut(r *rand.Rand, updates []response.Update) []response.Update {
	var all []response.Update
	for _, u := range updates {
		for i, c := range u.Contents {
			piece := u
			if i > 0 {
				piece.Usage = nil
			}
			for _, c := range halves(r, c) {
				piece.Contents = []response.Content{c}
				all = append(all, piece)
				piece.Usage = nil
			}
		}
	}
	return all
}

func halves(r *rand.Rand, c response.Content) []response.Content {
	first, second := c, c
	switch p := c.Part; {
	case p.Type == perdure.PartText && p.TextSignature == "":
		at := r.IntN(len(p.Text) + 1)
		first.Part.Text, second.Part.Text = p.Text[:at], p.Text[at:]
	case p.Type == perdure.PartThinking:
		at := r.IntN(len(p.Thinking) + 1)
		first.Part.Thinking, second.Part.Thinking, first.Part.ThinkingSignature = p.Thinking[:at], p.Thinking[at:], ""
	case p.Type == perdure.PartToolCall:
		at := r.IntN(len(p.RawArguments))
		first.Part.RawArguments, second.Part.RawArguments = p.RawArguments[:at], p.RawArguments[at:]
	default:
		return []response.Content{c}
	}
	return []response.Content{first, second}
}

func partsOf(updates []response.Update) [][]perdure.Part {
	var all [][]perdure.Part
	for _, u := range updates {
		var parts []perdure.Part
		for _, c := range u.Contents {
			parts = append(parts, c.Part)
		}
		all = append(all, parts)
	}
	return all
}

func mergedParts(r response.Response) [][]perdure.Part {
	var all [][]perdure.Part
	for _, m := range r.Messages {
		all = append(all, m.Parts())
	}
	return all
}

// plain describes each complete item in one line of text.
func plain(items []item) []string {
	var lines []string
	for _, i := range items {
		line := i.Type + " " + i.CallID + " " + i.Name + " " + i.Arguments
		for _, c := range slices.Concat(i.Content, i.Summary) {
			line += c.Text
		}
		if i.Type == "mcp_call" {
			line += " " + i.outcome()
		}
		lines = append(lines, line)
	}
	return lines
}

// itemsOf describes the items of stored messages, one line of text each.
func itemsOf(messages [][]perdure.Part) []string {
	var items []item
	at := map[string]int{} // indices of calls of tools that workers run, by call id
	text := func(s string) []struct{ Type, Text string } { return []struct{ Type, Text string }{{Text: s}} }
	for _, p := range slices.Concat(messages...) {
		switch {
		case p.Type == perdure.PartText && p.Text != "":
			items = append(items, item{Type: "message", Content: text(p.Text)})
		case p.Type == perdure.PartThinking:
			items = append(items, item{Type: "reasoning", Summary: text(p.Thinking)})
		case p.Type == perdure.PartToolCall && p.Name == "ask":
			items = append(items, item{Type: "function_call", CallID: p.ID, Name: p.Name, Arguments: p.RawArguments})
		case p.Type == perdure.PartToolCall:
			at[p.ID] = len(items)
			items = append(items, item{Type: "mcp_call", Name: p.Name, Arguments: p.RawArguments})
		case p.Type == perdure.PartToolResult:
			i := &items[at[p.ToolCallID]]
			if text := (perdure.Content{Parts: p.Parts}).PlainText(); p.IsError {
				i.Error = &itemError{Content: []struct{ Text string }{{text}}}
			} else {
				i.Output = text
			}
		}
	}
	return plain(items)
}

// folded returns the items that a client builds from a stream with only the events
// response.output_item.added and the deltas.
func folded(events []event) []string {
	var items []item
	at := map[string]int{}
	for _, e := range events {
		var v struct {
			Item   item
			ItemID string `json:"item_id"`
			Delta  string
		}
		_ = json.Unmarshal([]byte(e.Raw), &v) // already decoded once
		switch {
		case e.Type == "response.output_item.added":
			at[v.Item.ID] = len(items)
			items = append(items, v.Item)
		case e.Type == "response.output_item.done" && v.Item.Type == "mcp_call":
			i := &items[at[v.Item.ID]]
			i.Output, i.Error = v.Item.Output, v.Item.Error // no delta contains it
		case v.Delta == "":
		case strings.HasSuffix(e.Type, "call_arguments.delta"):
			items[at[v.ItemID]].Arguments += v.Delta
		default:
			i := &items[at[v.ItemID]]
			i.Content = append(i.Content, struct{ Type, Text string }{Text: v.Delta})
		}
	}
	return plain(items)
}
