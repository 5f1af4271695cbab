// Package garbage sets the amount of garbage after which the collector runs, and returns memory to
// the system while the process is idle. It uses only the runtime's own functions.
package garbage

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// headroom is the number of bytes of garbage that a small process may accumulate before the
	// collector runs. Go's default is the size of the live heap. A server with few runs has a live
	// heap of 4 MiB, and under load the collector would run some 50 times per second.
	headroom = 64 << 20
	// minPercent and maxPercent are the limits of GOGC. minPercent is the runtime's default.
	minPercent, maxPercent = 100, 400
	// minChange is the minimum relative change of GOGC that is applied, because each change stops
	// the process for a moment.
	minChange = 0.1
)

// Ease makes the collector run less often while the process is small. The process then uses more
// memory, but at most 64 MiB more (headroom). Until ctx ends, Ease also returns memory to the system
// while the process is idle. Ease does nothing if GOGC or GOMEMLIMIT is set. Commands that run for a
// long time call it once, at their start.
func Ease(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	p := &pacer{percent: minPercent}
	p.adjust()
	go releaseWhenIdle(ctx)
}

// pacer adjusts GOGC (the runtime's setting of the garbage collector) after each collection.
type pacer struct{ percent int }

// adjust sets GOGC for the current size of the live heap. It then allocates an object without
// references. The next collection frees the object, and the runtime therefore calls adjust again.
func (p *pacer) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	next := percentFor(live[0].Value.Uint64())
	if math.Abs(float64(next-p.percent)) > minChange*float64(p.percent) {
		p.percent = next
		debug.SetGCPercent(next)
	}
	sentinel := new([16]byte)
	runtime.AddCleanup(sentinel, (*pacer).adjust, p)
}

// percentFor returns the value of GOGC for a live heap of `live` bytes.
func percentFor(live uint64) int {
	return max(minPercent, min(maxPercent, int(100*headroom/max(live, 1))))
}
