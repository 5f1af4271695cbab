package fair

import (
	"runtime/metrics"
	"time"
)

// late is the longest acceptable wait of a goroutine for a processor. An org may get more than its
// equal part of the processors only while 99 % of the goroutines wait for less time than `late`.
const late = time.Millisecond

// pressure observes how long runnable goroutines wait for a processor.
type pressure struct {
	sample [1]metrics.Sample
	all    uint64 // number of goroutines that had waited before the last call of look
	long   uint64 // number of those that had waited for at least the duration `late`
}

// high reports whether more than 1 % of the goroutines that got a processor since the last call of
// high had waited for at least the duration `late`.
func (p *pressure) high() bool {
	p.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(p.sample[:])
	return p.look(p.sample[0].Value.Float64Histogram())
}

// look computes the result of high from a histogram of waits. The histogram counts from the start
// of the process, so look subtracts the counts from its previous call.
func (p *pressure) look(h *metrics.Float64Histogram) bool {
	all, long := uint64(0), uint64(0)
	for i, n := range h.Counts {
		all += n
		if h.Buckets[i] >= late.Seconds() {
			long += n
		}
	}
	newAll, newLong := all-p.all, long-p.long
	p.all, p.long = all, long
	return newLong*100 > newAll
}
