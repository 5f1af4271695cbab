package garbage

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// idleEvery is the interval at which the allocations are measured.
	idleEvery = 5 * time.Second
	// idleBytes is the maximum number of bytes that an idle process allocates in the interval
	// idleEvery. The heartbeats of ten thousand waiting executions allocate a few mebibytes.
	idleBytes = 32 << 20
	// releaseBytes is the minimum number of bytes that the process allocates between two releases
	// of memory. Each release runs a collection, which takes 20 ms of CPU time with ten thousand
	// waiting executions.
	releaseBytes = 8 << 20
)

// releaseWhenIdle returns unused memory to the system when the process becomes idle. Otherwise a
// server with ten thousand waiting runs would keep the memory that it needed to start them. The
// function returns when ctx ends.
func releaseWhenIdle(ctx context.Context) {
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	var d idleDetector
	for {
		select {
		case <-tick.C:
			if d.release(allocated()) {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			return
		}
	}
}

// allocated returns the number of bytes that the process has allocated since its start.
func allocated() uint64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}

// idleDetector contains the numbers of bytes that the process had allocated at the last measurement
// and at the last release of memory.
type idleDetector struct{ measured, released uint64 }

// release reports whether to return memory to the system now. The parameter allocated is the number
// of bytes that the process has allocated since its start.
func (d *idleDetector) release(allocated uint64) bool {
	idle := allocated-d.measured < idleBytes
	d.measured = allocated
	if !idle || allocated-d.released < releaseBytes {
		return false
	}
	d.released = allocated
	return true
}
