package remote

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// ServeContents implements perdure.Dispatch. It does not retry. When the stream ends, it waits until no
// request is being served, and returns the error of the stream.
func (c *Client) ServeContents(ctx context.Context, worker uuid.UUID, source perdure.ContentSource) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.worker.ServeContents(ctx)
	if err != nil {
		return c.fail(ctx, err)
	}
	s := &contentServer{ctx: ctx, source: source, send: stream.Send, open: map[int64]*contentRequest{}}
	defer s.running.Wait()
	defer cancel()
	// The error of sending is ignored, because Recv returns the same reason.
	_ = s.sendMessage(&perdurev1.ServeContentsRequest{WorkerId: pbconv.UUIDToProto(c.or(worker))})
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return perdure.Errorf(perdure.Unavailable, "the server ended the stream")
		}
		if err != nil {
			return c.fail(ctx, err)
		}
		s.take(m)
	}
}

// contentServer serves, over one stream, the contents for which the server asks.
type contentServer struct {
	ctx     context.Context
	source  perdure.ContentSource
	sending sync.Mutex
	send    func(*perdurev1.ServeContentsRequest) error
	running sync.WaitGroup

	mu   sync.Mutex // guards the field open
	open map[int64]*contentRequest
}

// contentRequest is a request from the server for the bytes of one content.
type contentRequest struct {
	id        int64
	execution uuid.UUID
	sum       perdure.Hash
	cancel    context.CancelFunc
	// more receives a value when the field `room` grows. The capacity of the channel is one.
	more chan struct{}

	mu   sync.Mutex // guards the field room
	room int64      // number of pieces that the server allows to be sent now
}

// sendMessage sends a message over the stream. Requests are served concurrently, but only one goroutine
// sends at a time.
func (s *contentServer) sendMessage(m *perdurev1.ServeContentsRequest) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.send(m)
}

// take handles a message from the server: a new request, the permission to send more pieces for a
// request, or the cancellation of a request.
func (s *contentServer) take(m *perdurev1.ServeContentsResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.open[m.GetRequestId()]
	switch {
	case m.GetCancel():
		if a != nil {
			a.cancel()
		}
	case a != nil:
		a.add(m.GetPieces())
	case len(m.GetSha256()) > 0:
		ctx, cancel := context.WithCancel(s.ctx)
		a = &contentRequest{id: m.GetRequestId(), cancel: cancel, more: make(chan struct{}, 1), room: m.GetPieces()}
		s.open[a.id] = a
		execution, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
		a.execution = execution
		if copy(a.sum[:], m.GetSha256()) != len(a.sum) {
			err = perdure.FieldErrorf("sha256", "must have %d bytes", len(a.sum))
		}
		s.running.Go(func() { s.answer(ctx, a, err) })
	}
}

func (a *contentRequest) add(pieces int64) {
	a.mu.Lock()
	a.room += pieces
	a.mu.Unlock()
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// piece waits until the server permits another piece of the content, and uses up the permission. It returns
// false if ctx ends first.
func (a *contentRequest) piece(ctx context.Context) bool {
	for {
		a.mu.Lock()
		there := a.room > 0
		if there {
			a.room--
		}
		a.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-a.more:
		case <-ctx.Done():
			return false
		}
	}
}

// answer sends the requested content in pieces, and then a message that marks the end. If err is
// not nil, or the content cannot be read, that message has the error instead. answer does not send
// the last message if the request was cancelled or the stream is broken.
func (s *contentServer) answer(ctx context.Context, a *contentRequest, err error) {
	defer func() {
		a.cancel()
		s.mu.Lock()
		delete(s.open, a.id)
		s.mu.Unlock()
	}()
	if err == nil {
		err = s.stream(ctx, a)
	}
	if ctx.Err() != nil {
		return
	}
	last := &perdurev1.ServeContentsRequest{RequestId: a.id, End: err == nil}
	if err != nil {
		var coded *perdure.Error
		if !errors.As(err, &coded) {
			coded = perdure.Errorf(perdure.Internal, "the worker cannot read the content")
		}
		last.Error = pbconv.ErrorToProto(coded)
	}
	_ = s.sendMessage(last) // if this fails, Recv returns the reason
}

// stream sends the pieces of the requested content.
func (s *contentServer) stream(ctx context.Context, a *contentRequest) error {
	content, err := s.source.Content(ctx, a.execution, a.sum)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // the content was only read
	for {
		// Each piece has a buffer of its own, because gRPC may still read the buffer of the
		// previous message.
		buf := make([]byte, perdure.BlobChunk)
		n, err := io.ReadFull(content, buf)
		if n > 0 {
			if !a.piece(ctx) {
				return context.Cause(ctx)
			}
			if err := s.sendMessage(&perdurev1.ServeContentsRequest{RequestId: a.id, Piece: buf[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
