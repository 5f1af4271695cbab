package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// watch monitors all open streams with one goroutine, which runs while there are streams. It ends
// the streams when the server stops, and rechecks each of their keys at intervals.
type watch struct {
	s *server

	mu    sync.Mutex // guards the fields below
	open  map[*watched]bool
	leave chan struct{} // closed to end the goroutine
	over  chan struct{} // closed at the end of the goroutine
	// stopped is set when the server stops; streams opened later end at once.
	stopped bool
}

// watched is one open stream.
type watched struct {
	caller
	cancel context.CancelCauseFunc
}

// enter returns the context of a stream that the request of ctx opens, and the function that the
// stream calls at its end. The context's cause is errStopping or errKeyOver if the server ends the
// stream.
func (w *watch) enter(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &watched{callerOf(ctx), cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		w.open = map[*watched]bool{}
		w.leave, w.over = make(chan struct{}), make(chan struct{})
		go w.run(w.leave, w.over)
	}
	w.open[one] = true
	if w.stopped {
		cancel(errStopping)
	}
	return ctx, func() { w.exit(one) }
}

// exit removes a stream. For the last stream it waits until the goroutine has ended.
func (w *watch) exit(one *watched) {
	one.cancel(nil)
	w.mu.Lock()
	delete(w.open, one)
	var over chan struct{}
	if len(w.open) == 0 {
		close(w.leave)
		over = w.over
	}
	w.mu.Unlock()
	if over != nil {
		<-over
	}
}

func (w *watch) run(leave, over chan struct{}) {
	defer close(over)
	look := time.NewTicker(w.s.RecheckEvery)
	defer look.Stop()
	for {
		select {
		case <-w.s.Stop:
			w.stopping(leave)
			return
		case <-look.C:
			w.lookAgain()
		case <-leave:
			return
		}
	}
}

// stopping ends all streams, including later ones, until none is left.
func (w *watch) stopping(leave chan struct{}) {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.end(errStopping, func(caller) bool { return true })
	<-leave
}

func (w *watch) end(cause error, which func(caller) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.open {
		if which(one.caller) {
			one.cancel(cause)
		}
	}
}

// lookAgain ends the streams whose keys are no longer valid.
func (w *watch) lookAgain() {
	callers := map[caller]bool{}
	w.mu.Lock()
	for one := range w.open {
		callers[one.caller] = true
	}
	w.mu.Unlock()
	for c := range callers {
		select {
		case <-w.s.Stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), w.s.RecheckEvery+time.Second)
		err := w.s.keyOver(ctx, c)
		cancel()
		if err != nil {
			w.end(err, func(other caller) bool { return other == c })
		}
	}
}

// recheck rechecks the key of one long request.
type recheck struct {
	s  *server
	at time.Time // of the last check
}

func (k *recheck) still(ctx context.Context) error {
	if time.Since(k.at) < k.s.RecheckEvery {
		return nil
	}
	k.at = time.Now()
	return k.s.keyOver(ctx, callerOf(ctx))
}

// keyOver returns errKeyOver if the key no longer belongs to the caller, or its session has ended.
// It returns nil if the store does not answer.
func (s *server) keyOver(ctx context.Context, c caller) error {
	key, _, err := s.vouch(ctx, c.proof)
	switch {
	case perdure.IsCode(err, perdure.Unauthenticated), perdure.IsCode(err, perdure.PermissionDenied):
		return errKeyOver
	case err != nil:
		return nil
	case key.Operator && c.operator:
		if err := s.Engine.OrgWorks(ctx, c.org); perdure.IsCode(err, perdure.PermissionDenied) {
			return errKeyOver
		}
	case key.Org != c.org || key.Role != c.role:
		return errKeyOver
	}
	return nil
}
