package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/perdure/perdure/internal/longtest"
)

const huge = perdure.DefaultPayloadLimit

// remoteWorker is a worker's connection to a server over gRPC.
type remoteWorker struct {
	testing.TB
	d      *remote.Client
	raw    perdurev1.AgentDispatchClient
	ctx    context.Context // context for raw, with the token
	worker uuid.UUID
}

// serve runs a server in this process.
func serve(t testing.TB, limit int64) (*server.Server, *remoteWorker) {
	t.Helper()
	s, err := server.Open(t.Context(), server.Config{
		Lease: 10 * time.Minute,
		Data:  t.TempDir(), GRPCAddr: "127.0.0.1:0", PayloadLimit: limit, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		opentest.File(t, filepath.Join(s.Data, "perdure.db"))
	})
	return s, dial(t, s.GRPCAddress(), s.Token())
}

func dial(t testing.TB, addr, token string) *remoteWorker {
	t.Helper()
	w := &remoteWorker{TB: t, worker: uuid.New()}
	var err error
	if w.d, err = remote.Dial(t.Context(), remote.Options{Addr: addr, Token: token, WorkerID: w.worker, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = w.d.Close()
	})
	w.raw = perdurev1.NewAgentDispatchClient(conn)
	w.ctx = metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	return w
}

func (w *remoteWorker) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// content returns JSON text of the given size. Different marks produce different texts.
func content(mark byte, size int) []byte {
	c := bytes.Repeat([]byte{mark}, size)
	copy(c[1:], fmt.Sprintf("%c%d", mark, size))
	c[0], c[size-1] = '"', '"'
	return c
}

// messageContent returns the content of a user's message of the given size.
func messageContent(size int) []byte {
	const before, after = `{"parts":[{"type":"text","text":`, `}]}`
	return slices.Concat([]byte(before), content('e', size-len(before)-len(after)), []byte(after))
}

// claim claims the one pending execution.
func (w *remoteWorker) claim() perdure.AgentClaim {
	w.Helper()
	claims, err := w.d.PollAgents(w.Context(), perdure.Poll{WorkerID: w.worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute})
	if err != nil || len(claims) != 1 {
		w.Fatalf("claimed %d: %v", len(claims), err)
	}
	return claims[0]
}

// start creates an execution by a call of `create`, and claims the execution.
func (w *remoteWorker) start(create func(context.Context) error) perdure.AgentClaim {
	w.Helper()
	_, err := w.d.Register(w.Context(), perdure.Registration{WorkerID: w.worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	w.must(err)
	w.must(create(w.Context()))
	return w.claim()
}

func (w *remoteWorker) put(owner perdure.BlobOwner, c []byte) perdure.BlobRef {
	w.Helper()
	ref, err := w.d.PutBlob(w.Context(), owner, int64(len(c)), bytes.NewReader(c))
	w.must(err)
	if ref.Length != int64(len(c)) || ref.SHA256 != perdure.Hash(sha256.Sum256(c)) {
		w.Fatalf("%d bytes are stored as %+v", len(c), ref)
	}
	return ref
}

func (w *remoteWorker) same(what string, got, want []byte) {
	w.Helper()
	if !bytes.Equal(got, want) {
		w.Errorf("%s comes back with %d bytes, was sent with %d", what, len(got), len(want))
	}
}

// TestPayloadsOf64MiB checks that a worker uploads and reads back payloads of 64 MiB over gRPC: a
// signal, an entry, a task's input and result, a state, a step and an output. In make test, one or
// two of the payloads have 64 MiB, and the others 5 MiB, which is more than fits in one message of
// gRPC.
func TestPayloadsOf64MiB(t *testing.T) {
	longtest.Skip(t, "seconds")
	first, each := longtest.Stride(t, 4)
	number := 0
	size := func() int {
		if number++; (number-first)%each == 0 {
			return huge
		}
		return 5 << 20
	}
	s, w := serve(t, 0)
	claim := w.start(starting(s))
	id, owner := claim.Lease.ExecutionID, perdure.BlobOwner{ExecutionID: claim.Lease.ExecutionID, Lease: &claim.Lease}

	value := content('v', size())
	ref := w.put(perdure.BlobOwner{ExecutionID: id}, value)
	_, err := w.raw.SignalAgent(w.ctx, &perdurev1.SignalAgentRequest{ExecutionId: id[:], SignalName: "big", SignalValueBlob: ref.ID[:]})
	w.must(err)

	entry := messageContent(size())
	input, state, step := content('i', size()), content('c', size()), content('s', size())
	e := perdure.NewEntry{Entry: perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser}}
	entryRef, inputRef, stateRef, stepRef := w.put(owner, entry), w.put(owner, input), w.put(owner, state), w.put(owner, step)
	e.Blob = &entryRef
	key := perdure.CallerTaskKey(id, "work", "k")
	stepKey := perdure.CallerTaskKey(id, "step", "k")
	wait := perdure.WaitTask(perdure.TaskID(key))
	_, err = w.d.Commit(t.Context(), perdure.Commit{
		Lease: claim.Lease, Number: 1, Entries: []perdure.NewEntry{e},
		Tasks:      []perdure.NewTask{{Kind: "work", Key: key, Input: perdure.Payload{Blob: &inputRef}, InputHash: inputRef.SHA256, Options: perdure.TaskOptions{Key: "k"}}},
		Steps:      []perdure.StepRecord{{Name: "step", Key: stepKey, Result: perdure.Payload{Blob: &stepRef}}},
		Checkpoint: &perdure.NewCheckpoint{State: perdure.Payload{Blob: &stateRef}},
		Outcome:    perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait},
	})
	w.must(err)

	tasks, err := w.d.PollTasks(t.Context(), perdure.Poll{WorkerID: w.worker, Queues: []string{"default"}, Kinds: []string{"work"}, Slots: 1, Wait: time.Minute})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("claimed %d tasks: %v", len(tasks), err)
	}
	w.same("the input", tasks[0].Task.Input, input)
	result := content('r', size())
	resultRef := w.put(perdure.BlobOwner{ExecutionID: id, TaskLease: &tasks[0].Lease}, result)
	_, err = w.d.FinishTask(t.Context(), perdure.TaskFinish{WorkerID: w.worker, Lease: tasks[0].Lease, Result: perdure.Payload{Blob: &resultRef}})
	w.must(err)

	claim = w.claim()
	w.same("the result", claim.Results[0].Result, result)
	w.same("the state", claim.Checkpoint.State, state)
	w.same("the signal", claim.Signals[0].Value, value)
	steps, err := w.d.Tasks(t.Context(), id, []uuid.UUID{perdure.TaskID(stepKey)})
	w.must(err)
	w.same("the step", steps[0].Result, step)
	for got, err := range w.d.Entries(t.Context(), perdure.EntryQuery{ExecutionID: id, Leaf: e.ID}) {
		w.must(err)
		w.same("the entry", got.Content, entry)
	}
	output := content('o', size())
	outputRef := w.put(perdure.BlobOwner{ExecutionID: id, Lease: &claim.Lease}, output)
	_, err = w.d.Commit(t.Context(), perdure.Commit{Lease: claim.Lease, Number: 1, Take: []string{claim.Signals[0].ID}, Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Payload{Blob: &outputRef}}})
	w.must(err)
	x, err := w.d.Execution(t.Context(), id)
	w.must(err)
	w.same("the output", x.Output, output)
}

// starting returns a function that creates an execution over the Unix socket of the server.
func starting(s *server.Server) func(context.Context) error {
	return func(ctx context.Context) error {
		c := client.Socket(s.Socket(), s.Token())
		defer c.Close()
		_, err := c.Start(ctx, client.StartRequest{Kind: "agent"})
		return err
	}
}

// TestAPayloadOverTheLimitIsRefusedAtOnce checks that a payload one byte over the limit is refused
// with an error that contains both sizes. The worker offers 64 MiB of content, and at most 16 MiB
// of it are read before the refusal.
func TestAPayloadOverTheLimitIsRefusedAtOnce(t *testing.T) {
	const limit = 1 << 20
	s, w := serve(t, limit)
	settings, err := w.d.Register(t.Context(), perdure.Registration{WorkerID: w.worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	w.must(err)
	if settings.PayloadLimit != limit {
		t.Errorf("the worker is told a limit of %d", settings.PayloadLimit)
	}
	claim := w.start(starting(s))
	for _, owner := range []perdure.BlobOwner{
		{ExecutionID: claim.Lease.ExecutionID, Lease: &claim.Lease}, {ExecutionID: claim.Lease.ExecutionID},
	} {
		read := &countingReader{r: bytes.NewReader(content('x', 64<<20))}
		_, err := w.d.PutBlob(t.Context(), owner, limit+1, read)
		if !perdure.IsCode(err, perdure.PayloadTooLarge) {
			t.Fatalf("it gives %v", err)
		}
		for _, number := range []string{"1048577", "1048576"} {
			if !bytes.Contains([]byte(err.Error()), []byte(number)) {
				t.Errorf("%q does not say %s", err, number)
			}
		}
		if read.n > 16<<20 {
			t.Errorf("%d bytes were sent all the same", read.n)
		}
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
