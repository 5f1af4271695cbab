package durablestream

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// Store contains the methods of a store that Streams calls.
type Store interface {
	store.StreamReader
	Do(ctx context.Context, c store.Command) ([]any, error)
	Epoch() uint64
}

// Streams serves the general streams of a store: the streams that clients write.
type Streams struct {
	store Store
	hints notify.Notifier
	most  int // largest number of streams of an org

	mu      sync.Mutex // guards watches
	watches map[uuid.UUID]*watch
}

// DefaultPerOrg is the default of the largest number of streams of an org.
const DefaultPerOrg = 10_000

// New returns the general streams of a store. The parameter perOrg is the largest number of streams
// of an org; 0 means DefaultPerOrg. The notifier `hints` tells readers on other servers about
// writes. Without a hint, a reader notices a write within a second.
func New(st Store, hints notify.Notifier, perOrg int) *Streams {
	if perOrg <= 0 {
		perOrg = DefaultPerOrg
	}
	return &Streams{store: st, hints: hints, most: perOrg, watches: map[uuid.UUID]*watch{}}
}

// deleteStream is the name of the command that deletes a stream. Streams.do sets Frees in a command
// with this name, because the command frees space.
const deleteStream = "delete stream"

// do runs one command on a stream. Once the command is durable, it sends a hint to the stream's
// readers.
func (s *Streams) do(ctx context.Context, org string, bytes int64, needs store.Needs, name string, decide func(*store.State) (*store.Changes, error)) (outcome, error) {
	answers, err := s.store.Do(ctx, store.Command{
		Name: name, Lane: store.LaneChunks, Org: org, Bytes: int(bytes), Frees: name == deleteStream,
		Needs:  func(*perdure.Execution) store.Needs { return needs },
		Decide: decide,
	})
	if err != nil {
		return outcome{}, err
	}
	o, ok := answers[0].(outcome)
	if !ok {
		return outcome{}, perdure.Errorf(perdure.Internal, "the command %s was not answered", name)
	}
	if o.stored {
		s.hints.Publish(notify.Stream(o.stream.ID))
	}
	return o, nil
}

func (s *Streams) create(ctx context.Context, c creation) (outcome, error) {
	c.key = store.KeyOf(ctx)
	return s.do(ctx, c.org, length(c.rows), store.Needs{Stream: c.path, UseOf: c.key, StreamCount: true}, "create stream",
		func(st *store.State) (*store.Changes, error) { return s.decideCreate(st, c) })
}

func (s *Streams) append(ctx context.Context, org string, a addition) (outcome, error) {
	needs := store.Needs{Stream: a.path}
	if a.producer != nil {
		needs.Producer = a.producer.ID
	}
	return s.do(ctx, org, length(a.rows), needs, "append to stream",
		func(st *store.State) (*store.Changes, error) { return s.decideAppend(st, a) })
}

// remove deletes a stream for its readers and writers. The stream's rows are removed from the store
// later, in steps, by the cleanup.
func (s *Streams) remove(ctx context.Context, org, path string) (outcome, error) {
	return s.do(ctx, org, 0, store.Needs{Stream: path}, deleteStream,
		func(st *store.State) (*store.Changes, error) { return decideDelete(st, path) })
}
