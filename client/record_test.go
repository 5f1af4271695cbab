package client_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

func TestEventsDecodeIntoRecords(t *testing.T) {
	const head = `{"seq":5,"responseId":"r","messageId":"m","toolCallId":"c","attempt":2,`
	for name, c := range map[string]struct {
		event client.Event
		want  perdure.Record
	}{
		"token": {
			client.Event{Type: "token", Data: json.RawMessage(head + `"offset":3,"data":"<ö>"}`)},
			perdure.Record{Type: "token", Chunk: &perdure.Chunk{Offset: 3, Text: "<ö>"}},
		},
		"superseded": {
			client.Event{Type: "token", Data: json.RawMessage(head + `"offset":0,"data":""}`)},
			perdure.Record{Type: "token", Chunk: &perdure.Chunk{}},
		},
		"terminal": {
			client.Event{Type: "terminal", Data: json.RawMessage(head + `"offset":0,"stream":"stderr","data":"x"}`)},
			perdure.Record{Type: "terminal", Chunk: &perdure.Chunk{Text: "x", Stream: "stderr"}},
		},
		"withheld": {
			client.Event{Type: "thinking", Data: json.RawMessage(head + `"offset":3,"length":7,"content":"worker"}`)},
			perdure.Record{Type: "thinking", Chunk: &perdure.Chunk{Offset: 3, Length: 7}},
		},
		"arguments": {
			client.Event{Type: "data", Data: json.RawMessage(head + `"offset":2,"data":{"type":"tool_call_delta","tool_call":{"id":"c"},"delta":"{\"a"}}`)},
			perdure.Record{Type: "data", Chunk: &perdure.Chunk{Offset: 2, Text: `{"a`, ToolCallID: "c"}},
		},
		"snapshot": {
			client.Event{Type: "snapshot", Data: json.RawMessage(head + `"offset":0,"type":"token","data":"all","snapshot":true}`)},
			perdure.Record{Type: "token", Chunk: &perdure.Chunk{Text: "all"}},
		},
		"data": {
			client.Event{Type: "data", Data: json.RawMessage(head + `"data":{"type":"plan"}}`)},
			perdure.Record{Type: "data", Fields: json.RawMessage(head + `"data":{"type":"plan"}}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Seq, c.want.Attempt = 5, 2
			c.want.Place = perdure.Place{ResponseID: "r", MessageID: "m", ToolCallID: "c"}
			got, entry, err := c.event.Record()
			if diff := cmp.Diff(c.want, got); diff != "" || entry != nil || err != nil {
				t.Errorf("%v %v (-want +got):\n%s", entry, err, diff)
			}
		})
	}
	e := client.Event{Type: perdure.EventEntry, Data: json.RawMessage(head + `"entryType":"message","role":"user","content":{"parts":[]}}`)}
	if _, entry, err := e.Record(); err != nil || entry == nil || entry.Role != perdure.RoleUser || string(entry.Content) != `{"parts":[]}` {
		t.Errorf("the entry is %v (%v)", entry, err)
	}
	if _, _, err := (client.Event{Type: "token", Data: json.RawMessage(`{`)}).Record(); !perdure.IsCode(err, perdure.Internal) {
		t.Errorf("a cut event: %v", err)
	}
}
