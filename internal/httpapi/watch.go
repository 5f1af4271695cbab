package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// watch sees to all open streams with one goroutine: it ends them when the
// server stops, and looks at each of their keys now and then, however many
// streams were opened with it. It runs while there are streams.
type watch struct {
	s *server

	mu    sync.Mutex // guards what follows
	open  map[*watched]bool
	leave chan struct{} // ends the goroutine
	over  chan struct{} // closed at its end
	// stopped says that what is opened now is over at once.
	stopped bool
}

// watched is one open stream.
type watched struct {
	caller
	cancel context.CancelCauseFunc
}

// enter returns the context of a stream that the request of ctx opens, and the
// function that the stream calls at its end. The context's cause says what ended
// it: errStopping or errKeyOver.
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

// exit waits, for the last stream, until the goroutine has ended.
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

// stopping ends all streams, and those that still come, until there are none.
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

// lookAgain ends the streams whose keys are over.
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

// recheck looks at the key of one request that takes long.
type recheck struct {
	s  *server
	at time.Time // of the last look
}

func (k *recheck) still(ctx context.Context) error {
	if time.Since(k.at) < k.s.RecheckEvery {
		return nil
	}
	k.at = time.Now()
	return k.s.keyOver(ctx, callerOf(ctx))
}

// keyOver is errKeyOver if the key is no longer the caller's, or its session is over. A store that does
// not answer says nothing about it.
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
