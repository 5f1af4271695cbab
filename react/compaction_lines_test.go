package react_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/worker/local"
	grpcclient "github.com/perdure/perdure/worker/remote"
)

// grpcBackend is the backend of a gRPC server for the engine of a worker pool.
type grpcBackend struct {
	grpcapi.Backend
	e *engine.Engine
}

func (w grpcBackend) Dispatch(org string) perdure.Dispatch { return w.e.Remote(org) }

func (grpcBackend) Authenticate(context.Context, string) (grpcapi.Principal, error) {
	return grpcapi.Principal{Org: "default", Role: perdure.KeyWorker}, nil
}

// overWire returns a perdure.Dispatch that is connected to the engine over gRPC.
func (s *workerPool) overWire() perdure.Dispatch {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	server := grpcapi.New(grpcBackend{e: s.engine}, grpcBackend{}, quiet, grpcapi.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	client, err := grpcclient.Dial(s.t.Context(), grpcclient.Options{Addr: listener.Addr().String(), Token: "any", WorkerID: uuid.New(), Logger: quiet})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 5*time.Second)
		defer cancel()
		if err := errors.Join(client.Close(), server.Shutdown(ctx), <-served); err != nil {
			s.t.Error(err)
		}
	})
	return client
}

// TestCompactionOnEachLine checks compactions of REMOTE and LOCAL executions, by workers in the
// server's process and by workers that are connected over gRPC. The server must not store the
// content of the compaction of a LOCAL execution.
func TestCompactionOnEachLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 30
	for _, mode := range []perdure.PersistenceMode{perdure.Remote, perdure.Local} {
		for _, wire := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, " over gRPC ", wire), func(t *testing.T) {
				s := emptyWorkerPool(t, looks(turns, 1000))
				n := &windowModel{Provider: scripted.New(scripted.Config{Dir: s.scripts, Journal: s.journal}), window: 8000}
				l := &lookTool{runs: map[int]int{}}
				kept, err := local.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := kept.Close(); err != nil {
						t.Error(err)
					}
				})
				s.work(100, n.employ(l), func(c *workerSetup) {
					c.local = kept
					if wire {
						c.over = func(perdure.Dispatch) perdure.Dispatch { return s.overWire() }
					}
				})
				x := s.idle(s.start(engine.StartRequest{UserPrompt: "go", PersistenceMode: mode}), 0)
				asked, _ := n.requests()
				if len(asked) != turns+1 || len(l.runs) != turns {
					t.Errorf("%d calls of the model, %d looks; it is %s: %v", len(asked), len(l.runs), x.Status, errorOf(x))
				}
				compactions := 0
				for e, err := range s.store.Path(t.Context(), x.ID, *x.Leaf, nil, 0, true) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Type != perdure.EntryCompaction {
						continue
					}
					compactions++
					if hashed := e.Blob != nil && e.Content == nil && len(e.Metadata) == 0; hashed != (mode == perdure.Local) {
						t.Errorf("the server has %s, %s and %+v", e.Content, e.Metadata, e.Blob)
					}
				}
				if compactions == 0 {
					t.Error("nothing is compacted")
				}
			})
		}
	}
}

func errorOf(x *perdure.Execution) string {
	if x.Error == nil {
		return ""
	}
	return *x.Error
}
