package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// ofType returns the events of one type or, for data events, of one type of data.
func ofType(events []sse, name string) []sse {
	name, kind, _ := strings.Cut(name, " ")
	var found []sse
	for _, e := range events {
		data, _ := e.fields["data"].(map[string]any)
		if e.event == name && (kind == "" || data["type"] == kind) {
			found = append(found, e)
		}
	}
	return found
}

// tell creates a run with an event of every type that a run of this test can have.
func tell(h *house) *run {
	x := h.start("")
	r := h.claim()
	r.say(userText("hi"))
	r.say(userText(strings.Repeat("x", 256<<10))) // over the limit with its surrounding JSON
	lease := r.schedule("bash", "one")
	r.append(
		frame{Lease: &lease, Type: perdure.EventTerminal, Stream: "stdout", Text: "out é"},
		frame{Lease: &lease, Type: perdure.EventTerminal, Stream: "stderr", Text: "err", Block: 1},
		frame{Lease: &lease, Type: perdure.EventTerminal, Stream: "stdout", Offset: 6, Text: "more"},
		frame{Lease: &lease, Type: perdure.EventToken, Block: 2, Text: "text"},
		frame{Lease: &lease, Type: perdure.EventThinking, Block: 3, Text: "thought"},
		frame{Lease: &lease, Type: perdure.EventData, Block: 4, Text: `{"a`, ToolCallID: "call_1", Place: perdure.Place{ToolCallID: "call_1"}},
		frame{Lease: &lease, Type: perdure.EventData, Block: 4, Offset: 3, Text: `":1}`, ToolCallID: "call_1", Place: perdure.Place{ToolCallID: "call_1"}, Close: true},
		frame{Lease: &lease, Type: perdure.EventData, Block: 5, Fields: []byte(`{"data":{"type":"artifact","path":"a.txt","action":"created"}}`)},
	)
	r.finish(perdure.TaskFinish{Lease: lease, Result: perdure.Inline([]byte(`"ok"`))})
	r.commit(perdure.Commit{Events: []perdure.NewEvent{{Type: perdure.EventError, Fields: []byte(`{"message":"no luck","code":"unavailable"}`)}}})
	r.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: ptr(perdure.WaitSignal("userMessage"))}})
	h.call("POST", h.path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"x"},"signalId":"s1"}`).want(200, nil)
	*r = *h.claim()
	r.complete()
	return r
}

// Each type of event has the common members followed by its own, and no others.
func TestEventsHaveTheirNames(t *testing.T) {
	h := open(t)
	r := tell(h)
	events := h.follow(h.path(r.id, "/stream/consolidated")).all()
	const placed = " responseId"
	const task = placed + " taskExecutionId attempt"
	for kind, want := range map[string]string{
		"agent.created": placed + " status kind", "agent.started": placed + " status woke", "agent.waiting": placed + " status reason wait",
		"agent.resumed": placed + " status woke", "agent.checkpoint": placed + " sequence", "agent.completed": placed + " status",
		"task.started": task + " kind", "task.completed": task + " kind",
		"signal.received": placed + " signalId signalName signalValue",
		"token":           task + " offset data", "thinking": task + " offset data", "terminal": task + " offset stream data",
		"data tool_call_delta": task + " toolCallId offset data", "data artifact": task + " data",
		"block.closed": task + " blockSeq length sha256 reason", "error": placed + " message code",
	} {
		found := ofType(events, kind)
		if len(found) == 0 {
			t.Errorf("there is no %s", kind)
			continue
		}
		if kind == "block.closed" {
			found = found[len(found)-1:] // for a call's arguments it also names the call
		}
		if got := names(found[0].fields); got != sorted(eventHead+want) {
			t.Errorf("%s has\n%s\nwant\n%s", kind, got, sorted(eventHead+want))
		}
	}
	if got := ofType(events, "data tool_call_delta")[0].fields["data"]; fmt.Sprint(got) != `map[delta:{"a tool_call:map[id:call_1] type:tool_call_delta]` {
		t.Errorf("a piece of arguments is %v", got)
	}
	if end := events[len(events)-1]; end.event != "end" || end.data != "{}" || end.id == "" {
		t.Errorf("it ends with %+v", end)
	}
	entries := ofType(events, "entry.appended")
	if got := names(entries[0].fields); got != sorted(eventHead+placed+" messageId id parentId entryType role content metadata") {
		t.Errorf("an entry has %s", got)
	}
	large := entries[1].fields
	if n, _ := large["contentBytes"].(float64); large["content"] != nil || n <= 256<<10 || large["contentSha256"] != nil {
		t.Errorf("of a large entry come content %.20v and contentBytes %v", large["content"], large["contentBytes"])
	}
}

// The chunks of a block, assembled by offset, match the hash at its end. Each stream of a terminal
// is a block of its own, and seqs have no gap.
func TestBlocksArePlacedByOffsetAndEndWithTheirHash(t *testing.T) {
	h := open(t)
	r := tell(h)
	text, streams, closed, last := map[float64]string{}, map[any]map[float64]bool{}, 0, int64(0)
	for _, e := range h.follow(h.path(r.id, "/stream/consolidated")).all() {
		if e.event == "end" {
			continue
		}
		if e.seq() > last+1 || e.seq() < 1 {
			t.Errorf("seq %d follows %d", e.seq(), last)
		}
		last = max(last, e.seq())
		seq, _ := e.fields["seq"].(float64)
		if offset, ok := e.fields["offset"].(float64); ok {
			said, _ := e.fields["data"].(string)
			if call, ok := e.fields["data"].(map[string]any); ok {
				said, _ = call["delta"].(string)
			}
			if int(offset) != len(text[seq]) || !utf8.ValidString(said) {
				t.Errorf("a piece at %v, %d bytes are held: %q", offset, len(text[seq]), said)
			}
			text[seq] += said
			if stream := e.fields["stream"]; stream != nil {
				if streams[stream] == nil {
					streams[stream] = map[float64]bool{}
				}
				streams[stream][seq] = true
			}
		}
		if e.event == "block.closed" {
			closed++
			whole := text[e.fields["blockSeq"].(float64)]
			sum := sha256.Sum256([]byte(whole))
			if e.fields["length"] != float64(len(whole)) || e.fields["sha256"] != hex.EncodeToString(sum[:]) || e.fields["reason"] != "done" {
				t.Errorf("of %q it says %s", whole, e.data)
			}
			if seq <= e.fields["blockSeq"].(float64) {
				t.Errorf("the end has the seq %v", seq)
			}
		}
	}
	if closed != len(text) || closed != 5 {
		t.Errorf("%d blocks, %d ends", len(text), closed)
	}
	if len(streams["stdout"]) != 1 || len(streams["stderr"]) != 1 || streams["stdout"] == nil {
		t.Errorf("the streams are in the blocks %v", streams)
	}
	for seq := range streams["stdout"] {
		if streams["stderr"][seq] {
			t.Error("both streams are one block")
		}
	}
}

// A chunk of a block never ends in the middle of a character; such a chunk is refused.
func TestAPieceNeverSplitsACharacter(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	replies, err := h.worker.Append(t.Context(), []frame{{AgentLease: &r.lease, Type: perdure.EventToken, Text: "a\xc3"}})
	if err != nil || replies[0].Err == nil {
		t.Errorf("half a character is answered %+v, %v", replies, err)
	}
	r.stream(0, 0, "token", "aé")
	replies, err = h.worker.Append(t.Context(), []frame{{AgentLease: &r.lease, Type: perdure.EventToken, Offset: 2, Text: "\xa9b"}})
	if err != nil || replies[0].Err == nil && replies[0].Held != 3 {
		t.Errorf("the rest of a character is answered %+v, %v", replies, err)
	}
	r.complete()
	for _, e := range ofType(h.follow(h.path(x.ID, "/stream")).all(), "token") {
		if e.fields["data"] != "aé" {
			t.Errorf("came %s", e.data)
		}
	}
}

// There are three ways to specify where to continue. Each is used only if none with a higher
// precedence is given, even if that one would lead to an error.
func TestPositionsHaveTheirPrecedence(t *testing.T) {
	h := open(t)
	r := play(h)
	path := h.path(r.id, "/stream/consolidated")
	whole := h.follow(path).all()
	at := func(i int) string { return whole[i].id }
	seqOf := func(i int) string { return strconv.FormatInt(whole[i].seq(), 10) }
	for name, c := range map[string]struct {
		query, header string
		want          int
	}{
		"nothing":                      {"", "", -1},
		"after_seq":                    {"?after_seq=" + seqOf(1), "", 1},
		"after":                        {"?after=" + at(2), "", 2},
		"Last-Event-ID":                {"", at(3), 3},
		"after before after_seq":       {"?after=" + at(2) + "&after_seq=" + seqOf(1), "", 2},
		"Last-Event-ID before after":   {"?after=" + at(2), at(3), 3},
		"Last-Event-ID before all":     {"?after_seq=" + seqOf(1) + "&after=" + at(2), at(3), 3},
		"a broken after_seq is unread": {"?after=" + at(2) + "&after_seq=x", "", 2},
		"a broken after is unread":     {"?after=!&after_seq=x", at(3), 3},
		"empty ones say nothing":       {"?after=&after_seq=", "", -1},
	} {
		headers := []string{}
		if c.header != "" {
			headers = []string{"Last-Event-ID", c.header}
		}
		if got := h.follow(path+c.query, headers...).all(); show(got) != show(whole[c.want+1:]) {
			t.Errorf("%s: came %d events, want %d", name, len(got), len(whole)-c.want-1)
		}
	}
	end := whole[len(whole)-1].id
	for _, reached := range []string{"?after=" + end, "?after_seq=" + seqOf(len(whole)-2)} {
		if r := h.call("GET", path+reached, "").want(204, nil); len(r.body) != 0 {
			t.Errorf("%s is answered %q", reached, r.body)
		}
	}
	h.call("GET", path, "", "Last-Event-ID", end).want(204, nil)
	// A client whose log continues is not at its end.
	x := h.start("")
	first := h.follow(h.path(x.ID, "/stream")).must()
	h.follow(h.path(x.ID, "/stream"), "Last-Event-ID", first.id) // 200
}

// Rendered text has html events in place of token, each with its part. The last event of a part is
// final, and the others are not.
func TestRenderedTextHasItsNames(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	live := h.follow(h.path(x.ID, "/stream?render=html"))
	r.stream(0, 0, "token", "one *two")
	first := live.must()
	for ; first.event != "html"; first = live.must() {
	}
	if first.fields["final"] != false || !strings.Contains(first.fields["html"].(string), "one") {
		t.Errorf("first comes %s", first.data)
	}
	r.stream(0, 8, "token", "*\n\nthree")
	r.complete()
	final := map[string]bool{}
	for _, e := range append([]sse{first}, live.all()...) {
		if e.event == "token" {
			t.Errorf("a token came: %s", e.data)
		}
		if e.event != "html" {
			continue
		}
		for _, name := range []string{"seq", "part", "html", "final", "agentExecutionId", "createdAt"} {
			if _, there := e.fields[name]; !there {
				t.Errorf("%s lacks %s", e.data, name)
			}
		}
		part := fmt.Sprint(e.fields["seq"], " ", e.fields["part"])
		if final[part] {
			t.Errorf("after its final state comes %s", e.data)
		}
		final[part] = e.fields["final"] == true
	}
	for part, is := range final {
		if !is {
			t.Errorf("part %s has no final state", part)
		}
	}
	if len(final) < 2 {
		t.Errorf("the parts are %v", final)
	}
}
