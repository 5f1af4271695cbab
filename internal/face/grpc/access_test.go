package grpcapi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestOnlyWorkersAreLetIn(t *testing.T) {
	w := start(t)
	for key, want := range map[string]codes.Code{
		"":        codes.Unauthenticated,
		"unknown": codes.Unauthenticated,
		"client":  codes.PermissionDenied,
		"worker":  codes.OK,
		"admin":   codes.OK,
	} {
		t.Run("key "+key, func(t *testing.T) {
			ctx, conn := w.raw(t, key)
			_, err := perdurev1.NewWorkerDispatchClient(conn).Heartbeat(ctx, &perdurev1.HeartbeatRequest{})
			if status.Code(err) != want {
				t.Errorf("a unary call gives %v", err)
			}
			stream, err := perdurev1.NewWorkerDispatchClient(conn).StreamData(ctx)
			if err == nil {
				_ = stream.CloseSend()
				_, err = stream.Recv()
			}
			if got := status.Code(err); want != codes.OK && got != want {
				t.Errorf("a stream gives %v", err)
			}
		})
	}
	if want := codes.OK; len(w.fake.asked) != 2 {
		t.Errorf("%d calls got through, want the two with %s", len(w.fake.asked), want)
	}
}

func TestARefusedKeyHasAClearError(t *testing.T) {
	w := start(t)
	c := w.dial(t, "unknown")
	_, err := c.Register(t.Context(), perdure.Registration{})
	want := "unauthenticated: the server at " + w.addr + " refused the API key"
	if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Fatalf("a refused key gives %v", err)
	}
}

func TestARevokedKeyStopsOpenCalls(t *testing.T) {
	w := start(t)
	polling := make(chan struct{})
	w.fake.pollAgents = func(ctx context.Context, _ perdure.Poll) ([]perdure.AgentClaim, error) {
		close(polling)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, conn := w.raw(t, "worker")
	stream, err := perdurev1.NewWorkerDispatchClient(conn).StreamData(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&perdurev1.StreamDataRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("the stream is not open: %v", err)
	}
	polled := make(chan error)
	go func() {
		_, err := perdurev1.NewAgentDispatchClient(conn).PollAgent(ctx, &perdurev1.PollAgentRequest{})
		polled <- err
	}()
	<-polling
	w.keys.revoke("worker")
	if err := <-polled; status.Code(err) != codes.Unauthenticated {
		t.Errorf("the poll ended with %v", err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestClaimsForACallerThatLeftAreGivenBack(t *testing.T) {
	w := start(t)
	w.fake.released = make(chan perdure.Release, 1)
	claim := perdure.AgentClaim{Lease: perdure.Lease{ExecutionID: uuid.New(), Fence: 2, ClaimID: uuid.New()}}
	polling := make(chan struct{})
	w.fake.pollAgents = func(ctx context.Context, _ perdure.Poll) ([]perdure.AgentClaim, error) {
		close(polling)
		<-ctx.Done()
		return []perdure.AgentClaim{claim}, nil
	}
	c := w.dial(t, "worker")
	ctx, cancel := context.WithCancel(t.Context())
	worker := uuid.New()
	polled := make(chan error)
	go func() {
		_, err := c.PollAgents(ctx, perdure.Poll{WorkerID: worker})
		polled <- err
	}()
	<-polling
	cancel()
	if err := <-polled; !errors.Is(err, context.Canceled) {
		t.Errorf("the poll gave %v", err)
	}
	want := perdure.Release{WorkerID: worker, Agents: []perdure.AgentRelease{{Lease: claim.Lease}}}
	same(t, "what is given back", want, <-w.fake.released)
}

func TestAStoppingServerFinishesWhatItHas(t *testing.T) {
	w := start(t)
	polling, appending, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.fake.pollAgents = func(ctx context.Context, _ perdure.Poll) ([]perdure.AgentClaim, error) {
		close(polling)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.fake.appendFrames = func(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
		close(appending)
		<-goOn
		return []perdure.FrameReply{{Held: 7}}, nil
	}
	c := w.dial(t, "worker")
	polled, appended := make(chan error, 1), make(chan error, 1)
	go func() {
		claims, err := c.PollAgents(t.Context(), perdure.Poll{Wait: time.Hour})
		if len(claims) != 0 {
			t.Errorf("the poll gave %d claims", len(claims))
		}
		polled <- err
	}()
	go func() {
		replies, err := c.Append(t.Context(), []perdure.Frame{{Text: "x"}})
		if err == nil && replies[0].Held != 7 {
			t.Errorf("the frame was answered %+v", replies)
		}
		appended <- err
	}()
	<-polling
	<-appending
	stopped := make(chan error, 1)
	go func() { stopped <- w.server.Shutdown(t.Context()) }()
	if err := <-polled; err != nil {
		t.Errorf("the open poll gave %v", err)
	}
	close(goOn)
	if err := <-appended; err != nil {
		t.Errorf("the batch in flight gave %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the shutdown gave %v", err)
	}
}

func TestShutdownCutsOffWhatDoesNotEnd(t *testing.T) {
	w := start(t)
	appending := make(chan struct{})
	w.fake.appendFrames = func(ctx context.Context, _ []perdure.Frame) ([]perdure.FrameReply, error) {
		close(appending)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c := w.dial(t, "worker")
	ctx, cancel := context.WithCancel(t.Context())
	appended := make(chan error, 1)
	go func() {
		_, err := c.Append(ctx, []perdure.Frame{{Text: "x"}})
		appended <- err
	}()
	<-appending
	over, end := context.WithCancel(t.Context())
	end()
	if err := w.server.Shutdown(over); !errors.Is(err, context.Canceled) {
		t.Errorf("the shutdown gave %v", err)
	}
	cancel()
	if err := <-appended; err == nil {
		t.Error("a batch that was cut off was answered")
	}
}
