package fold_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/log/fold"
)

// chunk returns a record that adds text to a block of the message m.
func chunk(kind perdure.EventType, seq, offset int64, text string) fold.Event {
	return fold.Event{Record: &perdure.Record{
		Seq: seq, Type: kind, Place: perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m"}, Chunk: &perdure.Chunk{Offset: offset, Text: text},
	}}
}

func stored(content string) fold.Event {
	return fold.Event{
		Record: &perdure.Record{Seq: 9, Type: perdure.EventEntry, Place: perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m"}},
		Entry:  &perdure.Entry{ID: uuid.Nil, Type: perdure.EntryMessage, Role: perdure.RoleAssistant, Content: json.RawMessage(content)},
	}
}

// changes applies events to a new tree. It returns a text that describes what the last event has
// changed.
func changes(t *testing.T, all ...fold.Event) string {
	t.Helper()
	f := fold.NewTree(uuid.Nil)
	var words []string
	for _, e := range all {
		words = nil
		changes, err := f.Apply(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			name := [...]string{"opened", "grew", "replaced", "closed", "withdrawn", "stored", "settled", "answered"}[c.Kind]
			if c.Part != nil {
				name += fmt.Sprintf(" %d", c.Part.Seq)
			}
			words = append(words, strings.TrimSpace(name+" "+c.Text))
		}
	}
	return strings.Join(words, ", ")
}

// TestStoredPartsSettleThoseThatGrew checks that each part of a stored message is matched with the
// next streamed part of the same type. A streamed part that is not in the stored message is
// withdrawn.
func TestStoredPartsSettleThoseThatGrew(t *testing.T) {
	thought, first, second := chunk(perdure.EventThinking, 1, 0, "hm"), chunk(perdure.EventToken, 2, 0, "one"), chunk(perdure.EventToken, 3, 0, "two")
	for content, want := range map[string]string{
		`{"parts":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"one"},{"type":"text","text":"two"}]}`: "stored, settled 1, settled 2, settled 3",
		`{"parts":[{"type":"text","text":"one"}]}`: "stored, settled 2, withdrawn 1, withdrawn 3",
		`{"parts":[{"type":"text","text":""},{"type":"text","text":"one"},{"type":"toolCall","id":"c","name":"bash"}]}`: "stored, settled 2, settled 0, withdrawn 1, withdrawn 3",
	} {
		if got := changes(t, thought, first, second, stored(content)); got != want {
			t.Errorf("%s: %s, want %s", content, got, want)
		}
	}
}

// TestTextStaysUntilItsContentIsKnown checks that a streamed text remains in the tree if the event
// of the stored message does not contain the content.
func TestTextStaysUntilItsContentIsKnown(t *testing.T) {
	e := stored("")
	e.Entry.ContentBytes = 300 << 10
	if got := changes(t, chunk(perdure.EventToken, 1, 0, "much"), e); got != "stored" {
		t.Errorf("the changes are %s", got)
	}
}

func TestChunksGrowTheirParts(t *testing.T) {
	one := chunk(perdure.EventToken, 1, 0, "Hello")
	whole := chunk(perdure.EventToken, 1, 0, "Hello, world")
	whole.Whole = true
	closed := fold.Event{Record: &perdure.Record{Seq: 2, Type: perdure.EventBlockClosed, Fields: json.RawMessage(`{"blockSeq":1,"reason":"done"}`)}}
	withheld := chunk(perdure.EventToken, 1, 5, "")
	withheld.Record.Chunk.Length = 7
	for want, all := range map[string][]fold.Event{
		"opened 1, grew 1 Hello":  {one},
		"grew 1 , world":          {one, chunk(perdure.EventToken, 1, 2, "llo, world")},
		"grew 1":                  {one, one},
		"replaced 1 Hello, world": {one, whole},
		"closed 1":                {one, closed},
		"":                        {one, closed, closed},
	} {
		if got := changes(t, all...); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for name, all := range map[string][]fold.Event{"withheld": {one, withheld}, "after a hole": {one, chunk(perdure.EventToken, 1, 9, "ld")}} {
		var b fold.Blocks
		var p fold.Piece
		for _, e := range all {
			p = b.Take(e)
		}
		if !p.Lacks || p.Text != "" || p.Block.Held != 5 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
