package remote

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// refuseBadText is a gRPC interceptor. It returns invalid_argument for a call with a text that is
// not UTF-8; gRPC itself would return the error internal, and callers would try again.
func refuseBadText(ctx context.Context, method string, m, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, m, reply, conn, options...)
	if status.Code(err) != grpccodes.Internal {
		return err
	}
	if message, ok := m.(proto.Message); ok {
		if _, bad := proto.Marshal(message); bad != nil {
			return pbconv.Status(perdure.Errorf(perdure.InvalidArgument, "a text in the request is not valid UTF-8")).Err()
		}
	}
	return err
}
