package fair

import (
	"runtime/metrics"
	"time"
)

// late is the longest acceptable wait of a goroutine for a processor. While 99 % of the goroutines
// wait no longer, orgs may get more than equal parts.
const late = time.Millisecond

// pressure observes how long runnable goroutines wait for a processor.
type pressure struct {
	sample [1]metrics.Sample
	all    uint64 // number of goroutines that had waited at the last look
	long   uint64 // number of those that waited for late or longer
}

// high reports whether more than 1 % of the goroutines that waited since the last call waited for
// the duration late or longer.
func (p *pressure) high() bool {
	p.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(p.sample[:])
	return p.look(p.sample[0].Value.Float64Histogram())
}

// look is high for a given histogram. It compares the counts since the start of the process with
// those of the last call.
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
