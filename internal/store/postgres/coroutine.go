package postgres

import "iter"

// maxIdle is how many coroutines a committer keeps for the strands of its next
// batches. Their stacks have grown to what a decision needs.
const maxIdle = 256

// coroutine runs strands, one after the other.
type coroutine struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	runs  *strand // nil: it has ended
}

// coroutines are those of a committer that run nothing.
type coroutines struct{ idle []*coroutine }

// start gives a strand a coroutine, which runs from its first next on.
func (c *coroutines) start(s *strand) {
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

// ended takes back the coroutine of a strand that has ended.
func (c *coroutines) ended(s *strand) {
	if len(c.idle) < maxIdle {
		c.idle = append(c.idle, s.coroutine)
	} else {
		s.coroutine.stop()
	}
	s.coroutine = nil
}

// close ends all that are idle.
func (c *coroutines) close() {
	for _, idle := range c.idle {
		idle.stop()
	}
	c.idle = nil
}
