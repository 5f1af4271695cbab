package remote

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// unreplayed keeps gRPC from beginning a call again by itself once a message of it
// was sent. Its client keeps what was sent, to say it once more on a new connection
// if the old one broke before the call went out. Of a stream whose connection
// breaks just then, Send gives io.EOF for a message that is kept all the same, and
// the stream continues: who ends it there has it said again as far as that message,
// ended properly. A server then has no way to tell that the rest of an upload is
// missing. In the same way a stream whose second connection breaks, too, ends with
// io.EOF as if it had been answered. Calls are repeated by [again] instead, which
// knows what each of them can bear.
var unreplayed = grpc.MaxRetryRPCBufferSize(0)

// lostUnary returns unavailable for a call whose message could not be sent: gRPC's
// io.EOF asks to read the status, and a unary call leaves nobody who would.
func lostUnary(ctx context.Context, method string, m, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, m, reply, conn, options...)
	if errors.Is(err, io.EOF) {
		return status.Error(grpccodes.Unavailable, "the connection was lost while the call was sent")
	}
	return err
}

// lostStream sees to it that a stream that is only read fails with its status, also
// if its one message could not be sent: the io.EOF of that would be taken for the
// end of what is read.
func lostStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, conn, method, options...)
	if err != nil || desc.ClientStreams {
		return stream, err
	}
	return readStream{stream}, nil
}

type readStream struct{ grpc.ClientStream }

// SendMsg leaves it to RecvMsg to say why the message was not sent.
func (s readStream) SendMsg(m any) error {
	if err := s.ClientStream.SendMsg(m); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
