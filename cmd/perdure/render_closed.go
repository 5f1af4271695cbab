package main

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// shows records a block of which a part is shown.
func (v *textView) shows(h client.Head) {
	if h.Text() == "" {
		return
	}
	task := taskOf(h)
	if seqs := v.spoken[task]; !slices.Contains(seqs, h.Seq) {
		v.spoken[task] = append(seqs, h.Seq)
	}
}

// taskOf returns the task of an event, uuid.Nil for the agent itself.
func taskOf(h client.Head) uuid.UUID {
	if h.TaskID == nil {
		return uuid.Nil
	}
	return *h.TaskID
}

// closed removes a closed block. The shown text of a superseded block cannot be erased. A line
// marks it as void, once for all output of its task.
func (v *textView) closed(e client.Event, h client.Head) error {
	var d struct {
		BlockSeq int64               `json:"blockSeq"`
		Reason   perdure.BlockReason `json:"reason"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	if b := v.blocks[d.BlockSeq]; b != nil && b.kind == perdure.EventToken {
		v.p.leave() // no text will continue its last paragraph
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
