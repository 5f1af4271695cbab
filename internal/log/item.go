package log

import (
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Item is one element of what a reader of a log receives. It contains a typed record. [Item.Data]
// returns the record in the JSON form that clients receive. Readers share what an item points to,
// and must not change it.
type Item struct {
	// Event is the event name that clients receive: the type of the record, Snapshot, Reset or End. It
	// is "" in an item that only moves the position, and in an idle item. Idle items arrive at
	// intervals of From.Idle while there is nothing to read, so that the reader can do checks of its
	// own.
	Event perdure.EventType
	// Type is the type of the record. In a snapshot it is the type of the block.
	Type perdure.EventType
	// Cursor is the position directly after the item, from which a reader resumes.
	Cursor perdure.Cursor
	// Seq is the seq of the event or the block; 0 if the item has none.
	Seq int64
	// Record is the record that the item shows. In a snapshot it contains the whole block as one
	// chunk, and its Pos and Nonce are 0. It is nil for an item that is neither an event nor a chunk
	// nor a snapshot.
	Record *perdure.Record
	// Entry is the entry of an item of type entry.appended, as clients see it: content over 256 KiB
	// is left out.
	Entry *perdure.Entry
	// Reset is the data of the reset, if Event is Reset.
	Reset *ResetData
	// More reports that another item follows at once, so that a reader can write several together.
	More bool
	// At is the commit time of the record; zero for an item that is not a record. Live reports that
	// the reader had reached the end of the log before this item.
	At   perdure.Time
	Live bool

	rendering *rendering
	suffix    []byte // members that Data adds at the end, each preceded by a comma
}

// NewItem returns an item that is not a record of the log. `data` is the JSON object that clients
// receive.
func NewItem(event, typ perdure.EventType, seq int64, data []byte) Item {
	return Item{Event: event, Type: typ, Seq: seq, rendering: rendered(data)}
}

// Data returns the JSON object that clients receive, on one line. The first call renders the
// object; all copies of the item share the result. The caller must not change it.
func (i Item) Data() []byte {
	if i.rendering == nil {
		return nil
	}
	data := i.rendering.bytes(i)
	if len(i.suffix) == 0 {
		return data
	}
	all := append(make([]byte, 0, len(data)+len(i.suffix)), data[:len(data)-1]...)
	return append(append(all, i.suffix...), '}')
}

// WithPrevious returns the item with the two members that only filtered streams have: prevSeq, the
// seq of the newest omitted event, and prevShown, the seq of the newest event that was sent.
func (i Item) WithPrevious(omitted, shown int64) Item {
	suffix := strconv.AppendInt(append(make([]byte, 0, 64), `,"prevSeq":`...), omitted, 10)
	i.suffix = strconv.AppendInt(append(suffix, `,"prevShown":`...), shown, 10)
	return i
}

// weight returns the approximate number of bytes of the item's data, without rendering it.
func (i Item) weight() int {
	if i.Record == nil {
		return 0
	}
	n := headBytes + len(i.Record.Fields)
	if i.Record.Chunk != nil {
		n += len(i.Record.Chunk.Text)
	}
	if i.Entry != nil {
		n += len(i.Entry.Content) + len(i.Entry.Metadata)
	}
	return n
}

// headBytes is the approximate size in bytes of the members that every event has.
const headBytes = 256

// endItem returns the item that follows the last record of a log.
func endItem(at perdure.Cursor) Item {
	return Item{Event: End, Cursor: at, rendering: rendered([]byte("{}"))}
}

// resetItem returns the item that tells a reader to drop all records that it has received.
func resetItem(at perdure.Cursor, data ResetData) (Item, error) {
	raw, err := encode(data)
	return Item{Event: Reset, Cursor: at, Reset: &data, More: true, rendering: rendered(raw)}, err
}

// snapshotItem returns an item with a snapshot of a block. The caller sets the cursor.
func snapshotItem(b store.BlockContent, execution uuid.UUID) Item {
	own := &renderedRecord{record: recordOf(b), rendering: rendering{execution: execution}}
	return Item{Event: Snapshot, Type: b.Type, Seq: b.Seq, Record: &own.record, rendering: &own.rendering}
}

// recordOf returns a record with the whole block as one chunk.
func recordOf(b store.BlockContent) perdure.Record {
	r := perdure.Record{Seq: b.Seq, Type: b.Type, CreatedAt: b.CreatedAt, Place: b.Place}
	if b.Key.TaskID != uuid.Nil {
		task := b.Key.TaskID
		r.TaskID, r.Attempt = &task, int(b.Key.Attempt)
	}
	r.Chunk = &perdure.Chunk{Text: b.Content, Stream: b.Stream}
	if b.Type == perdure.EventData {
		r.Chunk.ToolCallID = b.Place.ToolCallID
	}
	if len(b.Pieces) > 0 {
		r.Chunk.Text, r.Chunk.Length = "", b.Length
	}
	return r
}

// renderedRecord is a record together with its rendering, so that both need only one allocation.
type renderedRecord struct {
	record    perdure.Record
	rendering rendering
}

// item returns the item for a record. The caller sets the cursor.
func (all entries) item(execution uuid.UUID, r perdure.Record) (Item, error) {
	if isPruned(r) {
		return Item{Seq: r.Seq}, nil
	}
	own := &renderedRecord{record: r, rendering: rendering{execution: execution}}
	i := Item{Event: r.Type, Type: r.Type, Seq: r.Seq, Record: &own.record, rendering: &own.rendering}
	var err error
	if r.Type == perdure.EventEntry {
		i.Entry, own.rendering.joined, err = all.entryOf(r)
	}
	if err == nil && r.Chunk == nil && !own.rendering.joined {
		own.rendering.members, err = membersOf(r.Fields)
	}
	return i, err
}

// entryOf returns the entry to which an event refers. The result `joined` is true if the event
// contains only the entry's id, and the entry was read from the store.
func (all entries) entryOf(r perdure.Record) (e *perdure.Entry, joined bool, err error) {
	id, err := entryNamed(r)
	if err != nil {
		return nil, false, err
	}
	if id != nil {
		e, err := shownEntry(*all[*id])
		return e, true, err
	}
	e = &perdure.Entry{}
	if err := json.Unmarshal(r.Fields, e); err != nil {
		return nil, false, &perdure.Error{Code: perdure.Internal, Message: "an entry's event does not parse", Err: err}
	}
	return e, false, nil
}
