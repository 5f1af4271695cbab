package terminal

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// markShown records that a part of a block is shown.
func (v *TextView) markShown(r *perdure.Record) {
	if r.Chunk.Text == "" {
		return
	}
	task := taskOf(r)
	if seqs := v.shownSeqs[task]; !slices.Contains(seqs, r.Seq) {
		v.shownSeqs[task] = append(seqs, r.Seq)
	}
}

// taskOf returns the task of an event, uuid.Nil for the agent itself.
func taskOf(r *perdure.Record) uuid.UUID {
	if r.TaskID == nil {
		return uuid.Nil
	}
	return *r.TaskID
}

// closeBlock removes a closed block from the view. If a part of the block was shown and the block
// is superseded, closeBlock prints a line that says so, because shown text cannot be erased. It
// prints only one such line for all blocks that a task has shown until then.
func (v *TextView) closeBlock(r *perdure.Record) error {
	_, d, err := v.open.Close(r)
	if err != nil {
		return err
	}
	if b := v.blocks[d.BlockSeq]; b != nil && b.kind == perdure.EventToken {
		v.p.beforeSection() // the last paragraph of the block gets no more text
	}
	delete(v.blocks, d.BlockSeq)
	task := taskOf(r)
	if d.Reason == perdure.BlockSuperseded && slices.Contains(v.shownSeqs[task], d.BlockSeq) {
		delete(v.shownSeqs, task)
		v.notice(StyleWarn, "what was said above does not count")
	}
	if r.TaskID == nil {
		delete(v.shownSeqs, uuid.Nil)
	}
	return v.p.err
}
