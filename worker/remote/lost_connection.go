package remote

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// unreplayed prevents gRPC from repeating a call by itself. Otherwise gRPC keeps sent messages in a
// buffer. If the connection breaks before the call is sent, gRPC replays them on a new connection.
//
// An upload could then be cut short without an error. When the connection breaks, Send returns
// io.EOF for a message that is nevertheless in the buffer. If the caller then closes the stream,
// gRPC replays the stream up to that message with a regular end, and the server cannot detect that
// the rest is missing.
//
// The client repeats calls with [again] instead, which is used only for calls that may be repeated.
var unreplayed = grpc.MaxRetryRPCBufferSize(0)

// lostUnary is a gRPC interceptor for unary calls. It returns the error unavailable if the message
// of the call could not be sent. gRPC returns io.EOF then: the reason is in the status of the call,
// but nothing reads the status of a unary call.
func lostUnary(ctx context.Context, method string, m, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, m, reply, conn, options...)
	if errors.Is(err, io.EOF) {
		return status.Error(grpccodes.Unavailable, "the connection was lost while the call was sent")
	}
	return err
}

// lostStream is a gRPC interceptor for calls with one request and a stream of replies. If the
// request could not be sent, reading returns the status of the call. Without this interceptor,
// sending would return io.EOF, which looks like the end of the stream. lostStream does not change
// calls with several requests.
func lostStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, conn, method, options...)
	if err != nil || desc.ClientStreams {
		return stream, err
	}
	return readStream{stream}, nil
}

type readStream struct{ grpc.ClientStream }

// SendMsg sends m. It returns nil in place of io.EOF, because RecvMsg then returns the reason why the
// stream has ended.
func (s readStream) SendMsg(m any) error {
	if err := s.ClientStream.SendMsg(m); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
