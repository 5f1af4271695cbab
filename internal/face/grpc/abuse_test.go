package grpcapi_test

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip" // registers the compressor, as the exporter of traces does in the program
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/perdure/perdure/internal/longtest"
)

// unbounded returns a client without a limit on the size of its messages.
func (w *world) unbounded(t *testing.T) (perdurev1.WorkerDispatchClient, context.Context) {
	t.Helper()
	conn, err := grpc.NewClient(w.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return perdurev1.NewWorkerDispatchClient(conn), metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer worker")
}

// TestMessagesThatAreTooLarge checks that messages over the limit, compressed or not, get
// ResourceExhausted. For eight compressed messages that have 48 MiB each when they are
// decompressed, the server allocates less than 160 MiB in total. Afterwards the server still
// answers other calls.
func TestMessagesThatAreTooLarge(t *testing.T) {
	w := start(t)
	c, ctx := w.unbounded(t)
	heartbeat := func(bytes int, o ...grpc.CallOption) error {
		_, err := c.Heartbeat(ctx, &perdurev1.HeartbeatRequest{WorkerId: make([]byte, bytes)}, o...)
		return err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, err := range map[string]error{
		"as it is":   heartbeat(5 << 20),
		"compressed": heartbeat(5<<20, grpc.UseCompressor(gzip.Name)),
	} {
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v", name, err)
		}
	}
	bomb := zeros(t, 48<<20) // it fits into the flow control window
	for range 8 {
		if got := w.bomb(t, bomb); got != codes.ResourceExhausted {
			t.Errorf("a bomb is answered %s", got)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 160<<20 {
		t.Errorf("%d MiB were taken for what may have 4", grown>>20)
	}
	if err := heartbeat(16); status.Code(err) == codes.Unavailable || status.Code(err) == codes.ResourceExhausted {
		t.Errorf("afterwards: %v", err)
	}
}

// wire is an HTTP/2 connection on which a test can send any HTTP/2 frames.
type wire struct {
	t     *testing.T
	conn  net.Conn
	frame *http2.Framer
	head  bytes.Buffer
	code  *hpack.Encoder
	next  uint32 // id of the next stream on the connection
}

func (w *world) wire(t *testing.T) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	x := &wire{t: t, conn: conn, frame: http2.NewFramer(conn, conn), next: 1}
	x.frame.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	x.code = hpack.NewEncoder(&x.head)
	x.must(x.frame.WriteSettings())
	return x
}

func (x *wire) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// call begins a call and returns the id of its stream.
func (x *wire) call(method string, headers ...string) uint32 {
	x.t.Helper()
	x.head.Reset()
	fields := append([]string{
		":method", "POST", ":scheme", "http", ":path", "/perdure.v1." + method, ":authority", "x",
		"content-type", "application/grpc", "te", "trailers", "authorization", "Bearer worker",
	}, headers...)
	for i := 0; i < len(fields); i += 2 {
		x.must(x.code.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	id := x.next
	x.next += 2
	x.must(x.frame.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: x.head.Bytes(), EndHeaders: true}))
	return id
}

// bomb sends a compressed message, and returns the gRPC code of the response.
func (w *world) bomb(t *testing.T, body []byte) codes.Code {
	t.Helper()
	x := w.wire(t)
	id := x.call("WorkerDispatch/Heartbeat", "grpc-encoding", "gzip")
	frame := append([]byte{1, byte(len(body) >> 24), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
	sent := make(chan struct{})
	go func() { // the answer may come before the whole message is sent
		defer close(sent)
		for len(frame) > 0 {
			n := min(len(frame), 16<<10)
			if x.frame.WriteData(id, n == len(frame), frame[:n]) != nil {
				return
			}
			frame = frame[n:]
		}
	}()
	defer func() { _ = x.conn.Close(); <-sent }()
	for {
		f, err := x.frame.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if head, ok := f.(*http2.MetaHeadersFrame); ok && head.StreamID == id {
			for _, field := range head.Fields {
				if field.Name == "grpc-status" {
					return map[string]codes.Code{"0": codes.OK, "8": codes.ResourceExhausted}[field.Value]
				}
			}
		}
	}
}

// zeros returns the given number of zero bytes, compressed with gzip.
func zeros(t *testing.T, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := stdgzip.NewWriterLevel(&out, stdgzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := z.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTooManyCallsOnAConnection checks that calls over the limit of a connection are refused with
// REFUSED_STREAM. Calls on another connection still succeed.
func TestTooManyCallsOnAConnection(t *testing.T) {
	w := start(t)
	x := w.wire(t)
	sent := make(chan struct{})
	go func() { // the server answers while the calls are sent
		defer close(sent)
		for range 1100 {
			x.call("WorkerDispatch/StreamData")
		}
	}()
	defer func() { <-sent }()
	refused := 0
	for refused < 100 {
		f, err := x.frame.ReadFrame()
		if err != nil {
			t.Fatalf("after %d that were refused: %v", refused, err)
		}
		if reset, ok := f.(*http2.RSTStreamFrame); ok {
			if reset.ErrCode != http2.ErrCodeRefusedStream {
				t.Errorf("stream %d is reset with %s", reset.StreamID, reset.ErrCode)
			}
			refused++
		}
	}
	c, ctx := w.unbounded(t)
	if _, err := c.Heartbeat(ctx, &perdurev1.HeartbeatRequest{WorkerId: make([]byte, 16)}); status.Code(err) == codes.Unavailable {
		t.Errorf("another connection: %v", err)
	}
}

// TestHandshakesThatDoNotEnd checks that connections without a complete handshake are closed within
// a minute. Another connection can be used meanwhile.
func TestHandshakesThatDoNotEnd(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Parallel()
	w := start(t)
	var open []net.Conn
	for _, said := range []string{"", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\n", "\x16\x03\x01\x02\x00"} {
		for range 10 {
			conn, err := net.Dial("tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, said); err != nil {
				t.Fatal(err)
			}
			open = append(open, conn)
		}
	}
	c, ctx := w.unbounded(t)
	if _, err := c.Heartbeat(ctx, &perdurev1.HeartbeatRequest{WorkerId: make([]byte, 16)}); status.Code(err) == codes.Unavailable {
		t.Errorf("meanwhile: %v", err)
	}
	for _, conn := range open {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, err := io.Copy(io.Discard, conn)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatal("a connection that says nothing stays open")
		}
	}
}
