package front

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// streamSupervisor watches all open streams with one goroutine, which runs while streams are open.
// It ends the streams when the server stops. At intervals it checks whether their keys are still
// valid.
type streamSupervisor struct {
	f *Front

	mu    sync.Mutex // guards the fields below
	open  map[*supervisedStream]bool
	leave chan struct{} // closed to end the goroutine
	over  chan struct{} // closed at the end of the goroutine
	// stopped is set when the server stops. Streams that are opened later are ended immediately.
	stopped bool
}

// supervisedStream is one open stream.
type supervisedStream struct {
	Caller
	cancel context.CancelCauseFunc
}

// ErrStopping and ErrKeyOver are the reasons for which the server ends a stream.
var (
	ErrStopping = errors.New("the server is stopping")
	ErrKeyOver  = errors.New("the key is revoked, its org is disabled, or the session has ended")
)

// Supervise returns the context for a stream that the request with the context ctx opens. The
// returned function must be called at the end of the stream. If the server ends the stream, it
// cancels the context with the cause ErrStopping or ErrKeyOver.
func (f *Front) Supervise(ctx context.Context) (context.Context, func()) { return f.watch.enter(ctx) }

// WaitStreams waits until all supervised streams have ended, or until ctx ends. http.Server.Shutdown
// does not wait for WebSockets, which send a close frame when the server stops.
func (f *Front) WaitStreams(ctx context.Context) {
	f.watch.mu.Lock()
	open, over := len(f.watch.open), f.watch.over
	f.watch.mu.Unlock()
	if open == 0 {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Recheck returns a function that checks whether the key of a long request is still valid. It
// checks at most once every RecheckEvery, however often it is called. Its error is ErrKeyOver.
func (f *Front) Recheck(r *http.Request) func() error {
	key := keyRecheck{f: f, at: time.Now()}
	return func() error { return key.check(r.Context()) }
}

// CountRequest counts a request that arrives over an open connection, such as a WebSocket, against
// the limit of requests of the caller's key. The parameter ctx is the context of the connection.
func (f *Front) CountRequest(ctx context.Context) error {
	key, _, err := f.verify(ctx, CallerOf(ctx).proof)
	if err != nil {
		return err
	}
	return f.Engine.Request(key)
}

// enter implements [Front.Supervise]. It starts the goroutine for the first stream.
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

// exit removes a stream. If no other stream is open, exit waits until the goroutine has ended.
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

// stopping ends all open streams, also those that are opened while stopping runs. It returns when
// no stream is open.
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

// keyRecheck checks at intervals whether the key of a long request is still valid.
type keyRecheck struct {
	f  *Front
	at time.Time // time of the last check
}

func (k *keyRecheck) check(ctx context.Context) error {
	if time.Since(k.at) < k.f.RecheckEvery {
		return nil
	}
	k.at = time.Now()
	return k.f.keyOver(ctx, CallerOf(ctx))
}

// keyOver returns ErrKeyOver if the caller's key is no longer valid, or the caller's session has
// ended. It returns nil if the store cannot be read.
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
