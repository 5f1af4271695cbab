package remote

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/grpc"
)

// unbatchedServer is a server that sends each entry in a message of its own, like an older server.
type unbatchedServer struct {
	perdurev1.UnimplementedAgentDispatchServer
	entries []perdure.Entry
}

func (o *unbatchedServer) GetEntries(_ *perdurev1.GetEntriesRequest, out perdurev1.AgentDispatch_GetEntriesServer) error {
	for _, e := range o.entries {
		m := pbconv.EntryToProto(e)
		content := m.GetContent().GetInline()
		length := int64(len(content))
		m.Content = &perdurev1.Content{Follows: &length}
		if err := out.Send(&perdurev1.GetEntriesResponse{Part: &perdurev1.GetEntriesResponse_Entry{Entry: m}}); err != nil {
			return err
		}
		if err := out.Send(&perdurev1.GetEntriesResponse{Part: &perdurev1.GetEntriesResponse_Chunk{Chunk: content}}); err != nil {
			return err
		}
	}
	return nil
}

// TestAnOlderServerSendsEntriesOneByOne checks that Entries reads the entries of a server that
// sends each entry in a message of its own.
func TestAnOlderServerSendsEntriesOneByOne(t *testing.T) {
	server := &unbatchedServer{}
	for range 3 {
		e, err := perdure.NewMessageEntry(perdure.UserText(uuid.NewString()))
		if err != nil {
			t.Fatal(err)
		}
		server.entries = append(server.entries, e)
	}
	c := clientOf(t, func(s *grpc.Server) { perdurev1.RegisterAgentDispatchServer(s, server) })
	n := 0
	for e, err := range c.Entries(t.Context(), perdure.EntryQuery{ExecutionID: uuid.New()}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := server.entries[n]; e.ID != want.ID || string(e.Content) != string(want.Content) {
			t.Errorf("entry %d is %s %s", n, e.ID, e.Content)
		}
		n++
	}
	if n != len(server.entries) {
		t.Errorf("%d entries", n)
	}
}

// clientOf starts a server with the services that the function `register` adds, and returns a
// client of it.
func clientOf(t *testing.T, register func(*grpc.Server)) *Client {
	t.Helper()
	listener := listen(t, "tcp", "127.0.0.1:0")
	server := grpc.NewServer()
	register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	c, err := Dial(t.Context(), options(listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
