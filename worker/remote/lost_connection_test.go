package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stuckConn is a connection whose writes block, while its field `stop` is set, until the connection
// is closed.
type stuckConn struct {
	net.Conn
	mu     sync.Mutex // guards the field stop
	stop   bool
	held   chan struct{} // receives a value when a write begins to block
	closed chan struct{}
	once   sync.Once
}

func (w *stuckConn) Write(p []byte) (int, error) {
	w.mu.Lock()
	stop := w.stop
	w.mu.Unlock()
	if !stop {
		return w.Conn.Write(p)
	}
	select {
	case w.held <- struct{}{}:
	default:
	}
	<-w.closed
	return 0, net.ErrClosed
}

func (w *stuckConn) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// uploadServer is a server that accepts uploads of blobs.
type uploadServer struct {
	perdurev1.UnimplementedWorkerDispatchServer
	ended chan int // receives the number of bytes of each upload that the client has ended
}

func (u *uploadServer) PutBlob(in perdurev1.WorkerDispatch_PutBlobServer) error {
	n := 0
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			u.ended <- n
			return in.SendAndClose(&perdurev1.PutBlobResponse{})
		}
		if err != nil {
			return err
		}
		n += len(m.GetChunk())
	}
}

// TestALostConnectionCutsNoUploadShort checks an upload whose connection breaks before all of it is
// sent. The upload fails with the error unavailable, and the server does not treat the part that it
// has received as the whole content. A second upload succeeds.
func TestALostConnectionCutsNoUploadShort(t *testing.T) {
	listener := listen(t, "tcp", "127.0.0.1:0")
	u := &uploadServer{ended: make(chan int, 8)}
	server := grpc.NewServer()
	perdurev1.RegisterWorkerDispatchServer(server, u)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	wires := make(chan *stuckConn, 8)
	dial := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		w := &stuckConn{Conn: conn, held: make(chan struct{}, 1), closed: make(chan struct{})}
		wires <- w
		return w, nil
	})
	o := options(listener.Addr().String())
	conn, err := grpc.NewClient("passthrough:///"+o.Addr, append(dialOptions(o, &lastError{}, &wire{}), dial)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(t.Context(), conn, o.Addr, &lastError{}); err != nil {
		t.Fatal(err)
	}
	c := &Client{o: o, conn: conn, worker: perdurev1.NewWorkerDispatchClient(conn)}
	c.frames.init()
	defer c.frames.close()
	defer conn.Close()

	first := <-wires
	first.mu.Lock()
	first.stop = true
	first.mu.Unlock()
	var before sync.WaitGroup
	defer before.Wait()
	before.Go(func() { // its write blocks, so this upload is not sent
		_, _ = c.worker.Register(t.Context(), &perdurev1.RegisterRequest{})
	})
	<-first.held
	content := make([]byte, 3*perdure.BlobChunk)
	// The second chunk exceeds the quota of gRPC's flow control. It is being sent, or waits to be
	// sent, when the connection breaks.
	cutting := io.MultiReader(
		bytes.NewReader(content[:2*perdure.BlobChunk-1]), &callbackReader{do: func() { _ = first.Close() }}, bytes.NewReader(content[2*perdure.BlobChunk-1:]),
	)
	_, err = c.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: uuid.New()}, int64(len(content)), cutting)
	if !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the upload gave %v, want unavailable", err)
	}
	select {
	case n := <-u.ended:
		t.Errorf("the server took an upload of %d bytes for whole, of %d", n, len(content))
	default:
	}
	if _, err := c.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: uuid.New()}, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Errorf("sent again it gave %v", err)
	}
	if n := <-u.ended; n != len(content) {
		t.Errorf("sent again %d bytes arrived, of %d", n, len(content))
	}
}

// callbackReader is the reader of an empty content. It calls `do` when it is read.
type callbackReader struct{ do func() }

func (r *callbackReader) Read([]byte) (int, error) {
	r.do()
	return 0, io.EOF
}

// brokenConn is a connection and a stream on which no message can be sent.
type brokenConn struct{ grpc.ClientStream }

func (brokenConn) SendMsg(any) error { return io.EOF }
func (brokenConn) CloseSend() error  { return nil }
func (brokenConn) RecvMsg(any) error { return status.Error(grpccodes.Unavailable, "planned") }

func (brokenConn) Invoke(ctx context.Context, method string, m, reply any, options ...grpc.CallOption) error {
	return lostUnary(ctx, method, m, reply, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return io.EOF }, options...)
}

func (s brokenConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return lostStream(ctx, desc, nil, method, func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return s, nil
	}, options...)
}

// TestACallThatWasNotSentIsUnavailable checks a call whose message could not be sent. The call
// fails with the error unavailable, and does not look like an empty reply.
func TestACallThatWasNotSentIsUnavailable(t *testing.T) {
	c := &Client{o: options("nowhere:1"), agents: perdurev1.NewAgentDispatchClient(brokenConn{}), worker: perdurev1.NewWorkerDispatchClient(brokenConn{})}
	c.frames.init()
	defer c.frames.close()
	n := 0
	for _, err := range c.Entries(t.Context(), perdure.EntryQuery{ExecutionID: uuid.New()}) {
		n++
		if !perdure.IsCode(err, perdure.Unavailable) {
			t.Errorf("the entries end with %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d entries, want the error alone", n)
	}
	_, err := c.worker.FinishTask(t.Context(), &perdurev1.FinishTaskRequest{})
	if err := c.fail(t.Context(), err); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the unary call gave %v", err)
	}
}
