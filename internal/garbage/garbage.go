// Package garbage sets how much a process may leave behind before the garbage
// collector runs, and when it gives memory back.
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
	// room is how much may be left behind however little is in use, in bytes. By
	// default that is as much as is in use: a process that holds 4 MiB, as a server
	// with few runs does, would collect some 50 times a second under load. With half
	// of it, collecting took a fifteenth of the CPU time of short tasks.
	room = 64 << 20
	// least and most are bounds of it, in percent of what is in use; least is the
	// runtime's own default.
	least, most = 100, 400
	// again is by how much a percentage has to differ from the one that holds for it
	// to be worth stopping the process to set it, as a part of that.
	again = 0.1
)

// Ease lets a small process collect less often, for as long as it is small: what it
// takes in memory is at most room more, and one that has come to rest gives back
// what it needs no longer, until ctx ends. It does nothing where GOGC or GOMEMLIMIT
// say what is wanted. Commands that run for long call it once, at their start.
func Ease(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	e := &easing{percent: least}
	e.after()
	go rest(ctx)
}

// easing looks again after each collection.
type easing struct{ percent int }

// after is called by the runtime once a collection has found out what is in use. A
// new object stands for the next collection.
func (e *easing) after() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	next := percentFor(live[0].Value.Uint64())
	if math.Abs(float64(next-e.percent)) > again*float64(e.percent) {
		e.percent = next
		debug.SetGCPercent(next)
	}
	sentinel := new([16]byte)
	runtime.AddCleanup(sentinel, (*easing).after, e)
}

// percentFor returns how much may be left behind beside so many bytes in use.
func percentFor(live uint64) int {
	return max(least, min(most, int(100*room/max(live, 1))))
}
