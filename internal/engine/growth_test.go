package engine

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
)

// TestGrowthIsWhatTheStoreGives checks that a Growth has the same records as the stored log, and
// that its Head has the same last pos, last seq and epoch.
func TestGrowthIsWhatTheStoreGives(t *testing.T) {
	b := newBench(t)
	var grown []perdure.Record
	b.e.Grown = func(g Growth) bool {
		head, err := b.s.LogHead(t.Context(), g.Execution)
		b.must(err)
		if g.Head.LastPos != head.LastPos || g.Head.LastSeq != head.LastSeq || g.Head.Epoch != head.Epoch {
			t.Errorf("handed over with the head %+v, the store says %+v", g.Head, head)
		}
		grown = append(grown, g.Records...)
		return true
	}
	h := b.started()
	place := perdure.Place{ResponseID: "r", TurnID: "t", MessageID: "m"}
	_, claim := h.scheduled(`1`)
	task := claim.Lease
	for _, f := range []perdure.Frame{
		{AgentLease: &h.claim.Lease, Block: 0, Type: perdure.EventToken, Place: place, Text: "Hé"},
		{Lease: &task, Block: 0, Type: perdure.EventTerminal, Stream: "stderr", Text: "oops\n"},
		{AgentLease: &h.claim.Lease, Block: 0, Type: perdure.EventToken, Place: place, Offset: 3, Text: "llo"},
		{Lease: &task, Block: 1, Type: perdure.EventThinking, Place: place, Text: "hm"},
		{Lease: &task, Block: 1, Type: perdure.EventThinking, Place: place, Offset: 2, Text: "m", Close: true}, // also writes an event, so the commit has no Growth
		{AgentLease: &h.claim.Lease, Block: 1, Type: perdure.EventData, ToolCallID: "c", Text: "{"},
		{AgentLease: &h.claim.Lease, Block: 2, Type: perdure.EventData, Fields: json.RawMessage(`{"data":{}}`)},
	} {
		_, err := b.d.Append(t.Context(), []perdure.Frame{f})
		b.must(err)
	}
	if len(grown) != 4 {
		t.Fatalf("%d records were handed over, want those of the first four frames", len(grown))
	}
	stored := map[int64]perdure.Record{}
	for _, r := range b.log(h.id) {
		stored[r.Pos] = r
	}
	for _, r := range grown {
		if !reflect.DeepEqual(r, stored[r.Pos]) {
			t.Errorf("handed over was\n%+v %+v\nthe store gives\n%+v %+v", r, r.Chunk, stored[r.Pos], stored[r.Pos].Chunk)
		}
	}
}

// TestHintIsSparedWhereGrowthIsTaken checks that readers in this process get no hint about a log if
// Config.Grown has passed the Growth on to them. They get a hint if Grown returns false, and if the
// commit added an event.
func TestHintIsSparedWhereGrowthIsTaken(t *testing.T) {
	for _, taken := range []bool{true, false} {
		b := newBench(t)
		b.e.Grown = func(Growth) bool { return taken }
		h := b.started()
		hints, stop := b.e.Hints.Subscribe(notify.Log(h.id))
		_, err := b.d.Append(t.Context(), []perdure.Frame{{AgentLease: &h.claim.Lease, Type: perdure.EventToken, Text: "a"}})
		b.must(err)
		if (len(hints) == 0) != taken {
			t.Errorf("taken: %v, and %d hints", taken, len(hints))
		}
		for len(hints) > 0 {
			<-hints
		}
		_, err = b.d.Append(t.Context(), []perdure.Frame{{AgentLease: &h.claim.Lease, Type: perdure.EventToken, Offset: 1, Text: "b", Close: true}})
		b.must(err)
		if len(hints) != 1 {
			t.Errorf("an event gave %d hints", len(hints))
		}
		stop()
	}
}
