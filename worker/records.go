package worker

import "github.com/perdure/perdure"

// countRecords stores how many records the server counts since the newest checkpoint. It warns once
// when the number n reaches ManyRecords, because every resume reads these records. It creates no
// checkpoint: a checkpoint would consume signals, and drop outcomes of waits that the function
// requests again. The worker cannot count records itself: a function that is entered again may
// schedule tasks that are already stored.
func (r *run) countRecords(n int64) {
	before := r.records
	r.records = n
	if before < perdure.ManyRecords && n >= perdure.ManyRecords {
		r.log().Warn("the execution has many records since its newest checkpoint, and each resume reads all of them; make checkpoints, or use agent.Loop", "records", n)
	}
}
