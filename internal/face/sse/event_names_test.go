package sse_test

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

// tell creates a run whose log has events of many types, from the creation of the run to its end.
func tell(h *testServer) *run {
	x := h.Start("")
	r := h.Claim()
	r.Say(userText("hi"))
	r.Say(userText(strings.Repeat("x", 256<<10))) // together with its JSON, too large to be shown in an event
	lease := r.Schedule("bash", "one")
	r.Append(
		frame{Lease: &lease, Type: perdure.EventTerminal, Stream: "stdout", Text: "out é"},
		frame{Lease: &lease, Type: perdure.EventTerminal, Stream: "stderr", Text: "err", Block: 1},
		frame{Lease: &lease, Type: perdure.EventTerminal, Stream: "stdout", Offset: 6, Text: "more"},
		frame{Lease: &lease, Type: perdure.EventToken, Block: 2, Text: "text"},
		frame{Lease: &lease, Type: perdure.EventThinking, Block: 3, Text: "thought"},
		frame{Lease: &lease, Type: perdure.EventData, Block: 4, Text: `{"a`, ToolCallID: "call_1", Place: perdure.Place{ToolCallID: "call_1"}},
		frame{Lease: &lease, Type: perdure.EventData, Block: 4, Offset: 3, Text: `":1}`, ToolCallID: "call_1", Place: perdure.Place{ToolCallID: "call_1"}, Close: true},
		frame{Lease: &lease, Type: perdure.EventData, Block: 5, Fields: []byte(`{"data":{"type":"artifact","path":"a.txt","action":"created"}}`)},
	)
	r.Finish(perdure.TaskFinish{Lease: lease, Result: perdure.Inline([]byte(`"ok"`))})
	r.Commit(perdure.Commit{Events: []perdure.NewEvent{{Type: perdure.EventError, Fields: []byte(`{"message":"no luck","code":"unavailable"}`)}}})
	r.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: new(perdure.WaitSignal("userMessage"))}})
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"x"},"signalId":"s1"}`).Want(200, nil)
	*r = *h.Claim()
	r.Complete()
	return r
}

// TestEventsHaveTheirNames checks that events of each type have exactly their defined members.
func TestEventsHaveTheirNames(t *testing.T) {
	h := open(t)
	r := tell(h)
	events := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
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
			found = found[len(found)-1:] // not that of the call's arguments, which also has the call's id
		}
		if got := names(found[0].Fields); got != sorted(eventHead+want) {
			t.Errorf("%s has\n%s\nwant\n%s", kind, got, sorted(eventHead+want))
		}
	}
	if got := ofType(events, "data tool_call_delta")[0].Fields["data"]; fmt.Sprint(got) != `map[delta:{"a tool_call:map[id:call_1] type:tool_call_delta]` {
		t.Errorf("a piece of arguments is %v", got)
	}
	if end := events[len(events)-1]; end.Event != "end" || end.Data != "{}" || end.ID == "" {
		t.Errorf("it ends with %+v", end)
	}
	entries := ofType(events, "entry.appended")
	if got := names(entries[0].Fields); got != sorted(eventHead+placed+" messageId id parentId entryType role content metadata") {
		t.Errorf("an entry has %s", got)
	}
	large := entries[1].Fields
	if n, _ := large["contentBytes"].(float64); large["content"] != nil || n <= 256<<10 || large["contentSha256"] != nil {
		t.Errorf("of a large entry come content %.20v and contentBytes %v", large["content"], large["contentBytes"])
	}
}

// TestBlocksArePlacedByOffsetAndEndWithTheirHash checks that the chunks of each block are
// contiguous, and match the length and the hash in the block's event block.closed. stdout and
// stderr are separate blocks, and seqs have no gap.
func TestBlocksArePlacedByOffsetAndEndWithTheirHash(t *testing.T) {
	h := open(t)
	r := tell(h)
	text, streams, closed, last := map[float64]string{}, map[any]map[float64]bool{}, 0, int64(0)
	for _, e := range h.Follow(h.Path(r.ID, "/stream/consolidated")).All() {
		if e.Event == "end" {
			continue
		}
		if e.Seq() > last+1 || e.Seq() < 1 {
			t.Errorf("seq %d follows %d", e.Seq(), last)
		}
		last = max(last, e.Seq())
		seq, _ := e.Fields["seq"].(float64)
		if offset, ok := e.Fields["offset"].(float64); ok {
			said, _ := e.Fields["data"].(string)
			if call, ok := e.Fields["data"].(map[string]any); ok {
				said, _ = call["delta"].(string)
			}
			if int(offset) != len(text[seq]) || !utf8.ValidString(said) {
				t.Errorf("a piece at %v, %d bytes are held: %q", offset, len(text[seq]), said)
			}
			text[seq] += said
			if stream := e.Fields["stream"]; stream != nil {
				if streams[stream] == nil {
					streams[stream] = map[float64]bool{}
				}
				streams[stream][seq] = true
			}
		}
		if e.Event == "block.closed" {
			closed++
			whole := text[e.Fields["blockSeq"].(float64)]
			sum := sha256.Sum256([]byte(whole))
			if e.Fields["length"] != float64(len(whole)) || e.Fields["sha256"] != hex.EncodeToString(sum[:]) || e.Fields["reason"] != "done" {
				t.Errorf("of %q it says %s", whole, e.Data)
			}
			if seq <= e.Fields["blockSeq"].(float64) {
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

// TestAPieceNeverSplitsACharacter checks that a chunk that begins or ends inside a character is
// refused, and that the text of the refused chunk does not appear in the log.
func TestAPieceNeverSplitsACharacter(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	replies, err := h.Worker.Append(t.Context(), []frame{{AgentLease: &r.Lease, Type: perdure.EventToken, Text: "a\xc3"}})
	if err != nil || replies[0].Err == nil {
		t.Errorf("half a character is answered %+v, %v", replies, err)
	}
	r.Stream(0, 0, "token", "aé")
	replies, err = h.Worker.Append(t.Context(), []frame{{AgentLease: &r.Lease, Type: perdure.EventToken, Offset: 2, Text: "\xa9b"}})
	if err != nil || replies[0].Err == nil && replies[0].Held != 3 {
		t.Errorf("the rest of a character is answered %+v, %v", replies, err)
	}
	r.Complete()
	for _, e := range ofType(h.Follow(h.Path(x.ID, "/stream")).All(), "token") {
		if e.Fields["data"] != "aé" {
			t.Errorf("came %s", e.Data)
		}
	}
}

// TestPositionsHaveTheirPrecedence checks a stream whose request names several start positions. The
// header Last-Event-ID takes precedence over the parameter `after`, which takes precedence over
// after_seq. A position that another one overrides may be invalid.
func TestPositionsHaveTheirPrecedence(t *testing.T) {
	h := open(t)
	r := play(h)
	path := h.Path(r.ID, "/stream/consolidated")
	whole := h.Follow(path).All()
	at := func(i int) string { return whole[i].ID }
	seqOf := func(i int) string { return strconv.FormatInt(whole[i].Seq(), 10) }
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
		if got := h.Follow(path+c.query, headers...).All(); show(got) != show(whole[c.want+1:]) {
			t.Errorf("%s: came %d events, want %d", name, len(got), len(whole)-c.want-1)
		}
	}
	end := whole[len(whole)-1].ID
	for _, reached := range []string{"?after=" + end, "?after_seq=" + seqOf(len(whole)-2)} {
		if r := h.Call("GET", path+reached, "").Want(204, nil); len(r.Body) != 0 {
			t.Errorf("%s is answered %q", reached, r.Body)
		}
	}
	h.Call("GET", path, "", "Last-Event-ID", end).Want(204, nil)
	// A log that may still grow is not at its end, so the server does not answer 204.
	x := h.Start("")
	first := h.Follow(h.Path(x.ID, "/stream")).Must()
	h.Follow(h.Path(x.ID, "/stream"), "Last-Event-ID", first.ID) // gets 200
}

// TestRenderedTextHasItsNames checks that a rendered stream has html events instead of token
// events. The last event of each rendered part is marked as final, and earlier ones are not.
func TestRenderedTextHasItsNames(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	live := h.Follow(h.Path(x.ID, "/stream?render=html"))
	r.Stream(0, 0, "token", "one *two")
	first := live.Must()
	for ; first.Event != "html"; first = live.Must() {
	}
	if first.Fields["final"] != false || !strings.Contains(first.Fields["html"].(string), "one") {
		t.Errorf("first comes %s", first.Data)
	}
	r.Stream(0, 8, "token", "*\n\nthree")
	r.Complete()
	final := map[string]bool{}
	for _, e := range append([]sseEvent{first}, live.All()...) {
		if e.Event == "token" {
			t.Errorf("a token came: %s", e.Data)
		}
		if e.Event != "html" {
			continue
		}
		for _, name := range []string{"seq", "part", "html", "final", "agentExecutionId", "createdAt"} {
			if _, there := e.Fields[name]; !there {
				t.Errorf("%s lacks %s", e.Data, name)
			}
		}
		part := fmt.Sprint(e.Fields["seq"], " ", e.Fields["part"])
		if final[part] {
			t.Errorf("after its final state comes %s", e.Data)
		}
		final[part] = e.Fields["final"] == true
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
