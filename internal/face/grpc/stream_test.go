package grpcapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

func TestBatchesInFlightAreMatched(t *testing.T) {
	w := start(t)
	const batches = 8
	var arrived sync.WaitGroup
	arrived.Add(batches)
	w.fake.appendFrames = func(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
		arrived.Done()
		arrived.Wait() // all batches are in flight at the same time
		return []perdure.FrameReply{{Held: frames[0].Offset + int64(len(frames[0].Text))}}, nil
	}
	c := w.dial(t, "worker")
	var running sync.WaitGroup
	for i := range batches {
		running.Go(func() {
			replies, err := c.Append(t.Context(), []perdure.Frame{{Offset: int64(i * 100), Text: "four"}})
			if err != nil || replies[0].Held != int64(i*100+4) {
				t.Errorf("batch %d was answered %+v, %v", i, replies, err)
			}
		})
	}
	running.Wait()
}

func TestOneBatchThatIsGivenUpLeavesTheOthers(t *testing.T) {
	w := start(t)
	slow, goOn := make(chan struct{}), make(chan struct{})
	w.fake.appendFrames = func(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
		if frames[0].Text == "slow" {
			close(slow)
			<-goOn
		}
		return make([]perdure.FrameReply, len(frames)), nil
	}
	c := w.dial(t, "worker")
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() {
		_, err := c.Append(ctx, []perdure.Frame{{Text: "slow"}})
		given <- err
	}()
	<-slow
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("the batch that was given up gave %v", err)
	}
	if _, err := c.Append(t.Context(), []perdure.Frame{{Text: "quick"}}); err != nil {
		t.Errorf("the next batch gave %v", err)
	}
	close(goOn)
	if _, err := c.Append(t.Context(), []perdure.Frame{{Text: "later"}}); err != nil {
		t.Errorf("a batch after the late answer gave %v", err)
	}
}

// block stores the frames of one block as the engine does. It skips bytes that are already stored.
// If bytes are missing before a frame, it ignores the frame, and the reply contains the length that
// is stored.
type block struct {
	mu     sync.Mutex
	text   string
	closed int
}

func (b *block) add(frames []perdure.Frame) []perdure.FrameReply {
	b.mu.Lock()
	defer b.mu.Unlock()
	var replies []perdure.FrameReply
	for _, f := range frames {
		if held := int64(len(b.text)); f.Offset <= held && f.Offset+int64(len(f.Text)) > held {
			b.text += f.Text[held-f.Offset:]
		}
		if f.Close {
			b.closed++
		}
		replies = append(replies, perdure.FrameReply{Held: int64(len(b.text))})
	}
	return replies
}

func TestAFrameOfAnySizeArrives(t *testing.T) {
	w := start(t)
	var b block
	w.fake.appendFrames = func(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
		for _, f := range frames {
			if len(f.Text) > perdure.BlobChunk || strings.ToValidUTF8(f.Text, "?") != f.Text {
				t.Errorf("a piece has %d bytes, or ends inside a character", len(f.Text))
			}
		}
		return b.add(frames), nil
	}
	c := w.dial(t, "worker")
	text := strings.Repeat("añ€😀", 600_000) // 10 bytes each
	frames := []perdure.Frame{{Text: "a"}, {Offset: 1, Text: text}, {Offset: int64(1 + len(text)), Text: "z", Close: true, Reason: perdure.BlockDone}}
	replies, err := c.Append(t.Context(), frames)
	if err != nil || len(replies) != 3 || replies[1].Held < int64(1+len(text)) || replies[2].Held != int64(len(text)+2) {
		t.Fatalf("the frames were answered %+v, %v", replies, err)
	}
	if b.text != "a"+text+"z" || b.closed != 1 {
		t.Fatalf("the block has %d bytes and was closed %d times", len(b.text), b.closed)
	}
}

// breakingProxy is a proxy that breaks its connections on request.
type breakingProxy struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	open     []net.Conn
	running  sync.WaitGroup
}

func newBreakingProxy(t *testing.T, to string) *breakingProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &breakingProxy{listener: listener, to: to}
	f.running.Go(f.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		f.cut()
		f.running.Wait()
	})
	return f
}

func (f *breakingProxy) accept() {
	for {
		in, err := f.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", f.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		f.mu.Lock()
		f.open = append(f.open, in, out)
		f.mu.Unlock()
		f.running.Go(func() { pass(in, out) })
		f.running.Go(func() { pass(out, in) })
	}
}

func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
}

// cut breaks all connections.
func (f *breakingProxy) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.open {
		_ = conn.Close()
	}
	f.open = nil
}

func TestABrokenConnectionLosesNothing(t *testing.T) {
	w := start(t)
	proxy := newBreakingProxy(t, w.addr)
	var b block
	var batch, commits atomic.Int64 // the handler of a broken call may still run during the next call
	w.fake.appendFrames = func(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
		replies := b.add(frames)
		if batch.Add(1)%5 == 0 {
			proxy.cut() // after the frames are stored, before they are answered
		}
		return replies, nil
	}
	w.fake.answer = func(string, any) (any, error) {
		if commits.Add(1) == 1 {
			proxy.cut()
		}
		return perdure.CommitReply{CheckpointSeq: 4}, nil
	}
	c := dialTo(t, proxy.listener.Addr().String(), "worker")
	lease := perdure.Lease{ExecutionID: uuid.New(), Fence: 1, ClaimID: uuid.New()}
	var want strings.Builder
	for i := range 30 {
		text := fmt.Sprintf("piece %d;", i)
		replies, err := c.Append(t.Context(), []perdure.Frame{{AgentLease: &lease, Offset: int64(want.Len()), Text: text}})
		want.WriteString(text)
		if err != nil || replies[0].Held != int64(want.Len()) {
			t.Fatalf("piece %d was answered %+v, %v", i, replies, err)
		}
	}
	if b.text != want.String() {
		t.Errorf("the block is %q", b.text)
	}
	reply, err := c.Commit(t.Context(), perdure.Commit{Lease: lease, Number: 1})
	if err != nil || reply.CheckpointSeq != 4 || commits.Load() != 2 {
		t.Errorf("the commit whose answer was lost gave %+v, %v after %d tries", reply, err, commits.Load())
	}
}
