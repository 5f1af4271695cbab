package worker

import "github.com/perdure/perdure"

// countRecords counts the records that a commit has stored. It warns once when each resume has to
// read many. It creates no checkpoint: that would consume signals, and drop outcomes of waits that
// the function requests again.
func (r *run) countRecords(c perdure.Commit) {
	before := r.records
	if c.Checkpoint != nil {
		r.records = 0
		return
	}
	r.records += int64(len(c.Steps) + len(c.Tasks))
	if before < perdure.ManyRecords && r.records >= perdure.ManyRecords {
		r.log().Warn("the execution has many records since its newest checkpoint, and each resume reads all of them; make checkpoints, or use agent.Loop", "records", r.records)
	}
}
