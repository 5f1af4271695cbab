package grpcapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"iter"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/worker/remote"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an engine that records the calls that it gets. It returns the replies that the test has
// set, and stores blobs.
type fake struct {
	mu    sync.Mutex
	asked []any

	answer func(call string, asked any) (any, error)
	// appendFrames, if set, handles calls of Append instead of the field `answer`.
	appendFrames func(context.Context, []perdure.Frame) ([]perdure.FrameReply, error)
	// pollAgents, if set, handles calls of PollAgents instead of the field `answer`.
	pollAgents func(context.Context, perdure.Poll) ([]perdure.AgentClaim, error)
	// serve, if set, handles calls of ServeContents instead of the field `answer`.
	serve    func(context.Context, uuid.UUID, perdure.ContentSource) error
	entries  iter.Seq2[perdure.Entry, error]
	blobs    map[uuid.UUID][]byte
	released chan perdure.Release
}

func (f *fake) note(asked any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, asked)
}

func (f *fake) last(t *testing.T) any {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		t.Fatal("nothing reached the dispatch")
	}
	return f.asked[len(f.asked)-1]
}

func ask[R any](f *fake, call string, asked any) (R, error) {
	f.note(asked)
	var zero R
	if f.answer == nil {
		return zero, nil
	}
	reply, err := f.answer(call, asked)
	if r, ok := reply.(R); ok {
		return r, err
	}
	return zero, err
}

// args are the arguments of a recorded call that has more than one.
type args [4]any

func (f *fake) Register(_ context.Context, r perdure.Registration) (perdure.Settings, error) {
	return ask[perdure.Settings](f, "Register", r)
}

func (f *fake) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	if f.pollAgents != nil {
		return f.pollAgents(ctx, p)
	}
	return ask[[]perdure.AgentClaim](f, "PollAgents", p)
}

func (f *fake) PollTasks(_ context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	return ask[[]perdure.TaskClaim](f, "PollTasks", p)
}

func (f *fake) Heartbeat(_ context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	return ask[perdure.HeartbeatReply](f, "Heartbeat", h)
}

func (f *fake) Release(_ context.Context, r perdure.Release) error {
	if f.released != nil {
		f.released <- r
	}
	_, err := ask[any](f, "Release", r)
	return err
}

func (f *fake) Commit(_ context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	return ask[perdure.CommitReply](f, "Commit", c)
}

func (f *fake) FinishTask(_ context.Context, t perdure.TaskFinish) (perdure.FinishReply, error) {
	return ask[perdure.FinishReply](f, "FinishTask", t)
}

func (f *fake) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	if f.appendFrames != nil {
		return f.appendFrames(ctx, frames)
	}
	return ask[[]perdure.FrameReply](f, "Append", frames)
}

func (f *fake) Entries(_ context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	f.note(q)
	return f.entries
}

func (f *fake) Execution(_ context.Context, id uuid.UUID) (*perdure.Execution, error) {
	return ask[*perdure.Execution](f, "Execution", id)
}

func (f *fake) Questions(_ context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	return ask[[]*perdure.Question](f, "Questions", args{execution, ids})
}

func (f *fake) StreamedText(_ context.Context, execution, task uuid.UUID) (perdure.StreamedText, error) {
	return ask[perdure.StreamedText](f, "StreamedText", args{execution, []uuid.UUID{task}})
}

func (f *fake) Tasks(_ context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	return ask[[]*perdure.Task](f, "Tasks", args{execution, ids})
}

func (f *fake) Ended(_ context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	return ask[perdure.EndedPage](f, "Ended", q)
}

func (f *fake) Signals(_ context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	return ask[[]perdure.Signal](f, "Signals", args{execution, patterns, after, limit})
}

func (f *fake) PutBlob(_ context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	if _, err := ask[any](f, "PutBlob", args{owner, length}); err != nil {
		return perdure.BlobRef{}, err
	}
	got, err := io.ReadAll(content)
	if err != nil {
		return perdure.BlobRef{}, err
	}
	return f.keep(got), nil
}

// keep stores a blob and returns its reference.
func (f *fake) keep(content []byte) perdure.BlobRef {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blobs == nil {
		f.blobs = map[uuid.UUID][]byte{}
	}
	ref := perdure.BlobRef{ID: uuid.New(), Length: int64(len(content)), SHA256: sha256.Sum256(content)}
	f.blobs[ref.ID] = content
	return ref
}

func (f *fake) GetBlob(_ context.Context, _, blob uuid.UUID) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.blobs[blob]
	if !ok {
		return nil, perdure.Errorf(perdure.NotFound, "there is no blob %s", blob)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// backend is a Backend that returns the same fake for every org.
type backend struct {
	fake       *fake
	checkpoint *perdure.Checkpoint
	signal     func(org string, execution uuid.UUID, name string, value perdure.Payload, id string) (string, perdure.Status, error)
}

func (b *backend) Dispatch(string) perdure.Dispatch { return b.fake }

func (b *backend) Signal(_ context.Context, org string, execution uuid.UUID, name string, value perdure.Payload, id string) (string, perdure.Status, error) {
	return b.signal(org, execution, name, value, id)
}

func (b *backend) LatestCheckpoint(context.Context, string, uuid.UUID) (*perdure.Checkpoint, error) {
	if b.checkpoint == nil {
		return nil, perdure.Errorf(perdure.NotFound, "no checkpoint")
	}
	return b.checkpoint, nil
}

// keys are the API keys that the test's server accepts.
type keys struct {
	mu   sync.Mutex
	keys map[string]grpcapi.Principal
}

func (k *keys) Authenticate(_ context.Context, bearer string) (grpcapi.Principal, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	who, ok := k.keys[bearer]
	if !ok {
		return who, perdure.Errorf(perdure.Unauthenticated, "no such key")
	}
	return who, nil
}

func (k *keys) revoke(bearer string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, bearer)
}

// world is a gRPC server whose engine is a fake.
type world struct {
	fake    *fake
	backend *backend
	keys    *keys
	server  *grpcapi.Server
	log     *lockedBuffer
	addr    string
	gone    chan [2]string // receives the org and id of each worker that is reported as gone
	share   *fair.Share
}

func start(t *testing.T) *world {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{fake: &fake{}, log: &lockedBuffer{}, addr: listener.Addr().String(), gone: make(chan [2]string, 8), share: fair.New(2, 100)}
	w.backend = &backend{fake: w.fake}
	w.keys = &keys{keys: map[string]grpcapi.Principal{
		"worker":   {Org: "acme", Role: perdure.KeyWorker},
		"admin":    {Org: "acme", Role: perdure.KeyAdmin},
		"embedded": {Org: "acme", Role: perdure.KeyWorker, Embedded: true},
		"client":   {Org: "acme", Role: perdure.KeyClient},
	}}
	w.server = grpcapi.New(w.backend, w.keys, slog.New(slog.NewTextHandler(w.log, nil)), grpcapi.Options{
		Recheck: 5 * time.Millisecond, Share: w.share, Gone: func(org string, worker uuid.UUID) { w.gone <- [2]string{org, worker.String()} },
	})
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := w.server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return w
}

// dial returns a worker's client that uses the key.
func (w *world) dial(t *testing.T, key string) *remote.Client {
	t.Helper()
	return dialTo(t, w.addr, key)
}

func dialTo(t *testing.T, addr, key string) *remote.Client {
	t.Helper()
	c, err := remote.Dial(t.Context(), remote.Options{Addr: addr, Token: key, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// raw returns a gRPC connection without the Go client, for calls as workers in other languages make
// them. The context contains the key.
func (w *world) raw(t *testing.T, key string) (context.Context, *grpc.ClientConn) {
	t.Helper()
	conn, err := grpc.NewClient(w.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	if key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	return ctx, conn
}

func (f *fake) WatchLeases(_ context.Context, worker uuid.UUID, changed func()) error {
	changed()
	_, err := ask[any](f, "WatchLeases", worker)
	return err
}

func (f *fake) ServeContents(ctx context.Context, worker uuid.UUID, source perdure.ContentSource) error {
	if f.serve == nil {
		_, err := ask[any](f, "ServeContents", worker)
		return err
	}
	return f.serve(ctx, worker, source)
}
