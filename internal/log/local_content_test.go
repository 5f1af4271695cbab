package log_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

// withhold replaces the texts of a log by their lengths. The log then equals that of a LOCAL
// execution whose texts only the worker stores.
func (b *memoryLog) withhold() {
	for i, r := range b.records {
		if r.Chunk != nil {
			b.records[i].Chunk = &perdure.Chunk{Offset: r.Chunk.Offset, Length: int64(len(r.Chunk.Text))}
		}
	}
	for _, block := range b.blocks {
		block.Length, block.Pieces = int64(len(block.Content)), []store.Piece{{Pos: block.FirstPos, Length: int64(len(block.Content))}}
		block.Content = ""
	}
}

// TestWithheldPiecesKeepTheirPlaces checks that if only the worker stores the texts, a reader gets
// each chunk with its offset and length.
func TestWithheldPiecesKeepTheirPlaces(t *testing.T) {
	b := newMemoryLog()
	b.event(perdure.EventCreated, "{}")
	one := b.chunk(0, "hello")
	b.chunk(one, ", world")
	b.closeBlock(one, perdure.BlockDone)
	b.event(perdure.EventCompleted, "{}")
	b.withhold()
	items := all(t, b.log(), eventlog.From{})
	if len(items) != 6 {
		t.Fatalf("%d items came, want 6: %s", len(items), lines(items))
	}
	for i, want := range []string{`"offset":0,"length":5,"content":"worker"}`, `"offset":5,"length":7,"content":"worker"}`} {
		if got := string(items[1+i].Data()); !strings.HasSuffix(got, want) || items[1+i].Seq != one {
			t.Errorf("piece %d is %s", i, got)
		}
	}
}

// TestWithheldBlocksAreGivenByLength checks that if only the worker stores the text of a block, a
// snapshot of the block contains the text's length instead. Open and closed blocks are checked.
func TestWithheldBlocksAreGivenByLength(t *testing.T) {
	for _, closed := range []bool{false, true} {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		one := b.chunk(0, "hello")
		b.chunk(one, ", world")
		b.withhold()
		if closed {
			b.closeBlock(one, perdure.BlockDone)
		}
		b.event(perdure.EventCompleted, "{}")
		items := all(t, b.log(), eventlog.From{AfterSeq: &one})
		if items[0].Event != eventlog.Snapshot || !strings.HasSuffix(string(items[0].Data()), `"type":"token","length":12,"content":"worker","snapshot":true}`) {
			t.Errorf("closed %v: after %d comes %s", closed, one, items[0].Data())
		}
	}
}

// TestWithheldEntryIsNamedByItsHash checks that if only the worker stores the content of an entry,
// the event of the entry has the length and hash of the content.
func TestWithheldEntryIsNamedByItsHash(t *testing.T) {
	b := newMemoryLog()
	ref := perdure.ContentRef(execution, []byte("hello"))
	e := &perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Blob: &ref, CreatedAt: noon}
	b.entries[e.ID] = e
	b.event(perdure.EventEntry, `{"entryId":"`+e.ID.String()+`"}`)
	b.event(perdure.EventCompleted, "{}")
	i := all(t, b.log(), eventlog.From{})[0]
	if member[string](t, i, "content") != "worker" || member[int64](t, i, "contentBytes") != 5 || member[string](t, i, "contentSha256") != ref.SHA256.String() {
		t.Errorf("the entry's event is %s", i.Data())
	}
}
