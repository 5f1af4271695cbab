package grpcapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// generatedContents are contents that a worker generates when they are read, by their hashes.
type generatedContents struct {
	mu     sync.Mutex
	opened map[perdure.Hash]*contentTape
	sizes  map[perdure.Hash]int
	gate   chan struct{} // if it is not nil, contents are sent only after it is closed
}

// contentTape is the reader of one generated content. It counts the bytes that were read.
type contentTape struct {
	io.Reader
	read   atomic.Int64
	closed chan struct{}
}

func (r *contentTape) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read.Add(int64(n))
	return n, err
}

func (r *contentTape) Close() error { close(r.closed); return nil }

func (k *generatedContents) Content(_ context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	if k.gate != nil {
		<-k.gate
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	size, ok := k.sizes[sum]
	if !ok {
		return nil, perdure.Errorf(perdure.NotFound, "no content %x", sum[:1])
	}
	r := &contentTape{Reader: bytes.NewReader(contentOf(sum, size)), closed: make(chan struct{})}
	k.opened[sum] = r
	return r, nil
}

func (k *generatedContents) tape(sum perdure.Hash) *contentTape {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.opened[sum]
}

func contentOf(sum perdure.Hash, size int) []byte { return bytes.Repeat(sum[:1], size) }

// served starts a worker that stores the contents `k`. It calls the function `test` with the
// ContentSource from which the engine reads these contents.
func served(t *testing.T, k *generatedContents, test func(source perdure.ContentSource)) {
	t.Helper()
	h := start(t)
	client := h.dial(t, "worker")
	worker := uuid.New()
	ready, over := make(chan perdure.ContentSource), make(chan struct{})
	h.fake.serve = func(ctx context.Context, id uuid.UUID, source perdure.ContentSource) error {
		if id != worker {
			t.Errorf("the worker is %s, want %s", id, worker)
		}
		ready <- source
		<-ctx.Done()
		close(over)
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan error, 1)
	go func() { left <- client.ServeContents(ctx, worker, k) }()
	source := <-ready
	test(source)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the worker's side ends with %v", err)
	}
	<-over
	if _, err := source.Content(t.Context(), uuid.New(), perdure.Hash{1}); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a content of a worker that has left gives %v", err)
	}
}

// TestContentsAreServedSideBySide checks that several contents are read concurrently over one
// stream, each complete and in order. The error for a missing content is not_found.
func TestContentsAreServedSideBySide(t *testing.T) {
	k := &generatedContents{opened: map[perdure.Hash]*contentTape{}, sizes: map[perdure.Hash]int{}}
	for i := range 8 {
		k.sizes[perdure.Hash{byte(i + 1)}] = i * 700_000
	}
	served(t, k, func(source perdure.ContentSource) {
		var all sync.WaitGroup
		for sum, size := range k.sizes {
			all.Go(func() {
				r, err := source.Content(t.Context(), uuid.New(), sum)
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, contentOf(sum, size)) {
					t.Errorf("the content of %d bytes comes with %d, %v", size, len(got), err)
				}
			})
		}
		_, err := source.Content(t.Context(), uuid.New(), perdure.Hash{99})
		if !perdure.IsCode(err, perdure.NotFound) {
			t.Errorf("a content that is not there gives %v", err)
		}
		all.Wait()
	})
}

// TestSlowReaderOfContentsIsAlone checks a reader that stops reading its content. The worker sends
// at most 2 MiB to this reader, while another reader gets its whole content. When the slow reader
// is closed, the worker closes the content.
func TestSlowReaderOfContentsIsAlone(t *testing.T) {
	slow, quick := perdure.Hash{1}, perdure.Hash{2}
	k := &generatedContents{opened: map[perdure.Hash]*contentTape{}, sizes: map[perdure.Hash]int{slow: 64 << 20, quick: 5 << 20}}
	served(t, k, func(source perdure.ContentSource) {
		r, err := source.Content(t.Context(), uuid.New(), slow)
		if err != nil {
			t.Fatal(err)
		}
		other, err := source.Content(t.Context(), uuid.New(), quick)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(other); err != nil || len(got) != 5<<20 {
			t.Errorf("beside a slow reader another gets %d bytes, %v", len(got), err)
		}
		if read := k.tape(slow).read.Load(); read > 2<<20 {
			t.Errorf("for a reader that has taken nothing %d bytes were read", read)
		}
		r.Close()
		<-k.tape(slow).closed
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Error("a closed content can be read")
		}
		other.Close()
	})
}

// TestServeContentsIsRefused checks that a worker without an id, and a worker that sends more
// pieces than allowed, get invalid_argument.
func TestServeContentsIsRefused(t *testing.T) {
	h := start(t)
	ctx, conn := h.raw(t, "worker")
	ready := make(chan perdure.ContentSource, 1)
	h.fake.serve = func(ctx context.Context, _ uuid.UUID, source perdure.ContentSource) error {
		ready <- source
		<-ctx.Done()
		return context.Cause(ctx)
	}
	open := func(first *perdurev1.ServeContentsRequest) perdurev1.WorkerDispatch_ServeContentsClient {
		t.Helper()
		stream, err := perdurev1.NewWorkerDispatchClient(conn).ServeContents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(first); err != nil {
			t.Fatal(err)
		}
		return stream
	}
	_, err := open(&perdurev1.ServeContentsRequest{}).Recv()
	if err := pbconv.FromStatus(err); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("a worker without an id is answered %v", err)
	}
	worker := uuid.New()
	stream := open(&perdurev1.ServeContentsRequest{WorkerId: worker[:]})
	asked := make(chan io.ReadCloser, 1) // the content is not read, so no more pieces are requested
	source := <-ready
	go func() {
		r, _ := source.Content(t.Context(), uuid.New(), perdure.Hash{1})
		asked <- r
	}()
	m, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for range 4 * m.GetPieces() {
		if stream.Send(&perdurev1.ServeContentsRequest{RequestId: m.GetRequestId(), Piece: []byte("x")}) != nil {
			break
		}
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if err := pbconv.FromStatus(err); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("a worker that sends too much is answered %v", err)
	}
	if r := <-asked; r != nil {
		r.Close()
	}
}
