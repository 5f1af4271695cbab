package pipe

import "iter"

// maxIdle is the maximum number of idle coroutines that a committer keeps for later strands (pieces
// of work in a pipe). The stack of a kept coroutine has already grown to the necessary size.
const maxIdle = 256

// coroutine runs strands (pieces of work in a pipe), one after the other.
type coroutine struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	runs  *strand // the strand that runs; nil after its end
}

// Coroutines contains a committer's idle coroutines.
type Coroutines struct{ idle []*coroutine }

// start assigns an idle or new coroutine to a strand. The coroutine's first `next` begins the work
// of the strand.
func (c *Coroutines) start(s *strand) {
	if n := len(c.idle); n > 0 {
		s.coroutine, c.idle = c.idle[n-1], c.idle[:n-1]
		s.coroutine.runs = s
		return
	}
	made := &coroutine{runs: s}
	made.next, made.stop = iter.Pull(func(yield func(struct{}) bool) {
		made.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			made.runs.err = made.runs.work(made.runs)
			made.runs = nil
		}
	})
	s.coroutine = made
}

// ended keeps the coroutine of an ended strand for later strands, or stops it if there are maxIdle
// idle coroutines.
func (c *Coroutines) ended(s *strand) {
	if len(c.idle) < maxIdle {
		c.idle = append(c.idle, s.coroutine)
	} else {
		s.coroutine.stop()
	}
	s.coroutine = nil
}

// Close stops all idle coroutines.
func (c *Coroutines) Close() {
	for _, idle := range c.idle {
		idle.stop()
	}
	c.idle = nil
}
