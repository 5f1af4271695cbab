package rules

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// FuzzFrames sends a text in frames that overlap, repeat or leave gaps; `plan` contains their
// offsets and lengths. It checks that the stored text is always a prefix of the text, and that the
// missing part can then be sent.
func FuzzFrames(f *testing.F) {
	f.Add("hello world", []byte{0, 5, 3, 9, 20, 1})
	f.Add("é€😀 and more", []byte{0, 1, 1, 4, 0, 255, 7, 7})
	f.Add("abc", []byte{})
	f.Add(strings.Repeat("0123456789", 30), []byte{0, 100, 50, 100, 0, 0, 200, 3})
	f.Fuzz(func(t *testing.T, text string, plan []byte) {
		text = strings.ToValidUTF8(text, "")
		if text == "" {
			return // an empty block is not stored
		}
		a := newAssembly(t)
		held := int64(0)
		for ; len(plan) >= 2; plan = plan[2:] {
			from := min(int(plan[0]), len(text))
			to := min(from+int(plan[1]), len(text))
			for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
				from--
			}
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			want := held
			if int64(from) <= held {
				want = max(held, int64(to))
			}
			if held = a.send(int64(from), text[from:to], false); held != want || a.text != text[:held] {
				t.Fatalf("%d to %d: %d bytes are held as %q, want %d of %q", from, to, held, a.text, want, text)
			}
		}
		for range 2 {
			if got := a.send(held, text[held:], true); got != int64(len(text)) || a.text != text {
				t.Fatalf("%q was put together as %q, %d bytes", text, a.text, got)
			}
		}
	})
}

// assembly sends the frames of one block to AppendFrames, and keeps the resulting state of the
// store.
type assembly struct {
	*testing.T
	s     *store.State
	lease perdure.TaskLease
	text  string
}

func newAssembly(t *testing.T) *assembly {
	l := perdure.TaskLease{ExecutionID: uuid.New(), TaskID: uuid.New(), Attempt: 1, ClaimID: uuid.New()}
	return &assembly{T: t, lease: l, s: &store.State{
		Execution: &perdure.Execution{ID: l.ExecutionID, Status: perdure.StatusWaiting},
		Tasks:     map[uuid.UUID]*perdure.Task{l.TaskID: {ID: l.TaskID, Status: perdure.TaskRunning, Attempt: 1, ClaimID: l.ClaimID}},
		Blocks:    map[perdure.BlockKey]*store.Block{},
	}}
}

// send sends a frame to AppendFrames, and returns the stored length of the block.
func (a *assembly) send(offset int64, text string, last bool) int64 {
	a.Helper()
	changes, err := AppendFrames(a.s, []perdure.Frame{
		{Lease: &a.lease, Block: 1, Type: perdure.EventToken, Offset: offset, Text: text, Close: last},
	})
	if err != nil {
		a.Fatal(err)
	}
	for _, r := range changes.Records {
		if r.Chunk == nil {
			continue
		}
		if r.Chunk.Offset != int64(len(a.text)) || !utf8.ValidString(r.Chunk.Text) {
			a.Fatalf("a chunk at %d of %d bytes: %q", r.Chunk.Offset, len(a.text), r.Chunk.Text)
		}
		a.text += r.Chunk.Text
	}
	if changes.Head != nil {
		a.s.Head = *changes.Head
	}
	reply := changes.Answer.(*Decision).Value.([]perdure.FrameReply)[0]
	if reply.Err != nil {
		a.Fatal(reply.Err)
	}
	if a.text == "" { // a store does not store empty blocks
		clear(a.s.Blocks)
	}
	return reply.Held
}
