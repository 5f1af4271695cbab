package bench

import (
	"fmt"
	"math"
	"runtime/metrics"
	"time"
)

// schedulerStats describes a process since its start: how long its goroutines waited for a processor,
// and what its garbage collector did.
type schedulerStats struct {
	Bounds []time.Duration // lower bounds of the buckets
	Counts []uint64        // goroutines by how long they waited for a processor
	// Collecting is the CPU time of the garbage collector. Stopped is the number of times that the
	// garbage collector stopped the program, by duration, in the buckets of Stops.
	Collecting time.Duration
	Stops      []time.Duration
	Stopped    []uint64
}

func readSchedulerStats() schedulerStats {
	all := []metrics.Sample{{Name: "/sched/latencies:seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(all)
	var s schedulerStats
	s.Bounds, s.Counts = histogram(all[0])
	s.Collecting = time.Duration(all[1].Value.Float64() * float64(time.Second))
	s.Stops, s.Stopped = histogram(all[2])
	return s
}

func histogram(of metrics.Sample) (bounds []time.Duration, counts []uint64) {
	h := of.Value.Float64Histogram()
	for i, n := range h.Counts {
		lower := h.Buckets[i]
		if math.IsInf(lower, -1) {
			lower = 0
		}
		bounds, counts = append(bounds, time.Duration(lower*float64(time.Second))), append(counts, n)
	}
	return bounds, counts
}

// within describes the scheduling since an earlier measurement; d is the time since then.
func (s schedulerStats) within(before schedulerStats, d time.Duration) string {
	stopped := since(s.Stopped, before.Stopped)
	waits := since(s.Counts, before.Counts)
	return fmt.Sprintf("goroutines waited for a processor p50 %s ms, p99 %s ms; the collector used %.2f cores and stopped the program at most %s ms",
		ms(quantileOf(s.Bounds, waits, 0.5)), ms(quantileOf(s.Bounds, waits, 0.99)), (s.Collecting-before.Collecting).Seconds()/d.Seconds(), ms(quantileOf(s.Stops, stopped, 1)))
}

func since(now, before []uint64) []uint64 {
	difference := make([]uint64, len(now))
	for i, n := range now {
		difference[i] = n - before[i]
	}
	return difference
}

// quantileOf returns the lower bound of the bucket that contains the quantile.
func quantileOf(bounds []time.Duration, counts []uint64, q float64) time.Duration {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	rank, passed := uint64(math.Ceil(q*float64(total))), uint64(0)
	for i, n := range counts {
		if passed += n; n > 0 && passed >= rank {
			return bounds[i]
		}
	}
	return 0
}
