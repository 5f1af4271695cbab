package grpcapi_test

import (
	"log/slog"
	"net"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/worker/remote"
)

// BenchmarkCommit measures the cost of gRPC for a commit of an entry.
func BenchmarkCommit(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	known := &keys{keys: map[string]grpcapi.Principal{"worker": {Org: "acme", Role: perdure.KeyWorker}}}
	server := grpcapi.New(&backend{fake: &nothing}, known, slog.New(slog.DiscardHandler), grpcapi.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	c, err := remote.Dial(b.Context(), remote.Options{Addr: listener.Addr().String(), Token: "worker"})
	if err != nil {
		b.Fatal(err)
	}
	commit := perdure.Commit{
		Lease: perdure.Lease{ExecutionID: uuid.New(), Fence: 1, ClaimID: uuid.New()}, Number: 1,
		Entries: []perdure.NewEntry{{Entry: perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Content: jsonOf(2000)}}},
	}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := c.Commit(b.Context(), commit); err != nil {
				b.Error(err)
			}
		}
	})
	if err := c.Close(); err != nil {
		b.Error(err)
	}
	if err := server.Shutdown(b.Context()); err != nil {
		b.Error(err)
	}
	if err := <-served; err != nil {
		b.Error(err)
	}
}

var nothing fake
