package log_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

var (
	task  = uuid.MustParse("018f0000-0000-7000-8000-0000000000aa")
	place = perdure.Place{ResponseID: "r1", TurnID: "t1", MessageID: "m1", ToolCallID: "c1"}
)

func TestDataIsExactlyAsOnTheWire(t *testing.T) {
	const head = `{"seq":5,"agentExecutionId":"018f0000-0000-7000-8000-000000000001","createdAt":"2026-01-02T12:00:00.000Z"`
	const placed = head + `,"responseId":"r1","turnId":"t1","messageId":"m1","toolCallId":"c1","taskExecutionId":"018f0000-0000-7000-8000-0000000000aa","attempt":2`
	base := perdure.Record{Pos: 9, Seq: 5, CreatedAt: noon}
	of := func(change func(r *perdure.Record)) perdure.Record {
		r := base
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		record perdure.Record
		want   string
	}{
		"event without fields": {of(func(r *perdure.Record) { r.Type = perdure.EventStarted }), head + `}`},
		"event": {of(func(r *perdure.Record) {
			r.Type, r.Fields = perdure.EventWaiting, json.RawMessage(`{"status":"WAITING", "reason":"signal","wait":{"signal":"userMessage"}}`)
		}), head + `,"reason":"signal","status":"WAITING","wait":{"signal":"userMessage"}}`},
		"fields do not replace what the log says": {of(func(r *perdure.Record) {
			r.Type, r.Fields = perdure.EventError, json.RawMessage("{\"seq\":1,\"message\":\"a<b\",\n\"code\":\"x\"}")
		}), head + `,"code":"x","message":"a<b"}`},
		"event of a task": {of(func(r *perdure.Record) {
			r.Type, r.Place, r.TaskID, r.Attempt = perdure.EventTaskStarted, place, &task, 2
			r.Fields = json.RawMessage(`{"kind":"bash"}`)
		}), placed + `,"kind":"bash"}`},
		"token": {of(func(r *perdure.Record) {
			r.Type, r.Chunk = perdure.EventToken, &perdure.Chunk{Offset: 3, Text: "<ö>\n"}
		}), head + `,"offset":3,"data":"<ö>\n"}`},
		"terminal": {of(func(r *perdure.Record) {
			r.Type, r.Place, r.TaskID, r.Attempt = perdure.EventTerminal, place, &task, 2
			r.Chunk = &perdure.Chunk{Text: "ok", Stream: "stderr"}
		}), placed + `,"offset":0,"stream":"stderr","data":"ok"}`},
		"withheld": {of(func(r *perdure.Record) {
			r.Type, r.Chunk = perdure.EventToken, &perdure.Chunk{Offset: 3, Length: 7}
		}), head + `,"offset":3,"length":7,"content":"worker"}`},
		"withheld arguments": {of(func(r *perdure.Record) {
			r.Type, r.Chunk = perdure.EventData, &perdure.Chunk{Length: 7, ToolCallID: "c7"}
		}), head + `,"offset":0,"length":7,"content":"worker"}`},
		"arguments": {of(func(r *perdure.Record) {
			r.Type, r.Chunk = perdure.EventData, &perdure.Chunk{Offset: 2, Text: `{"a`, ToolCallID: "c7"}
		}), head + `,"offset":2,"data":{"type":"tool_call_delta","tool_call":{"id":"c7"},"delta":"{\"a"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			item, err := eventlog.RecordItem(c.record, execution)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(item.Data()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBlockDataReplacesTheBlock(t *testing.T) {
	got := string(eventlog.BlockItem(store.BlockContent{Content: "abc", Block: store.Block{
		Key: perdure.BlockKey{TaskID: task, Attempt: 1}, Seq: 4, Type: perdure.EventToken, CreatedAt: noon,
	}}, execution).Data())
	want := `{"seq":4,"agentExecutionId":"018f0000-0000-7000-8000-000000000001","createdAt":"2026-01-02T12:00:00.000Z",` +
		`"taskExecutionId":"018f0000-0000-7000-8000-0000000000aa","attempt":1,"offset":0,"type":"token","data":"abc","snapshot":true}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEntryEventsCarryTheEntry(t *testing.T) {
	b := newMemoryLog()
	for i, content := range []string{`{"parts":[{"type":"text","text":"hi"}]}`, `"` + strings.Repeat("x", 300<<10) + `"`} {
		id := uuid.NewSHA1(uuid.Nil, []byte{byte(i)})
		b.entries[id] = &perdure.Entry{
			ID: id, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: json.RawMessage(content), CreatedAt: noon,
		}
		b.event(perdure.EventEntry, `{"entryId":"`+id.String()+`"}`)
	}
	b.event(perdure.EventCompleted, "")
	items := all(t, b.log(), eventlog.From{})
	small, large := string(items[0].Data()), string(items[1].Data())
	for _, part := range []string{`"role":"user"`, `"entryType":"message"`, `"parentId":null`, `"content":{"parts":[{"type":"text","text":"hi"}]}`, `"seq":1`} {
		if !strings.Contains(small, part) {
			t.Errorf("%s lacks %s", small, part)
		}
	}
	if len(large) > 1000 || !strings.Contains(large, `"contentBytes":307202`) {
		t.Errorf("the large entry came as %d bytes: %.300s", len(large), large)
	}
}

// TestEntriesAreReadAPageAtATime checks that one read of the store returns all entries of a page or
// a window.
func TestEntriesAreReadAPageAtATime(t *testing.T) {
	b := newMemoryLog()
	for i := range 200 {
		id := uuid.NewSHA1(uuid.Nil, []byte{byte(i)})
		b.entries[id] = &perdure.Entry{ID: id, Type: perdure.EntryLLMCall, Content: json.RawMessage(fmt.Sprint(i)), CreatedAt: noon}
		b.event(perdure.EventEntry, `{"entryId":"`+id.String()+`"}`)
		b.chunk(0, "x")
	}
	b.event(perdure.EventCompleted, "")
	b.eventsAtOnce = 1000
	whole := all(t, b.log(), eventlog.From{})
	if n := b.entryReads; n != 1 {
		t.Errorf("one page took %d reads of entries", n)
	}
	w, err := b.log().Window(t.Context(), execution, eventlog.Span{Limit: 300})
	if n := b.entryReads; err != nil || n != 2 {
		t.Errorf("a window took %d reads of entries (%v)", n-1, err)
	}
	// If the store returns fewer entries because they are large, pages are smaller, and all pages
	// together are the same log.
	b.entriesAtOnce = 7
	if got := all(t, b.log(), eventlog.From{}); lines(got) != lines(whole) {
		t.Error("in small pages the log differs")
	}
	p, err := b.log().Page(t.Context(), execution, "", 100)
	if err != nil || len(p.Items) != 14 || p.UpToDate {
		t.Errorf("a page has %d records, %v, %v, want those of 7 entries", len(p.Items), p.UpToDate, err)
	}
	again, err := b.log().Window(t.Context(), execution, eventlog.Span{Limit: 300})
	if err != nil || lines(again.Items) != lines(w.Items) {
		t.Errorf("a window of %d events differs (%v)", len(again.Items), err)
	}
}

func TestPagesJoinToTheLog(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	l := b.log()
	whole := all(t, l, eventlog.From{})
	var got []eventlog.Item
	cursor := ""
	for range 100 {
		p, err := l.Page(t.Context(), execution, cursor, 3)
		if err != nil || p.Reset != nil {
			t.Fatal(p, err)
		}
		got = append(got, p.Items...)
		cursor = p.Next.String()
		if p.UpToDate {
			break
		}
	}
	if lines(got) != lines(whole[:len(whole)-1]) {
		t.Errorf("pages give\n%s", lines(got))
	}
	p, err := l.Page(t.Context(), execution, b.cursor(500), 3)
	if err != nil || p.Reset == nil || p.Reset.Reason != "ahead" || p.Items[0].Seq != 1 {
		t.Errorf("ahead gives %+v, %v", p, err)
	}
	if _, err := l.Page(t.Context(), execution, "nonsense", 3); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("nonsense gives %v", err)
	}
}

func TestAtEnd(t *testing.T) {
	b := newMemoryLog()
	l := b.log()
	at := func(from eventlog.From) bool {
		t.Helper()
		end, err := l.AtEnd(t.Context(), execution, from)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	b.event(perdure.EventCreated, "")
	if at(eventlog.From{}) || at(eventlog.From{Cursor: b.cursor(1)}) {
		t.Error("a log that goes on is at its end")
	}
	b.event(perdure.EventCancelled, "")
	one, two := int64(1), int64(2)
	if at(eventlog.From{}) || at(eventlog.From{Cursor: b.cursor(1)}) || at(eventlog.From{AfterSeq: &one}) {
		t.Error("a reader that lacks the end is at the end")
	}
	if !at(eventlog.From{Cursor: b.cursor(2)}) || !at(eventlog.From{AfterSeq: &two}) {
		t.Error("the end is not seen")
	}
}
