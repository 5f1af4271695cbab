package server

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// BenchmarkObserving runs steps alternately on three servers: without metrics, with metrics, and
// with metrics and spans. It reports the durations on the second and the third server relative to
// the first.
func BenchmarkObserving(b *testing.B) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	defer func() { _ = provider.Shutdown(context.WithoutCancel(b.Context())) }() // the exporter discards everything
	plain := newStepper(b, Config{})
	counted := newStepper(b, Config{Registerer: prometheus.NewRegistry()})
	traced := newStepper(b, Config{Registerer: prometheus.NewRegistry(), TracerProvider: provider})
	for _, s := range []*stepper{plain, counted, traced} {
		s.step(b.Context(), 100) // allocates what every step needs
		s.took = 0
	}
	ctx, span := provider.Tracer("bench").Start(b.Context(), "steps")
	defer span.End()
	for b.Loop() {
		plain.step(b.Context(), 50)
		counted.step(b.Context(), 50)
		traced.step(ctx, 50)
	}
	b.ReportMetric(counted.took.Seconds()/plain.took.Seconds(), "metrics/off")
	b.ReportMetric(traced.took.Seconds()/plain.took.Seconds(), "metrics+traces/off")
}

// stepper runs steps of one execution. A step is a commit that schedules a task, the claim of the
// task, and the end of the task.
type stepper struct {
	*testing.B
	d      perdure.Dispatch
	worker uuid.UUID
	claim  perdure.AgentClaim
	number int64
	took   time.Duration
}

func newStepper(b *testing.B, c Config) *stepper {
	b.Helper()
	c.Data, c.Dev, c.Logger = b.TempDir(), true, slog.New(slog.DiscardHandler)
	core, err := Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = core.Close() })
	s := &stepper{B: b, d: core.Dispatch(DevOrg), worker: uuid.New()}
	if _, err := s.d.Register(b.Context(), perdure.Registration{WorkerID: s.worker, Agents: []perdure.KindSpec{{Kind: "a"}}}); err != nil {
		b.Fatal(err)
	}
	if _, err := core.engine.Start(b.Context(), DevOrg, engine.StartRequest{Kind: "a"}); err != nil {
		b.Fatal(err)
	}
	claims, err := s.d.PollAgents(b.Context(), perdure.Poll{WorkerID: s.worker, Queues: []string{"default"}, Kinds: []string{"a"}, Slots: 1, Wait: time.Minute})
	if err != nil || len(claims) != 1 {
		b.Fatalf("%d claims, %v", len(claims), err)
	}
	s.claim = claims[0]
	return s
}

func (s *stepper) step(ctx context.Context, n int) {
	s.Helper()
	began := time.Now()
	defer func() { s.took += time.Since(began) }()
	for range n {
		s.number++
		input := []byte(uuid.NewString())
		key, err := perdure.DefaultTaskKey(s.claim.Lease.ExecutionID, "work", []byte(`"`+string(input)+`"`), "")
		if err != nil {
			s.Fatal(err)
		}
		reply, err := s.d.Commit(ctx, perdure.Commit{
			Lease: s.claim.Lease, Number: s.number,
			Tasks: []perdure.NewTask{{Kind: "work", Key: key, Input: perdure.Inline([]byte(`"` + string(input) + `"`))}},
			Offer: perdure.TaskOffer{WorkerID: s.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 1},
		})
		if err != nil || len(reply.Claims) != 1 {
			s.Fatalf("%d claims, %v", len(reply.Claims), err)
		}
		if _, err := s.d.FinishTask(ctx, perdure.TaskFinish{WorkerID: s.worker, Lease: reply.Claims[0].Lease, Result: perdure.Inline([]byte("1"))}); err != nil {
			s.Fatal(err)
		}
	}
}
