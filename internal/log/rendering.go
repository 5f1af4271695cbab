package log

import (
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// rendering is the JSON of an item. It is rendered once, and all readers of the item share it.
type rendering struct {
	execution uuid.UUID
	members   []member // members of the record's fields, sorted
	joined    bool     // members are those of the record's entry

	once sync.Once
	data []byte
}

func rendered(data []byte) *rendering {
	r := &rendering{data: data}
	r.once.Do(func() {})
	return r
}

// bytes returns the JSON of the item to which the rendering belongs.
func (r *rendering) bytes(i Item) []byte {
	r.once.Do(func() {
		data, err := r.render(i)
		if err != nil {
			panic(err) // cannot fail: the item was checked when it was created
		}
		r.data, r.members = data, nil
	})
	return r.data
}

func (r *rendering) render(i Item) ([]byte, error) {
	if i.Record.Chunk != nil {
		return chunkData(*i.Record, r.execution, i.Event == Snapshot)
	}
	members := r.members
	if r.joined {
		fields, err := encode(*i.Entry)
		if err == nil {
			members, err = membersOf(fields)
		}
		if err != nil {
			return nil, err
		}
	}
	return eventData(*i.Record, r.execution, members)
}

// headOf returns the members with which the JSON of every record begins.
func headOf(r perdure.Record, execution uuid.UUID) commonFields {
	return commonFields{
		Seq: r.Seq, ExecutionID: execution, CreatedAt: r.CreatedAt, Place: r.Place, TaskID: r.TaskID, Attempt: r.Attempt,
	}
}

// chunkData returns the JSON of a chunk of a block. If `snapshot` is true, the chunk contains the
// whole block, which replaces the client's copy of the block.
func chunkData(r perdure.Record, execution uuid.UUID, snapshot bool) ([]byte, error) {
	c := r.Chunk
	piece := chunk{commonFields: headOf(r, execution), Offset: c.Offset, Stream: c.Stream, Snapshot: snapshot}
	if snapshot {
		piece.Type = r.Type
	}
	if c.Length > 0 {
		piece.withhold(c.Length)
	} else {
		piece.Data = content(c.Text, c.ToolCallID)
	}
	return encode(piece)
}

// eventData returns the JSON of an event. `members` are the members that only events of this type
// have.
func eventData(r perdure.Record, execution uuid.UUID, members []member) ([]byte, error) {
	head, err := encode(headOf(r, execution))
	if err != nil {
		return nil, err
	}
	return merge(head, members), nil
}
