package rules

import (
	"errors"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// FrameNeeds says which rows the engine must read into the store.State that it passes to AppendFrames.
func FrameNeeds(frames []perdure.Frame) store.Needs {
	var n store.Needs
	for _, f := range frames {
		n.Blocks = append(n.Blocks, keyOf(f))
		if f.Lease != nil {
			n.Tasks = append(n.Tasks, f.Lease.TaskID)
		}
	}
	return n
}

func keyOf(f perdure.Frame) perdure.BlockKey {
	if f.Lease != nil {
		return perdure.BlockKey{TaskID: f.Lease.TaskID, Attempt: int64(f.Lease.Attempt), Block: f.Block}
	}
	return perdure.BlockKey{Attempt: f.AgentLease.Fence, Block: f.Block}
}

// AppendFrames appends frames of one execution to its log, in order. A frame is an event, or a
// piece of a block's text, that a worker sends. The command's result is a
// []perdure.FrameReply. If AppendFrames refuses a frame, the reply to this frame contains the error,
// and the other frames are stored.
func AppendFrames(s *store.State, frames []perdure.Frame) (*store.Changes, error) {
	replies := make([]perdure.FrameReply, len(frames))
	d := begin(s)
	for i, f := range frames {
		held, err := d.frame(f)
		replies[i].Held = held
		if err != nil {
			var coded *perdure.Error
			if !errors.As(err, &coded) {
				return nil, err
			}
			replies[i].Err = coded
		}
	}
	return d.doneLog(replies), nil
}

// frame stores one frame, and returns the stored length of its block. It skips bytes and events
// that are stored already. If the frame begins after the stored length, nothing is stored, because
// the bytes in between are missing.
func (d *draft) frame(f perdure.Frame) (int64, error) {
	if f.Lease != nil && !TaskHeldBy(d.s.Tasks[f.Lease.TaskID], *f.Lease) {
		return 0, taskLeaseLost(f.Lease.TaskID)
	}
	if f.AgentLease != nil && !HeldBy(d.x, *f.AgentLease) {
		return 0, leaseLost(f.AgentLease.ExecutionID)
	}
	if err := checkFrame(f); err != nil {
		return 0, err
	}
	key := keyOf(f)
	b := d.s.Blocks[key]
	if f.Fields != nil {
		return 0, d.frameEvent(f, key, b)
	}
	switch f.Type {
	case perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, perdure.EventData:
	default:
		return 0, perdure.FieldErrorf("type", "%q is no type of a block", f.Type)
	}
	if b == nil {
		b = &store.Block{Key: key, Type: f.Type, Place: d.placed(f.Place), Stream: f.Stream, CreatedAt: d.s.Now, Open: true}
		d.s.Blocks[key] = b
	}
	return d.grow(b, f)
}

// checkFrame returns an error for a frame with texts that not every store can hold. Zero bytes are
// allowed in the text of a block, because terminal output has them.
func checkFrame(f perdure.Frame) error {
	if !utf8.ValidString(f.Text) {
		return perdure.FieldErrorf("text", "is not valid UTF-8")
	}
	f.Text = ""
	if err := validate.Texts("", f); err != nil {
		return err
	}
	return validate.JSON("fields", f.Fields)
}

func (d *draft) grow(b *store.Block, f perdure.Frame) (int64, error) {
	if f.Offset > b.Length || !b.Open {
		return b.Length, nil
	}
	if known := b.Length - f.Offset; known < int64(len(f.Text)) {
		if d.local() && f.Sum == (perdure.Hash{}) {
			return b.Length, perdure.FieldErrorf("sha256", "is missing; a LOCAL execution's block comes with its SHA-256 so far")
		}
		if err := d.chunk(b, f.Text[known:], f.ToolCallID, f.Sum); err != nil {
			return b.Length, err
		}
		d.putBlock(b)
	}
	if !f.Close {
		return b.Length, nil
	}
	if b.FirstPos == 0 {
		delete(d.s.Blocks, b.Key) // an empty block is not stored
		return 0, nil
	}
	reason := f.Reason
	if reason == "" {
		reason = perdure.BlockDone
	}
	return b.Length, d.closeBlock(b, reason)
}

func (d *draft) frameEvent(f perdure.Frame, key perdure.BlockKey, known *store.Block) error {
	if known != nil {
		return nil
	}
	if !MayEmit(f.Type) {
		return perdure.FieldErrorf("type", "%q is not an event that a task may emit", f.Type)
	}
	id, attempt := blockSource(key)
	d.emit(perdure.Record{Type: f.Type, Place: d.placed(f.Place), TaskID: id, Attempt: attempt, Fields: f.Fields})
	spent := store.Block{Key: key, Seq: d.s.Head.LastSeq, Type: f.Type, CreatedAt: d.s.Now, FirstPos: d.s.Head.LastPos, LastPos: d.s.Head.LastPos, Event: true}
	d.s.Blocks[key] = &spent
	d.putBlock(&spent)
	return nil
}

// MayEmit reports whether agent code and task code may emit events of the type.
func MayEmit(t perdure.EventType) bool { return t == perdure.EventData || t == perdure.EventError }
