package worker

import "github.com/perdure/perdure"

// countRecords stores the number n of records that the server has counted since the newest
// checkpoint. When n reaches ManyRecords, it logs one warning, because the worker reads all these
// records whenever the function is entered again. It does not make a checkpoint by itself: a
// checkpoint would consume signals, and drop recorded outcomes of waits, which the function needs
// when it is entered again.
//
// Only the server can count records: a function that is entered again may schedule tasks that are
// already stored.
func (r *run) countRecords(n int64) {
	before := r.records
	r.records = n
	if before < perdure.ManyRecords && n >= perdure.ManyRecords {
		r.log().Warn("the execution has many records since its newest checkpoint, and each resume reads all of them; make checkpoints, or use agent.Loop", "records", n)
	}
}
