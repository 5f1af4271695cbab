package garbage

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// every is how often it is looked whether the process rests.
	every = 5 * time.Second
	// little is what a process that rests allocates at most in that time, in bytes:
	// heartbeats of ten thousand executions that wait are a few mebibytes.
	little = 32 << 20
	// worth is how much has to have been allocated since memory was given back for it
	// to be worth doing again. A collection of what ten thousand waiting executions
	// take is 20 ms of CPU time.
	worth = 8 << 20
)

// rest gives memory back to the system when the process has had much to do and
// now has not: a server whose ten thousand runs wait takes what they need, not what
// starting them needed. That goes for what is mapped of the program's file, too: each
// package's start touches a page here and there, and with its neighbours that is
// nearly all of it. It returns when ctx ends.
func rest(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var r resting
	for {
		select {
		case <-tick.C:
			if r.look(allocated()) {
				debug.FreeOSMemory()
				givePages()
			}
		case <-ctx.Done():
			return
		}
	}
}

// allocated is what the process has allocated since its start, in bytes.
func allocated() uint64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}

// resting remembers what had been allocated.
type resting struct{ last, given uint64 }

// look reports whether to give memory back now.
func (r *resting) look(allocated uint64) bool {
	quiet := allocated-r.last < little
	r.last = allocated
	if !quiet || allocated-r.given < worth {
		return false
	}
	r.given = allocated
	return true
}
