package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// singleContent is a perdure.ContentSource with one content.
type singleContent []byte

func (k singleContent) Content(_ context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	if sum != sha256.Sum256(k) {
		return nil, perdure.Errorf(perdure.NotFound, "there is none")
	}
	return io.NopCloser(bytes.NewReader(k)), nil
}

// contentCaller is the server's end of a stream for contents.
type contentCaller struct {
	*testing.T
	s    *contentServer
	sent chan *perdurev1.ServeContentsRequest
}

func newContentCaller(t *testing.T, content []byte) *contentCaller {
	a := &contentCaller{T: t, sent: make(chan *perdurev1.ServeContentsRequest, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	a.s = &contentServer{ctx: ctx, source: singleContent(content), open: map[int64]*contentRequest{}, send: func(m *perdurev1.ServeContentsRequest) error {
		a.sent <- m
		return nil
	}}
	t.Cleanup(func() { cancel(); a.s.running.Wait() })
	return a
}

func (a *contentCaller) ask(id int64, sum perdure.Hash, pieces int64) {
	a.s.take(&perdurev1.ServeContentsResponse{
		RequestId: id, ExecutionId: pbconv.UUIDToProto(uuid.New()), Sha256: sum[:], Pieces: pieces,
	})
}

func (a *contentCaller) next() *perdurev1.ServeContentsRequest {
	a.Helper()
	select {
	case m := <-a.sent:
		return m
	case <-time.After(30 * time.Second):
		a.Fatal("nothing comes")
		return nil
	}
}

// TestContentIsServedWithinTheWindow checks that the client sends only as many pieces of a content
// as the server has allowed. After the last piece, it sends the mark of the end. A second request
// is served in the meantime.
func TestContentIsServedWithinTheWindow(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 5*perdure.BlobChunk/16-1)
	a := newContentCaller(t, content)
	a.ask(1, sha256.Sum256(content), 2)
	var got []byte
	for range 2 {
		m := a.next()
		if len(m.GetPiece()) != perdure.BlobChunk || m.GetRequestId() != 1 {
			t.Fatalf("%d bytes for %d", len(m.GetPiece()), m.GetRequestId())
		}
		got = append(got, m.GetPiece()...)
	}
	a.ask(2, perdure.Hash{}, 2)
	if m := a.next(); m.GetRequestId() != 2 || pbconv.ErrorFromProto(m.GetError()).Code != perdure.NotFound {
		t.Fatalf("a content that is not there, or a piece without room: %v", m)
	}
	a.s.take(&perdurev1.ServeContentsResponse{RequestId: 1, Pieces: 3})
	for range 3 {
		got = append(got, a.next().GetPiece()...)
	}
	if m := a.next(); !m.GetEnd() || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, then %v", len(got), len(content), m)
	}
}

// TestCancelledRequestEnds checks that no more messages are sent for a cancelled request. A request
// with a hash that is too short is refused.
func TestCancelledRequestEnds(t *testing.T) {
	content := make([]byte, 3*perdure.BlobChunk)
	a := newContentCaller(t, content)
	a.ask(1, sha256.Sum256(content), 1)
	a.next()
	a.s.take(&perdurev1.ServeContentsResponse{RequestId: 1, Cancel: true})
	a.s.running.Wait()
	a.s.take(&perdurev1.ServeContentsResponse{RequestId: 1, Pieces: 5}) // comes after the cancellation
	a.s.take(&perdurev1.ServeContentsResponse{RequestId: 2, ExecutionId: pbconv.UUIDToProto(uuid.New()), Sha256: []byte{1}, Pieces: 1})
	if m := a.next(); m.GetRequestId() != 2 || pbconv.ErrorFromProto(m.GetError()).Code != perdure.InvalidArgument {
		t.Errorf("%v", m)
	}
}
