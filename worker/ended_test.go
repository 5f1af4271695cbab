package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
	grpcclient "github.com/perdure/perdure/worker/remote"
)

// wired is the backend of a gRPC server for the bench's engine. It accepts every token as the token
// of a worker of the org.
type wired struct {
	grpcapi.Backend
	e *engine.Engine
}

func (s wired) Dispatch(org string) perdure.Dispatch { return s.e.Remote(org) }

func (wired) Authenticate(context.Context, string) (grpcapi.Principal, error) {
	return grpcapi.Principal{Org: org, Role: perdure.KeyWorker}, nil
}

// overWire starts a gRPC server for the bench's engine, and returns a dispatch that is connected to
// it. Both close at the end of the test.
func (b *bench) overWire() perdure.Dispatch {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	server := grpcapi.New(wired{e: b.e}, wired{}, quiet, grpcapi.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	client, err := grpcclient.Dial(b.Context(), grpcclient.Options{Addr: listener.Addr().String(), Token: "any", WorkerID: uuid.New(), Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), 5*time.Second)
		defer cancel()
		if err := errors.Join(client.Close(), server.Shutdown(ctx), <-served); err != nil {
			b.Error(err)
		}
	})
	return client
}

// eachLine runs a test on each kind of store: once with a dispatch in the same process and once
// with one over gRPC.
func eachLine(t *testing.T, test func(b *bench, line perdure.Dispatch)) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		for _, name := range []string{"in process", "gRPC"} {
			t.Run(name, func(t *testing.T) {
				b := newBenchOn(t, open, time.Minute)
				line := b.e.Dispatch(org, false)
				if name == "gRPC" {
					line = b.overWire()
				}
				test(b, line)
			})
		}
	})
}

// stepper is an agent that runs `steps` steps, each with a result of `size` bytes. Then the agent
// waits for the signal "go", and runs one more step.
type stepper struct {
	steps, size int
	ran         atomic.Int32
	// before, if set, is called each time the function is entered.
	before func(ctx agent.Context) error
}

// want returns the expected result of step number i.
func (s *stepper) want(i int) string { return fmt.Sprint(i, strings.Repeat("x", max(0, s.size-8))) }

func (s *stepper) step(ctx agent.Context, i int) error {
	got, err := agent.Step(ctx, "s", func(context.Context) (string, error) {
		s.ran.Add(1)
		return s.want(i), nil
	}, agent.StepInstance(fmt.Sprint(i)), agent.Lazy())
	if err == nil && got != s.want(i) {
		err = fmt.Errorf("step %d gave %d bytes, want %d", i, len(got), len(s.want(i)))
	}
	return err
}

func (s *stepper) run(ctx agent.Context) (string, error) {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return "", err
		}
	}
	for i := range s.steps {
		if err := s.step(ctx, i); err != nil {
			return "", err
		}
		if i%100 == 99 {
			if err := ctx.Flush(); err != nil {
				return "", err
			}
		}
	}
	if _, err := ctx.WaitSignal("go", 0); err != nil {
		return "", err
	}
	return "fine", s.step(ctx, s.steps)
}

// counted returns a change of a worker's configuration. It sets a new worker id, and makes the
// worker call the dispatch `line` through f, which counts the calls.
func counted(f *faulty, line perdure.Dispatch) func(*Config) {
	f.Dispatch = line
	return func(c *Config) { c.Dispatch, c.ID = f, uuid.New() }
}

// TestResumeReadsRecordsInPages checks that a resume reads the records of its steps in a limited
// number of calls, whatever their number and size. It runs no step again, and makes no request
// about a step without a record.
func TestResumeReadsRecordsInPages(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, c := range []struct {
		steps, size  int
		ended, tasks int // maximum numbers of calls of Ended and Tasks
	}{
		// From step number 1000 on, each result is a text of exactly 1 KiB.
		{steps: 3000, size: 1<<10 + 4, ended: 5},
		{steps: 300, size: 16 << 10, tasks: 6},
		{steps: 20, size: 100 << 10, tasks: 3},
		{steps: 2, size: 2 << 20, tasks: 2},
		{steps: 0, size: 1},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", c.steps, c.size), func(t *testing.T) {
			eachLine(t, func(b *bench, line perdure.Dispatch) {
				s := &stepper{steps: c.steps, size: c.size}
				b.agent("a", s.run)
				first := b.work(func(c *Config) { c.Parked = -1 })
				id := b.start("a")
				b.waiting(id, "signal")
				first.stop()
				f := &faulty{}
				b.work(counted(f, line))
				b.signal(id, "go", "1")
				b.output(id, "fine")
				if n := s.ran.Load(); n != int32(c.steps)+1 {
					b.Errorf("%d steps ran, want %d", n, c.steps+1)
				}
				if n := f.count("Ended"); n > c.ended {
					b.Errorf("%d pages were read, want at most %d", n, c.ended)
				}
				if n := f.count("Tasks"); n > c.tasks {
					b.Errorf("GetTasks was called %d times, want at most %d", n, c.tasks)
				}
				// One commit per flush is expected, and one for the end. One more may come from a
				// suspend that was not necessary.
				if n := f.count("Commit"); n > c.steps/100+3 {
					b.Errorf("%d commits", n)
				}
			})
		})
	}
}

// TestResumeWithoutPages checks a resume in which pages of records are missing, for example because
// the server is older. No recorded step runs again, because the worker requests the records with
// GetTasks instead.
func TestResumeWithoutPages(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, f := range map[string]*faulty{
		"a plain worker": {},
		"an older server": {onAgents: func(claims []perdure.AgentClaim) {
			for i := range claims {
				claims[i].Ended = nil
			}
		}},
		"a server that forgets the call": {refuse: func(method string, _ int) error {
			if method == "Ended" {
				return perdure.Errorf(perdure.Internal, "planned")
			}
			return nil
		}},
		"the third page is lost": {refuse: func(method string, n int) error {
			if method == "Ended" && n == 3 {
				return perdure.Errorf(perdure.Unavailable, "planned")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, time.Minute)
			s := &stepper{steps: 2200, size: 10}
			b.agent("a", s.run)
			first := b.work(func(c *Config) { c.Parked = -1 })
			id := b.start("a")
			b.waiting(id, "signal")
			first.stop()
			b.work(counted(f, b.e.Dispatch(org, false)), func(c *Config) { c.Plain = name == "a plain worker" })
			b.signal(id, "go", "1")
			b.output(id, "fine")
			if n := s.ran.Load(); n != 2201 {
				b.Errorf("%d steps ran, want 2201", n)
			}
			if f.count("Tasks") == 0 {
				b.Error("nothing was asked for alone: the fault did not happen")
			}
		})
	}
}

// TestHeadsAreSentOnRequestOnly checks that a claim contains the heads of ended records (see the
// type ended) only if the poll asked for them and the execution was claimed before. It also checks
// the content of the heads, and the errors for a lost lease, a negative position and an unknown
// execution.
func TestHeadsAreSentOnRequestOnly(t *testing.T) {
	eachLine(t, func(b *bench, line perdure.Dispatch) {
		s := &stepper{steps: 3, size: 10}
		b.agent("a", s.run)
		var mu sync.Mutex
		var pages []*perdure.EndedPage
		first := b.work(func(c *Config) { c.Parked = -1 }, counted(&faulty{onAgents: func(claims []perdure.AgentClaim) {
			mu.Lock()
			defer mu.Unlock()
			pages = append(pages, claims[0].Ended)
		}}, line))
		id := b.start("a")
		b.waiting(id, "signal")
		first.stop()
		mu.Lock()
		if len(pages) != 1 || pages[0] != nil {
			b.Errorf("the first claim has the pages %v", pages)
		}
		mu.Unlock()
		b.signal(id, "go", "1")
		poll := func(ended bool) perdure.AgentClaim {
			claims, err := line.PollAgents(b.Context(), perdure.Poll{WorkerID: uuid.New(), Queues: []string{"default"}, Kinds: []string{"a"}, Slots: 1, Wait: patience, Ended: ended})
			if err != nil || len(claims) != 1 {
				b.Fatal(len(claims), err)
			}
			return claims[0]
		}
		old := poll(false)
		if old.Ended != nil {
			b.Error("a poll that does not ask gets heads")
		}
		if err := line.Release(b.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: old.Lease}}}); err != nil {
			b.Fatal(err)
		}
		got := poll(true)
		if got.Ended == nil || len(got.Ended.Heads) != 3 || !got.Ended.Whole || got.Ended.More {
			b.Fatalf("the page is %+v", got.Ended)
		}
		for i, h := range got.Ended.Heads {
			want, _ := json.Marshal(s.want(i))
			key := perdure.StepKey(id, "s", fmt.Sprint(i))
			if h.ID != perdure.TaskID(key) || !h.Step || h.Status != perdure.TaskCompleted || string(h.Result.Bytes) != string(want) || h.Partial {
				b.Errorf("head %d is %+v", i, h)
			}
		}
		// A worker that has lost the lease cannot read a page.
		_, err := line.Ended(b.Context(), perdure.EndedQuery{Lease: old.Lease})
		if !perdure.IsCode(err, perdure.LeaseLost) {
			b.Errorf("a page for a lost lease: %v", err)
		}
		if _, err := line.Ended(b.Context(), perdure.EndedQuery{Lease: got.Lease, After: -1}); !perdure.IsCode(err, perdure.InvalidArgument) {
			b.Errorf("a page after -1: %v", err)
		}
		unknown := got.Lease
		unknown.ExecutionID = uuid.New()
		if _, err := line.Ended(b.Context(), perdure.EndedQuery{Lease: unknown}); !perdure.IsCode(err, perdure.NotFound) {
			b.Errorf("a page of no execution: %v", err)
		}
		if err := line.Release(b.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: got.Lease}}}); err != nil {
			b.Fatal(err)
		}
		b.work(counted(&faulty{}, line))
		b.output(id, "fine")
	})
}
