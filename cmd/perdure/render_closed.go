package main

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// shows notes a block of which something is shown.
func (v *textView) shows(h client.Head) {
	if h.Text() == "" {
		return
	}
	task := taskOf(h)
	if seqs := v.spoken[task]; !slices.Contains(seqs, h.Seq) {
		v.spoken[task] = append(seqs, h.Seq)
	}
}

// taskOf is the task that said something, or none for the agent itself.
func taskOf(h client.Head) uuid.UUID {
	if h.TaskID == nil {
		return uuid.Nil
	}
	return *h.TaskID
}

// closed forgets a block that grows no more. What was shown of a superseded one
// cannot be taken back, only be called void, once for all that its task said.
func (v *textView) closed(e client.Event, h client.Head) error {
	var d struct {
		BlockSeq int64               `json:"blockSeq"`
		Reason   perdure.BlockReason `json:"reason"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	if b := v.blocks[d.BlockSeq]; b != nil && b.kind == perdure.EventToken {
		v.p.leave() // nothing more comes that could continue with its last paragraph
	}
	delete(v.blocks, d.BlockSeq)
	task := taskOf(h)
	if d.Reason == perdure.BlockSuperseded && slices.Contains(v.spoken[task], d.BlockSeq) {
		delete(v.spoken, task)
		v.notice(styleWarn, "what was said above does not count")
	}
	if h.TaskID == nil {
		delete(v.spoken, uuid.Nil)
	}
	return v.p.err
}
