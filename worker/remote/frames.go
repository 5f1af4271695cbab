package remote

import (
	"context"
	"sync"
	"unicode/utf8"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/grpc"
)

const (
	// pieceLimit is the maximum number of bytes of text in one frame that the client sends.
	pieceLimit = 64 << 10
	// batchLimit is the approximate maximum size in bytes of one message of frames.
	batchLimit = 1 << 20
)

// Append implements perdure.Dispatch. All calls share one stream. If the stream breaks, Append
// opens a new one and sends again the frames that got no reply. The server skips bytes that it
// already has.
func (c *Client) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	replies := make([]perdure.FrameReply, 0, len(frames))
	for batch := range batches(frames) {
		m := pbconv.FramesToProto(batch.pieces)
		answered, err := again(ctx, c, "StreamData", func(ctx context.Context) ([]perdure.FrameReply, error) {
			return c.frames.send(ctx, m)
		})
		if err != nil {
			return nil, err
		}
		replies = batch.join(replies, answered)
	}
	return replies, nil
}

// batch is the content of one message. It has pieces of frames (chunks of blocks, or events), each
// with the index of the frame to which it belongs.
type batch struct {
	pieces []perdure.Frame
	of     []int
}

// batches splits the frames into the contents of messages, in order.
func batches(frames []perdure.Frame) func(yield func(batch) bool) {
	return func(yield func(batch) bool) {
		var b batch
		size := 0
		for i, frame := range frames {
			for _, piece := range cut(frame) {
				n := len(piece.Text) + len(piece.Fields) + 256
				if size += n; size > batchLimit && len(b.pieces) > 0 {
					if !yield(b) {
						return
					}
					b, size = batch{}, n
				}
				b.pieces, b.of = append(b.pieces, piece), append(b.of, i)
			}
		}
		if len(b.pieces) > 0 {
			yield(b)
		}
	}
}

// join adds `answered`, the server's replies to the pieces of this batch, to `replies`, which has
// one reply for each frame. The reply to a frame of several pieces is the first error or, if there
// is none, the reply to the last piece.
func (b batch) join(replies, answered []perdure.FrameReply) []perdure.FrameReply {
	for i, r := range answered {
		if at := b.of[i]; at == len(replies) {
			replies = append(replies, r)
		} else if replies[at].Err == nil {
			replies[at] = r
		}
	}
	return replies
}

// cut splits a frame (a chunk of a block, or an event) into pieces of at most pieceLimit bytes. It
// splits only between characters, and only the last piece closes the block.
func cut(frame perdure.Frame) []perdure.Frame {
	var pieces []perdure.Frame
	for len(frame.Text) > pieceLimit {
		at := pieceLimit
		for at > pieceLimit-utf8.UTFMax && !utf8.RuneStart(frame.Text[at]) {
			at--
		}
		piece := frame
		piece.Text, piece.Close, piece.Reason = frame.Text[:at], false, ""
		pieces = append(pieces, piece)
		frame.Text = frame.Text[at:]
		frame.Offset += int64(at)
	}
	return append(pieces, frame)
}

// frameStream is the one gRPC stream over which the client sends frames: chunks of blocks, and
// events. It is opened when it is first used, and replaced when it breaks.
type frameStream struct {
	open func(context.Context, ...grpc.CallOption) (perdurev1.WorkerDispatch_StreamDataClient, error)

	ctx    context.Context // ends when close is called, with the cause errClosed
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards the field current
	current *openStream
	running sync.WaitGroup
}

func (s *frameStream) init() { s.ctx, s.cancel = context.WithCancelCause(context.Background()) }

// close closes the stream and waits until its goroutines have ended.
func (s *frameStream) close() {
	s.mu.Lock()
	s.cancel(errClosed)
	s.mu.Unlock()
	s.running.Wait()
}

// send sends the frames as one message and waits for the server's replies. Errors: that of the
// message, of the stream or of ctx.
func (s *frameStream) send(ctx context.Context, frames []*perdurev1.Frame) ([]perdure.FrameReply, error) {
	stream, err := s.stream()
	if err != nil {
		return nil, err
	}
	reply, err := stream.roundTrip(ctx, frames)
	if err != nil {
		return nil, err
	}
	if refused := pbconv.ErrorFromProto(reply.GetError()); refused != nil {
		return nil, refused
	}
	if len(reply.GetReplies()) != len(frames) {
		return nil, perdure.Errorf(perdure.Internal, "the server answered %d of %d frames", len(reply.GetReplies()), len(frames))
	}
	return pbconv.FrameRepliesFromProto(reply.GetReplies()), nil
}

// stream returns the open stream, and opens one if none is open. Error: errClosed after close.
func (s *frameStream) stream() (*openStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.ctx.Err() == nil {
		return s.current, nil
	}
	if s.ctx.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	stream, err := s.open(ctx)
	if err != nil {
		cancel(err)
		return nil, err
	}
	s.current = &openStream{
		ctx: ctx, cancel: cancel, stream: stream,
		out:     make(chan *perdurev1.StreamDataRequest),
		waiting: map[int64]chan *perdurev1.StreamDataResponse{},
	}
	s.running.Go(s.current.write)
	s.running.Go(s.current.read)
	return s.current, nil
}
