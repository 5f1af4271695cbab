package remote

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// TestCutFramesAreTheSameBlock splits random texts into pieces. It checks that the joined pieces
// are the text, and that the pieces have correct offsets, are not too large, and split no
// character. Only the last piece closes the block.
func TestCutFramesAreTheSameBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.StringN(1, 40, -1).Draw(t, "text")
		frame := perdure.Frame{
			Offset: rapid.Int64Range(0, 1<<30).Draw(t, "offset"),
			Text:   strings.Repeat(seed, rapid.IntRange(0, 8000).Draw(t, "times")),
			Close:  true, Reason: perdure.BlockTruncated, Block: 5,
		}
		joined, at := "", frame.Offset
		pieces := cut(frame)
		for i, piece := range pieces {
			last := i == len(pieces)-1
			switch {
			case piece.Offset != at:
				t.Fatalf("piece %d is at %d, not %d", i, piece.Offset, at)
			case len(piece.Text) > pieceLimit || !utf8.ValidString(piece.Text):
				t.Fatalf("piece %d has %d bytes, or cuts a character", i, len(piece.Text))
			case piece.Close != last || (piece.Reason != "") != last || piece.Block != 5:
				t.Fatalf("piece %d of %d is %v %q", i, len(pieces), piece.Close, piece.Reason)
			}
			joined += piece.Text
			at += int64(len(piece.Text))
		}
		if joined != frame.Text {
			t.Fatal("the pieces are not the text")
		}
	})
}

func TestBatchesKeepOrderAndSize(t *testing.T) {
	frames := []perdure.Frame{
		{Block: 0, Text: strings.Repeat("a", 3<<20)}, {Block: 1}, {Block: 2, Text: strings.Repeat("b", 900<<10)}, {Block: 3, Text: "c"},
	}
	var replies []perdure.FrameReply
	for b := range batches(frames) {
		size := 0
		answered := make([]perdure.FrameReply, len(b.pieces))
		for i, piece := range b.pieces {
			size += len(piece.Text)
			answered[i].Held = piece.Block*10_000_000 + piece.Offset + int64(len(piece.Text))
		}
		if size > batchLimit {
			t.Errorf("a batch has %d bytes", size)
		}
		replies = b.join(replies, answered)
	}
	want := []int64{3 << 20, 10_000_000, 20_000_000 + 900<<10, 30_000_001}
	for i, r := range replies {
		if len(replies) != len(want) || r.Held != want[i] {
			t.Fatalf("the frames were answered %+v", replies)
		}
	}
}

func TestFirstRefusalOfPiecesIsReturned(t *testing.T) {
	refused := perdure.Errorf(perdure.LeaseLost, "over")
	b := batch{of: []int{0, 0, 0}}
	got := b.join(nil, []perdure.FrameReply{{Held: 1}, {Err: refused}, {Held: 1}})
	if len(got) != 1 || got[0].Err != refused {
		t.Fatalf("the frame was answered %+v", got)
	}
}
