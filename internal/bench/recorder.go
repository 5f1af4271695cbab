package bench

import (
	"sync"
	"time"
)

// recorder collects the times that the agents and tasks of a worker measure, until the benchmark asks for
// them. It also has gates, at which agents wait until the benchmark opens them. It is safe for concurrent
// use.
type recorder struct {
	mu      sync.Mutex
	samples map[string][]time.Duration
	gates   map[string]*gate
	changed *sync.Cond // signals a change of any gate
	closed  bool
}

// gate is a place in the code of agents at which the agents wait until the benchmark opens the
// gate.
type gate struct {
	waiting int
	open    bool
}

func newRecorder() *recorder {
	r := &recorder{samples: map[string][]time.Duration{}, gates: map[string]*gate{}}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// since records how much time has passed since `began`, under the name.
func (r *recorder) since(name string, began time.Time) {
	r.add(name, time.Since(began))
}

// now records the current time under the name, as a duration since 1970.
func (r *recorder) now(name string) { r.add(name, time.Duration(time.Now().UnixNano())) }

func (r *recorder) add(name string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples[name] = append(r.samples[name], d)
	r.changed.Broadcast()
}

// first waits until a time is recorded under the name with the method `now`, and returns the first
// such time. If the recorder is closed, it returns the zero time.
func (r *recorder) first(name string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.samples[name]) == 0 && !r.closed {
		r.changed.Wait()
	}
	if len(r.samples[name]) == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(r.samples[name][0]))
}

// take returns the durations that are recorded under the name, and deletes them from the recorder.
func (r *recorder) take(name string) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.samples[name]
	delete(r.samples, name)
	return taken
}

func (r *recorder) gate(name string) *gate {
	if r.gates[name] == nil {
		r.gates[name] = &gate{}
	}
	return r.gates[name]
}

// pass waits at the gate with the name until the gate is open, or the worker stops.
func (r *recorder) pass(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.gate(name)
	g.waiting++
	r.changed.Broadcast()
	for !g.open && !r.closed {
		r.changed.Wait()
	}
}

// reach counts an agent as arrived at the gate, but does not wait there.
func (r *recorder) reach(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate(name).waiting++
	r.changed.Broadcast()
}

// arrived waits until n agents have arrived at a gate, or the recorder is closed.
func (r *recorder) arrived(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g := r.gate(name); g.waiting < n && !r.closed; {
		r.changed.Wait()
	}
}

// open opens a gate for all agents, and returns the current time.
func (r *recorder) open(name string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate(name).open = true
	r.changed.Broadcast()
	return time.Now()
}

// close ends all waiting at gates, because the worker stops.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.changed.Broadcast()
}
