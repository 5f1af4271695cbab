package durablestream

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

const (
	// tick is the interval at which the row of a stream with readers is read even if no hint
	// arrives.
	tick = time.Second
	// patience is the number of consecutive failed reads of a stream's row after which the
	// waiting readers get the error.
	patience = 5
)

// watch reads the row of one stream on behalf of all readers that wait for the stream. Its
// goroutine runs while readers wait. The last reader that leaves waits until the goroutine has
// ended.
type watch struct {
	refs   int // guarded by Streams.mu
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards the fields below
	stream  *store.Stream
	failed  int
	err     error
	changed chan struct{} // closed and replaced at each change
}

func (s *Streams) join(org string, id uuid.UUID) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[id]
	if w == nil {
		ctx, cancel := context.WithCancel(store.ForOrg(context.Background(), org))
		w = &watch{cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
		s.watches[id] = w
		go s.look(ctx, id, w)
	}
	w.refs++
	return w
}

func (s *Streams) leave(id uuid.UUID, w *watch) {
	s.mu.Lock()
	w.refs--
	last := w.refs == 0
	if last {
		delete(s.watches, id)
	}
	s.mu.Unlock()
	if last {
		w.cancel()
		<-w.done
	}
}

// look reads the stream's row at each hint, and every second in case a hint was lost. It subscribes
// before the first read, so that no hint is missed.
func (s *Streams) look(ctx context.Context, id uuid.UUID, w *watch) {
	defer close(w.done)
	hints, stop := s.hints.Subscribe(notify.Stream(id))
	defer stop()
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		_, x, err := s.store.StreamContent(ctx, id, 0, 0)
		w.take(x, err)
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-timer.C:
		}
	}
}

func (w *watch) take(x *store.Stream, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		same := w.err == nil && w.stream != nil && w.stream.Tail == x.Tail && w.stream.Closed == x.Closed
		w.stream, w.err, w.failed = x, nil, 0
		if same {
			return
		}
	case perdure.IsCode(err, perdure.NotFound):
		w.err = err
	default:
		if w.failed++; w.failed < patience {
			return
		}
		w.err = err
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// news reports whether the stream has content after the position, or is closed. The returned channel
// is closed when this may have changed.
func (w *watch) news(after int64) (bool, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := w.stream != nil && (w.stream.Tail > after || w.stream.Closed)
	return there, w.changed, w.err
}

// await waits until the stream has content after the position, or is closed. While await waits, it
// calls the function `idle` about once a second. If `idle` returns an error, await returns that
// error. Errors: not_found if the stream is deleted; the cause of the context's end.
func (s *Streams) await(ctx context.Context, id uuid.UUID, after int64, idle func() error) error {
	w := s.join(store.OrgOf(ctx), id)
	defer s.leave(id, w)
	defer fair.Wait(ctx)()
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		there, changed, err := w.news(after)
		if there || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-timer.C:
			if err := idle(); err != nil {
				return err
			}
		}
	}
}
