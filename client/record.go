package client

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
)

// Record decodes the event into a record of the log, without the position of the record. If the
// event is a snapshot of a block, the record has the type of the block, and the whole block as one
// chunk. The record's Fields contain all members of the event's data. For an event of type
// entry.appended, Record also returns the entry. Errors: internal.
func (e Event) Record() (perdure.Record, *perdure.Entry, error) {
	h, err := e.Head()
	if err != nil {
		return perdure.Record{}, nil, err
	}
	r := perdure.Record{
		Seq: h.Seq, Type: e.Type, CreatedAt: h.CreatedAt, Place: h.Place, TaskID: h.TaskID, Attempt: h.Attempt, Fields: e.Data,
	}
	switch e.Type {
	case EventSnapshot:
		r.Type = h.Type
		fallthrough
	case perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, perdure.EventData:
		r.Chunk, err = e.chunk(h)
	case perdure.EventEntry:
		entry := &perdure.Entry{}
		return r, entry, e.Decode(entry)
	}
	if r.Chunk != nil {
		r.Fields = nil
	}
	return r, nil, err
}

// chunk returns the chunk of streamed text in the event, or nil if the event contains none.
func (e Event) chunk(h Head) (*perdure.Chunk, error) {
	if len(h.Data) > 0 && e.Type != perdure.EventData {
		return chunkOf(h), nil
	}
	var of struct {
		Offset *int64 `json:"offset"`
		Length int64  `json:"length"`
	}
	if err := e.Decode(&of); err != nil || of.Offset == nil {
		return nil, err
	}
	c := chunkOf(h)
	if len(h.Data) == 0 {
		c.Length = of.Length
	}
	return c, nil
}

// chunkOf returns the chunk with the members of h. h.Data is a text, or the next characters of a tool
// call's arguments; h.Data is absent if only a worker has the text.
func chunkOf(h Head) *perdure.Chunk {
	c := &perdure.Chunk{Offset: h.Offset, Stream: h.Stream}
	if !bytes.HasPrefix(h.Data, []byte("{")) {
		c.Text = h.Text()
		return c
	}
	var d struct {
		Call struct {
			ID string `json:"id"`
		} `json:"tool_call"`
		Delta string `json:"delta"`
	}
	if json.Unmarshal(h.Data, &d) == nil {
		c.Text, c.ToolCallID = d.Delta, d.Call.ID
	}
	return c
}
