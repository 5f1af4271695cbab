package grpcapi

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"github.com/perdure/perdure/internal/fair"
)

// window is the maximum number of pieces of one content that the worker may send before the
// server's reader has read them. It limits the memory of an open request to 1 MiB: 16 pieces of 64
// KiB.
const window = 16

// ServeContents lets the engine read the contents that the worker stores, until the worker's stream
// ends.
func (s *workerService) ServeContents(stream perdurev1.WorkerDispatch_ServeContentsServer) error {
	first, err := stream.Recv()
	if err != nil {
		return noWorker(err)
	}
	worker, err := pbconv.UUIDFromProto("worker_id", first.GetWorkerId())
	if err != nil {
		return err
	}
	if worker == uuid.Nil {
		return noWorker(io.EOF)
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	contents := &workerContents{ctx: ctx, send: stream.Send, open: map[int64]*request{}}
	// This goroutine may outlive the handler. It ends soon afterwards, because the stream ends
	// when the handler returns.
	go func() { cancel(contents.receive(stream.Recv)) }()
	defer context.AfterFunc(ctx, contents.end)()
	stopped := make(chan struct{})
	defer func() { <-stopped }()
	defer cancel(nil)
	go func() {
		defer close(stopped)
		select {
		case <-s.draining:
			cancel(perdure.Errorf(perdure.Unavailable, "the server stops; serve contents to the next one"))
		case <-ctx.Done():
		}
	}()
	err = callerOf(ctx).ServeContents(ctx, worker, contents)
	if cause := context.Cause(ctx); errors.Is(cause, io.EOF) {
		return nil
	} else if cause != nil {
		return cause
	}
	return err
}

func noWorker(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return perdure.FieldErrorf("worker_id", "must be in the first message of the stream")
}

// workerContents reads contents from the worker at the other end of a stream.
type workerContents struct {
	ctx     context.Context // ends with the stream
	sending sync.Mutex
	send    func(*perdurev1.ServeContentsResponse) error

	mu   sync.Mutex // guards the fields below
	last int64
	open map[int64]*request // nil after the end of the stream
}

// request is one open request for a content that the worker stores.
type request struct {
	id int64
	// answers receives the worker's messages for the request. Its buffer has room for everything
	// that the worker may send ahead of the reader: `window` pieces, and the end.
	answers chan *perdurev1.ServeContentsRequest
}

var _ perdure.ContentSource = (*workerContents)(nil)

func (c *workerContents) tell(m *perdurev1.ServeContentsResponse) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.send(m); err != nil {
		return gone(err)
	}
	return nil
}

func gone(err error) error {
	return &perdure.Error{Code: perdure.Unavailable, Message: "the connection to the worker that keeps the content is gone", Err: err}
}

// Content implements perdure.ContentSource. The caller must close the reader.
func (c *workerContents) Content(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	r := &request{answers: make(chan *perdurev1.ServeContentsRequest, window+1)}
	c.mu.Lock()
	if c.open == nil {
		c.mu.Unlock()
		return nil, gone(context.Cause(c.ctx))
	}
	c.last++
	r.id = c.last
	c.open[r.id] = r
	c.mu.Unlock()
	reader := &contentReader{ctx: ctx, from: c, request: r}
	err := c.tell(&perdurev1.ServeContentsResponse{
		RequestId: r.id, ExecutionId: pbconv.UUIDToProto(execution), Sha256: sum[:], Pieces: window,
	})
	if err == nil {
		// The worker's first message reports whether the content exists.
		err = reader.next()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		_ = reader.Close() // the caller gets no reader to close
		return nil, err
	}
	return reader, nil
}

// receive passes each message of the worker to the open request with the message's id. It must
// never wait for the reader of one request, because the other readers would then wait as well. It
// returns io.EOF when the worker has ended the stream.
func (c *workerContents) receive(recv func() (*perdurev1.ServeContentsRequest, error)) error {
	for {
		m, err := recv()
		if err != nil {
			return err
		}
		c.mu.Lock()
		r := c.open[m.GetRequestId()]
		if r != nil && (m.GetEnd() || m.GetError() != nil) {
			delete(c.open, r.id)
		}
		c.mu.Unlock()
		if r == nil {
			continue // the request was cancelled while the message was on its way
		}
		select {
		case r.answers <- m:
		default:
			return perdure.FieldErrorf("piece", "the worker sent more than %d pieces ahead", window)
		}
	}
}

// end makes all later requests for the worker's contents fail.
func (c *workerContents) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
}

// forget removes a request, and reports whether it was open. A request is open until the worker has
// sent the whole content.
func (c *workerContents) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.open[id]
	delete(c.open, id)
	return open
}

// contentReader reads one content while its pieces arrive.
type contentReader struct {
	ctx     context.Context
	from    *workerContents
	request *request
	left    []byte
	taken   int64 // pieces read since the worker was last allowed to send more
	err     error
}

func (r *contentReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// next waits for the worker's next message. Messages that arrived before the end of the stream are
// still read.
func (r *contentReader) next() error {
	select {
	case m := <-r.request.answers:
		r.err = r.take(m)
		return r.err
	default:
	}
	defer fair.Wait(r.ctx)()
	select {
	case m := <-r.request.answers:
		r.err = r.take(m)
	case <-r.ctx.Done():
		r.err = context.Cause(r.ctx)
	case <-r.from.ctx.Done():
		r.err = gone(context.Cause(r.from.ctx))
	}
	return r.err
}

func (r *contentReader) take(m *perdurev1.ServeContentsRequest) error {
	switch {
	case m.GetError() != nil:
		return pbconv.ErrorFromProto(m.GetError())
	case m.GetEnd():
		return io.EOF
	}
	r.left = m.GetPiece()
	if r.taken++; r.taken < window/2 {
		return nil
	}
	more := &perdurev1.ServeContentsResponse{RequestId: r.request.id, Pieces: r.taken}
	r.taken = 0
	return r.from.tell(more)
}

// Close tells the worker to stop sending, if the content was not read to its end.
func (r *contentReader) Close() error {
	r.left, r.err = nil, io.ErrClosedPipe
	if r.from.forget(r.request.id) {
		// The error is ignored: it means that the stream is broken, so the worker does not send any
		// more.
		_ = r.from.tell(&perdurev1.ServeContentsResponse{RequestId: r.request.id, Cancel: true})
	}
	return nil
}
