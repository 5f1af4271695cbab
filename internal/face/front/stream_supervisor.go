package front

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// streamSupervisor monitors all open streams with one goroutine, which runs while there are
// streams. It ends the streams when the server stops, and rechecks each of their keys at intervals.
type streamSupervisor struct {
	f *Front

	mu    sync.Mutex // guards the fields below
	open  map[*supervisedStream]bool
	leave chan struct{} // closed to end the goroutine
	over  chan struct{} // closed at the end of the goroutine
	// stopped is set when the server stops; streams opened later end at once.
	stopped bool
}

// supervisedStream is one open stream.
type supervisedStream struct {
	Caller
	cancel context.CancelCauseFunc
}

// ErrStopping and ErrKeyOver are why the server ends a stream.
var (
	ErrStopping = errors.New("the server is stopping")
	ErrKeyOver  = errors.New("the key is revoked, its org is disabled, or the session has ended")
)

// Supervise returns the context of a stream that the request of ctx opens, and the function that the
// stream calls at its end. The context's cause is ErrStopping or ErrKeyOver if the server ends the
// stream.
func (f *Front) Supervise(ctx context.Context) (context.Context, func()) { return f.watch.enter(ctx) }

// Recheck returns a function that rechecks the key of one long request, at intervals of
// RecheckEvery however often it is called. Its error is ErrKeyOver.
func (f *Front) Recheck(r *http.Request) func() error {
	key := keyRecheck{f: f, at: time.Now()}
	return func() error { return key.check(r.Context()) }
}

// CountRequest counts a request that arrives over an open connection of the caller of ctx.
func (f *Front) CountRequest(ctx context.Context) error {
	key, _, err := f.verify(ctx, CallerOf(ctx).proof)
	if err != nil {
		return err
	}
	return f.Engine.Request(key)
}

// enter implements Supervise.
func (w *streamSupervisor) enter(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &supervisedStream{CallerOf(ctx), cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		w.open = map[*supervisedStream]bool{}
		w.leave, w.over = make(chan struct{}), make(chan struct{})
		go w.run(w.leave, w.over)
	}
	w.open[one] = true
	if w.stopped {
		cancel(ErrStopping)
	}
	return ctx, func() { w.exit(one) }
}

// exit removes a stream. For the last stream it waits until the goroutine has ended.
func (w *streamSupervisor) exit(one *supervisedStream) {
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

func (w *streamSupervisor) run(leave, over chan struct{}) {
	defer close(over)
	look := time.NewTicker(w.f.RecheckEvery)
	defer look.Stop()
	for {
		select {
		case <-w.f.Stop:
			w.stopping(leave)
			return
		case <-look.C:
			w.recheckKeys()
		case <-leave:
			return
		}
	}
}

// stopping ends all streams, including later ones, until none is left.
func (w *streamSupervisor) stopping(leave chan struct{}) {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.end(ErrStopping, func(Caller) bool { return true })
	<-leave
}

func (w *streamSupervisor) end(cause error, which func(Caller) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.open {
		if which(one.Caller) {
			one.cancel(cause)
		}
	}
}

// recheckKeys checks the keys of all streams, and ends the streams whose keys are no longer valid.
func (w *streamSupervisor) recheckKeys() {
	callers := map[Caller]bool{}
	w.mu.Lock()
	for one := range w.open {
		callers[one.Caller] = true
	}
	w.mu.Unlock()
	for c := range callers {
		select {
		case <-w.f.Stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), w.f.RecheckEvery+time.Second)
		err := w.f.keyOver(ctx, c)
		cancel()
		if err != nil {
			w.end(err, func(other Caller) bool { return other == c })
		}
	}
}

// keyRecheck rechecks the key of one long request.
type keyRecheck struct {
	f  *Front
	at time.Time // of the last check
}

func (k *keyRecheck) check(ctx context.Context) error {
	if time.Since(k.at) < k.f.RecheckEvery {
		return nil
	}
	k.at = time.Now()
	return k.f.keyOver(ctx, CallerOf(ctx))
}

// keyOver returns ErrKeyOver if the key no longer belongs to the Caller, or its session has ended.
// It returns nil if the store does not answer.
func (f *Front) keyOver(ctx context.Context, c Caller) error {
	key, _, err := f.verify(ctx, c.proof)
	switch {
	case perdure.IsCode(err, perdure.Unauthenticated), perdure.IsCode(err, perdure.PermissionDenied):
		return ErrKeyOver
	case err != nil:
		return nil
	case key.Operator && c.Operator:
		if err := f.Engine.OrgWorks(ctx, c.Org); perdure.IsCode(err, perdure.PermissionDenied) {
			return ErrKeyOver
		}
	case key.Org != c.Org || key.Role != c.Role:
		return ErrKeyOver
	}
	return nil
}
