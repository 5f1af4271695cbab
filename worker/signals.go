package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

const (
	// freshFor is the time after a read in which the run does not read pending signals again.
	freshFor = 20 * time.Millisecond
	// signalPage is the maximum number of signals per read.
	signalPage = 200
)

// addSignals adds to the run's pending signals those of the argument `signals` that the run does
// not have yet. Signals that a function receives again, because it was entered again, stay first.
// The others are in the order in which they were sent.
func (r *run) addSignals(signals []perdure.Signal) {
	if len(signals) == 0 {
		return
	}
	known := make(map[string]bool, len(r.signals)+len(r.pending.Take))
	for _, s := range r.signals {
		known[s.ID] = true
	}
	for _, id := range r.pending.Take {
		known[id] = true
	}
	for _, s := range signals {
		if !known[s.ID] {
			r.signals = append(r.signals, s)
		}
	}
	slices.SortStableFunc(r.signals, func(a, b perdure.Signal) int {
		switch again, too := a.State == perdure.SignalTaken, b.State == perdure.SignalTaken; {
		case again && too:
			return 0
		case again:
			return -1
		case too:
			return 1
		}
		return cmp.Compare(a.Order, b.Order)
	})
}

// setSignals replaces the pending signals of the run by those of the claim c. If the function was
// entered again, signals that it took before and that are not in the claim stay pending. A claim
// with ContinuesParked (for a parked goroutine) has only new signals, so setSignals only adds them.
func (r *run) setSignals(c perdure.AgentClaim) {
	if c.ContinuesParked {
		r.addSignals(c.Signals)
		r.more, r.fresh, r.seen = c.MoreSignals, time.Now(), max(r.seen, c.SignalsTo)
		return
	}
	again := slices.DeleteFunc(slices.Clone(r.signals), func(s perdure.Signal) bool { return s.State != perdure.SignalTaken })
	r.signals = append(again, c.Signals...)
	r.more, r.fresh, r.seen = c.MoreSignals, time.Now(), c.SignalsTo
	if n := len(c.Signals); n > 0 {
		r.seen = max(r.seen, c.Signals[n-1].Order)
	}
}

// giveAgain puts the signals `taken`, which the function has taken since its checkpoint, before all
// other pending signals. The function receives them first when it is entered again.
func (r *run) giveAgain(taken []perdure.Signal) {
	again := slices.Clone(taken)
	for i := range again {
		again[i].State = perdure.SignalTaken
	}
	r.signals = append(again, r.signals...)
}

// look reads the signals that were sent since the last read, page by page. If the last read is at
// most freshFor ago, look reads nothing. If the claim did not contain all pending signals, look
// reads only signals that match the pattern.
func (r *run) look(pattern string) error {
	if !r.more && time.Since(r.fresh) < freshFor {
		return nil
	}
	var patterns []string
	if r.more {
		patterns = []string{pattern}
	}
	for after := r.seen; ; {
		page, err := r.w.Dispatch.Signals(r.live, r.ID(), patterns, after, signalPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		r.addSignals(page)
		after = page[len(page)-1].Order
		if !r.more {
			r.seen = after
		}
	}
	if !r.more {
		r.fresh = time.Now()
	}
	return nil
}

// cover reads signals that match the patterns from the server, unless the oldest matching signal is already
// in memory.
func (r *run) cover(patterns ...string) error {
	if !r.more {
		return nil
	}
	for after := r.seen; ; {
		if s, ok := r.find(patterns...); ok && (s.State == perdure.SignalTaken || s.Order <= max(r.seen, after)) {
			return nil
		}
		page, err := r.w.Dispatch.Signals(r.live, r.ID(), patterns, after, signalPage)
		if err != nil || len(page) == 0 {
			return err
		}
		r.addSignals(page)
		after = page[len(page)-1].Order
	}
}

// find returns the first pending signal that matches one of the patterns. The bool is false if there is
// none.
func (r *run) find(patterns ...string) (perdure.Signal, bool) {
	i := r.index(patterns)
	if i < 0 {
		return perdure.Signal{}, false
	}
	return r.signals[i], true
}

func (r *run) index(patterns []string) int {
	return slices.IndexFunc(r.signals, func(s perdure.Signal) bool { return matchesAny(patterns, s.Name) })
}

// take removes the first pending signal that matches one of the patterns, and returns it. The next commit
// stores that the signal was taken. The bool is false if there is no such signal.
func (r *run) take(patterns ...string) (perdure.Signal, bool) {
	i := r.index(patterns)
	if i < 0 {
		return perdure.Signal{}, false
	}
	s := r.signals[i]
	r.signals = slices.Delete(r.signals, i, i+1)
	r.took(s)
	return s, true
}

// took makes the next commit store that the signal s was taken.
func (r *run) took(s perdure.Signal) {
	r.pending.Take = append(r.pending.Take, s.ID)
	r.taken = append(r.taken, s)
	r.takenBytes += bytesOfSignals(r.taken[len(r.taken)-1:])
	if s.State != perdure.SignalTaken && slices.Contains(r.unread, s.Name) {
		r.unread = nil
	}
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return perdure.MatchName(p, name) })
}

// WaitSignal implements agent.Context.
func (r *run) WaitSignal(pattern string, timeout time.Duration) (perdure.Signal, error) {
	return r.WaitAnySignal(timeout, pattern)
}

// WaitAnySignal implements agent.Context.
func (r *run) WaitAnySignal(timeout time.Duration, patterns ...string) (perdure.Signal, error) {
	if err := r.blocking("WaitSignal"); err != nil {
		return perdure.Signal{}, err
	}
	if len(patterns) == 0 {
		return perdure.Signal{}, perdure.FieldErrorf("patterns", "a wait for signals needs at least one")
	}
	var waits []perdure.Wait
	for _, p := range patterns {
		waits = append(waits, perdure.WaitSignal(p))
	}
	var a asking
	if timeout > 0 {
		if a = r.ask(waitName("signal", patterns...)); a.outcome == timedOut {
			return perdure.Signal{}, agent.ErrTimeout
		}
		waits = append(waits, perdure.WaitAfter(a.timer(0), timeout))
	}
	for waited := false; ; waited = true {
		if err := r.cover(patterns...); err != nil {
			return perdure.Signal{}, err
		}
		if _, ok := r.find(patterns...); ok {
			if err := r.settle(); err != nil {
				return perdure.Signal{}, err
			}
			s, _ := r.take(patterns...)
			if timeout > 0 {
				r.chose(a, signalCame)
			}
			return s, nil
		}
		if waited && timeout > 0 {
			r.chose(a, timedOut)
			return perdure.Signal{}, agent.ErrTimeout // the store's clock decides when the wait ends
		}
		if _, err := r.suspend(perdure.WaitAny(waits...)); err != nil {
			return perdure.Signal{}, err
		}
	}
}

// DrainSignals implements agent.Context.
func (r *run) DrainSignals(pattern string) ([]perdure.Signal, error) {
	if err := perdure.CheckPattern(pattern); err != nil {
		return nil, err
	}
	if err := r.look(pattern); err != nil {
		return nil, err
	}
	if _, ok := r.find(pattern); !ok {
		return nil, nil
	}
	if err := r.settle(); err != nil {
		return nil, err
	}
	var drained, kept []perdure.Signal
	for _, s := range r.signals {
		if perdure.MatchName(pattern, s.Name) {
			drained = append(drained, s)
			r.took(s)
		} else {
			kept = append(kept, s)
		}
	}
	r.signals = kept
	return drained, nil
}

// HasSignal implements agent.Context.
func (r *run) HasSignal(pattern string) (bool, error) {
	if err := perdure.CheckPattern(pattern); err != nil {
		return false, err
	}
	if _, ok := r.find(pattern); ok {
		return true, nil
	}
	if err := r.look(pattern); err != nil {
		return false, err
	}
	_, ok := r.find(pattern)
	return ok, nil
}
