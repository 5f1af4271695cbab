package remote

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// unreplayed prevents gRPC from restarting a call by itself after a message was sent. gRPC buffers
// sent messages to replay them on a new connection if the old one broke before the call went out.
// If the connection breaks just then, Send returns io.EOF for a message that is buffered
// nevertheless, and the stream continues. If the caller then ends the stream, gRPC replays it up to
// that message with a regular end. The server cannot detect that the rest of an upload is missing.
// In the same way, a stream whose second connection breaks, too, ends with io.EOF as if it had been
// answered. [again] retries calls instead, because it knows which of them may be repeated.
var unreplayed = grpc.MaxRetryRPCBufferSize(0)

// lostUnary returns unavailable for a call whose message could not be sent. gRPC returns io.EOF,
// which means that the status should be read, but nothing reads the status of a unary call.
func lostUnary(ctx context.Context, method string, m, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, m, reply, conn, options...)
	if errors.Is(err, io.EOF) {
		return status.Error(grpccodes.Unavailable, "the connection was lost while the call was sent")
	}
	return err
}

// lostStream lets a stream that is only read fail with its status if its single message could not
// be sent. Otherwise the io.EOF of the send would look like the end of the stream.
func lostStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, conn, method, options...)
	if err != nil || desc.ClientStreams {
		return stream, err
	}
	return readStream{stream}, nil
}

type readStream struct{ grpc.ClientStream }

// SendMsg drops io.EOF, so that RecvMsg returns the reason.
func (s readStream) SendMsg(m any) error {
	if err := s.ClientStream.SendMsg(m); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
