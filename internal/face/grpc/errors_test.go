package grpcapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/worker/remote"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// statuses maps the error codes to the gRPC codes on which clients in other languages rely.
var statuses = map[perdure.Code]codes.Code{
	perdure.InvalidArgument:      codes.InvalidArgument,
	perdure.NotFound:             codes.NotFound,
	perdure.AlreadyExists:        codes.AlreadyExists,
	perdure.LeaseLost:            codes.Aborted,
	perdure.ExecutionEnded:       codes.FailedPrecondition,
	perdure.InvalidTranscript:    codes.FailedPrecondition,
	perdure.IdempotencyKeyReused: codes.FailedPrecondition,
	perdure.StepNameReused:       codes.FailedPrecondition,
	perdure.QuestionKeyReused:    codes.FailedPrecondition,
	perdure.QuestionDecided:      codes.FailedPrecondition,
	perdure.DetailsChanged:       codes.FailedPrecondition,
	perdure.AlreadyVoted:         codes.FailedPrecondition,
	perdure.PayloadTooLarge:      codes.OutOfRange,
	perdure.Conflict:             codes.Aborted,
	perdure.PermissionDenied:     codes.PermissionDenied,
	perdure.RateLimited:          codes.ResourceExhausted,
	perdure.Unsupported:          codes.Unimplemented,
}

func TestErrorsArriveExactly(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	for code, want := range statuses {
		t.Run(string(code), func(t *testing.T) {
			sent := &perdure.Error{
				Code: code, Message: "mëssage of " + string(code), RetryAfter: 1500 * time.Millisecond,
				Fields: []perdure.FieldError{{Location: "entries.1", Message: "is wrong"}, {Location: "tasks", Message: "too"}},
			}
			hidden := *sent
			hidden.Err = errors.New("the table is locked")
			w.fake.answer = func(string, any) (any, error) { return nil, fmt.Errorf("commit: %w", &hidden) }
			err := call(ctx, c, code)
			same(t, "the error", error(sent), err)
			_, err = agents.Commit(ctx, &perdurev1.CommitRequest{})
			if status.Code(err) != want {
				t.Errorf("%s is the status %s, not %s", code, status.Code(err), want)
			}
			if strings.Contains(err.Error(), "locked") {
				t.Errorf("the cause got out: %v", err)
			}
		})
	}
}

// call makes a call that the client does not repeat after an error with the code.
func call(ctx context.Context, c *remote.Client, code perdure.Code) error {
	if code == perdure.RateLimited {
		return c.Release(ctx, perdure.Release{})
	}
	_, err := c.Commit(ctx, perdure.Commit{})
	return err
}

func TestErrorsOfStreamsArriveExactly(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	sent := &perdure.Error{Code: perdure.LeaseLost, Message: "lost", Fields: []perdure.FieldError{{Location: "a", Message: "b"}}}
	w.fake.answer = func(string, any) (any, error) { return nil, sent }
	_, err := c.Append(t.Context(), []perdure.Frame{{Text: "x"}})
	same(t, "the error of a batch", error(sent), err)
	_, err = c.PutBlob(t.Context(), perdure.BlobOwner{}, 3<<20, strings.NewReader(strings.Repeat("x", 3<<20)))
	same(t, "the error of an upload", error(sent), err)
	_, err = c.Tasks(t.Context(), full.UUID(), nil)
	same(t, "the error of a read", error(sent), err)
}

func TestInternalTextStaysInside(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	secret := errors.New("dial tcp 10.0.0.7:5432: password=hunter2")
	failures := map[string]func(string, any) (any, error){
		"an uncoded error": func(string, any) (any, error) { return nil, secret },
		"an internal error": func(string, any) (any, error) {
			return nil, &perdure.Error{Code: perdure.Internal, Message: secret.Error()}
		},
		"a panic": func(string, any) (any, error) { panic(secret) },
	}
	calls := map[string]func() error{
		"Commit": func() error { _, err := c.Commit(t.Context(), perdure.Commit{}); return err },
		"Tasks":  func() error { _, err := c.Tasks(t.Context(), full.UUID(), nil); return err },
		"Append": func() error { _, err := c.Append(t.Context(), []perdure.Frame{{Text: "x"}}); return err },
	}
	for failure, answer := range failures {
		for call, do := range calls {
			t.Run(failure+" in "+call, func(t *testing.T) {
				w.fake.answer = answer
				err := do()
				if !perdure.IsCode(err, perdure.Internal) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("the caller got %v", err)
				}
				id := err.Error()[strings.LastIndex(err.Error(), " ")+1:]
				if log := w.log.String(); !strings.Contains(log, "id="+id) || !strings.Contains(log, "hunter2") {
					t.Errorf("the log does not have the failure under %q", id)
				}
			})
		}
	}
}

func TestARefusedFrameHidesItsCause(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	w.fake.answer = func(string, any) (any, error) {
		return []perdure.FrameReply{{Held: 3}, {Err: &perdure.Error{Code: perdure.Internal, Message: "hunter2"}}}, nil
	}
	got, err := c.Append(t.Context(), make([]perdure.Frame, 2))
	if err != nil || got[0].Held != 3 || got[1].Err.Code != perdure.Internal || strings.Contains(got[1].Err.Message, "hunter2") {
		t.Fatalf("the frames were answered %+v, %v", got, err)
	}
}

func TestUnavailableIsTriedAgainWhereItMayBe(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	calls := map[string]struct {
		again bool
		do    func() error
	}{
		"Register":   {true, func() error { _, err := c.Register(t.Context(), perdure.Registration{}); return err }},
		"Heartbeat":  {true, func() error { _, err := c.Heartbeat(t.Context(), perdure.Heartbeat{}); return err }},
		"Commit":     {true, func() error { _, err := c.Commit(t.Context(), perdure.Commit{}); return err }},
		"FinishTask": {true, func() error { _, err := c.FinishTask(t.Context(), perdure.TaskFinish{}); return err }},
		"Append":     {true, func() error { _, err := c.Append(t.Context(), []perdure.Frame{{}}); return err }},
		"Tasks":      {true, func() error { _, err := c.Tasks(t.Context(), full.UUID(), nil); return err }},
		"PollAgents": {false, func() error { _, err := c.PollAgents(t.Context(), perdure.Poll{}); return err }},
		"PollTasks":  {false, func() error { _, err := c.PollTasks(t.Context(), perdure.Poll{}); return err }},
		"Release":    {false, func() error { return c.Release(t.Context(), perdure.Release{}) }},
	}
	for name, call := range calls {
		for _, code := range []perdure.Code{perdure.Unavailable, perdure.RateLimited} {
			t.Run(name+" "+string(code), func(t *testing.T) {
				tries := 0
				w.fake.answer = func(string, any) (any, error) {
					if tries++; tries == 1 {
						return nil, &perdure.Error{Code: code, Message: "in a moment", RetryAfter: time.Millisecond}
					}
					return []perdure.FrameReply{{}}, nil
				}
				err := call.do()
				switch {
				case call.again && (err != nil || tries != 2):
					t.Errorf("%d tries gave %v", tries, err)
				case !call.again && (!perdure.IsCode(err, code) || tries != 1):
					t.Errorf("%d tries gave %v", tries, err)
				}
			})
		}
	}
}

func TestTryingAgainEndsWithItsContext(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	w.fake.answer = func(string, any) (any, error) { return nil, perdure.Errorf(perdure.Unavailable, "not today") }
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
	defer cancel()
	_, err := c.Commit(ctx, perdure.Commit{})
	if !perdure.IsCode(err, perdure.Unavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not today") {
		t.Fatalf("the commit gave %v", err)
	}
}

func TestTryingAgainEndsWithItsCaller(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.fake.answer = func(string, any) (any, error) {
		cancel()
		return nil, perdure.Errorf(perdure.Unavailable, "not today")
	}
	if _, err := c.Commit(ctx, perdure.Commit{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the commit that was cancelled gave %v", err)
	}
}

func TestCloseEndsWhatIsTriedAgain(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	w.fake.answer = func(string, any) (any, error) {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return nil, perdure.Errorf(perdure.Unavailable, "not today")
	}
	if _, err := c.Heartbeat(t.Context(), perdure.Heartbeat{}); !perdure.IsCode(err, perdure.Unavailable) {
		t.Fatalf("the heartbeat gave %v", err)
	}
	if _, err := c.Append(t.Context(), []perdure.Frame{{}}); !perdure.IsCode(err, perdure.Unavailable) {
		t.Fatalf("a call after Close gave %v", err)
	}
}

// lockedBuffer is a buffer for log lines that the server and the test use at the same time.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
