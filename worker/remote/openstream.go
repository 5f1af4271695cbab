package remote

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// openStream is an open gRPC stream for frames: chunks of blocks, and events. When the stream
// breaks, its context ends, with the reason as the cause.
type openStream struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stream perdurev1.WorkerDispatch_StreamDataClient
	out    chan *perdurev1.StreamDataRequest

	mu      sync.Mutex // guards the fields below
	last    int64
	waiting map[int64]chan *perdurev1.StreamDataResponse
}

// roundTrip sends the frames as a message with a new number, and waits for the server's reply to
// that number.
func (s *openStream) roundTrip(ctx context.Context, frames []*perdurev1.Frame) (*perdurev1.StreamDataResponse, error) {
	id, answer := s.expect()
	defer s.forget(id)
	select {
	case s.out <- &perdurev1.StreamDataRequest{Id: id, Frames: frames}:
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case reply := <-answer:
		return reply, nil
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *openStream) expect() (int64, chan *perdurev1.StreamDataResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	answer := make(chan *perdurev1.StreamDataResponse, 1)
	s.waiting[s.last] = answer
	return s.last, answer
}

func (s *openStream) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

// write sends the messages of the channel `out`. No other goroutine sends on the stream.
func (s *openStream) write() {
	for {
		select {
		case m := <-s.out:
			if s.stream.Send(m) != nil {
				return // the method read returns the reason
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// read passes each reply to the call that waits for it, until the stream breaks.
func (s *openStream) read() {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			s.cancel(broken(err))
			return
		}
		s.mu.Lock()
		answer := s.waiting[m.GetId()]
		delete(s.waiting, m.GetId())
		s.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// broken returns the reason why the stream has ended: err, or unavailable if the server ended the stream
// without an error.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return perdure.Errorf(perdure.Unavailable, "the server ended the stream")
	}
	return err
}
