package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// spans returns a provider of spans, and an exporter that records each span as soon as it ends.
func spans(t *testing.T) (*sdktrace.TracerProvider, *tracetest.InMemoryExporter) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return provider, kept
}

func traced(p trace.TracerProvider) func(*worker.Config, *react.Config) {
	return func(w *worker.Config, _ *react.Config) { w.TracerProvider = p }
}

func named(all tracetest.SpanStubs, prefix string) tracetest.SpanStubs {
	return slices.DeleteFunc(slices.Clone(all), func(s tracetest.SpanStub) bool { return !strings.HasPrefix(s.Name, prefix) })
}

func attributeOf(s tracetest.SpanStub, key string) attribute.Value {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value
		}
	}
	return attribute.Value{}
}

// TestOneTraceThroughEverything checks that one trace has spans of the caller, the client, the
// server, its writes, the worker, the tasks, and every call of a model and a tool. The parent of
// each span is in the trace, and no attribute contains the text of the messages.
func TestOneTraceThroughEverything(t *testing.T) {
	longtest.Skip(t, "seconds")
	provider, kept := spans(t)
	o := observe(t, server.Config{TracerProvider: provider})
	stop := o.employ(traced(provider))
	ctx, root := provider.Tracer("test").Start(t.Context(), "caller")
	x := o.run(ctx, "run")
	root.End()
	stop()
	if x.Status != perdure.StatusCompleted || !strings.Contains(x.Traceparent, root.SpanContext().TraceID().String()) {
		t.Fatalf("the run is %s, of the trace %s", x.Status, x.Traceparent)
	}
	all := slices.DeleteFunc(kept.GetSpans(), func(s tracetest.SpanStub) bool {
		return s.SpanContext.TraceID() != root.SpanContext().TraceID()
	})
	for prefix, want := range map[string]int{
		"caller": 1, "POST": 2, "write start": 1, "invoke_agent react-agent": 6, "task llm-request": 3, "chat run": 3,
		"task one": 1, "execute_tool one": 1, "task two": 1, "execute_tool two": 1, "perdure.v1.WorkerDispatch/FinishTask": 5, "write finish": 5,
	} {
		if got := len(named(all, prefix)); got != want {
			t.Errorf("%d spans %q, want %d", got, prefix, want)
		}
	}
	known := map[trace.SpanID]string{}
	for _, s := range all {
		known[s.SpanContext.SpanID()] = s.Name
	}
	above := map[string]string{
		"POST /api": "POST", "write start": "POST /api/orgs/{org}/agent-executions", "invoke_agent": "POST /api/orgs/{org}/agent-executions",
		"task": "invoke_agent react-agent", "chat": "task llm-request", "execute_tool one": "task one", "write finish": "perdure.v1.WorkerDispatch/FinishTask",
	}
	for prefix, want := range above {
		for _, s := range named(all, prefix) {
			if got := known[s.Parent.SpanID()]; got != want {
				t.Errorf("%s hangs on %q, want %q", s.Name, got, want)
			}
		}
	}
	for _, s := range all {
		if s.Parent.IsValid() && known[s.Parent.SpanID()] == "" {
			t.Errorf("%s hangs on a span that is not there", s.Name)
		}
		for _, a := range s.Attributes {
			if said := a.Value.String(); strings.Contains(said, "First the one") || strings.Contains(said, "Done.") {
				t.Errorf("%s says what was said: %s", s.Name, said)
			}
		}
	}
	first := slices.MinFunc(named(all, "chat"), func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	for key, want := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted", "gen_ai.request.model": "run",
		"gen_ai.usage.input_tokens": int64(107), "gen_ai.usage.output_tokens": int64(10), "gen_ai.conversation.id": x.ID.String(),
	} {
		if got := attributeOf(first, key).AsInterface(); got != want {
			t.Errorf("the first model call has %s=%v, want %v", key, got, want)
		}
	}
	if got := attributeOf(named(all, "execute_tool two")[0], "gen_ai.tool.name").AsString(); got != "two" {
		t.Errorf("the tool is called %q", got)
	}
}

// cutDispatch is a connection to the server that a test can cut. While it is cut, calls fail with
// unavailable and do not reach the server.
type cutDispatch struct {
	perdure.Dispatch
	cut atomic.Bool
}

func (g *cutDispatch) away() error {
	if g.cut.Load() {
		return perdure.Errorf(perdure.Unavailable, "cut off")
	}
	return nil
}

func (g *cutDispatch) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	if err := g.away(); err != nil {
		return perdure.CommitReply{}, err
	}
	return g.Dispatch.Commit(ctx, c)
}

func (g *cutDispatch) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	if err := g.away(); err != nil {
		return perdure.FinishReply{}, err
	}
	return g.Dispatch.FinishTask(ctx, f)
}

func (g *cutDispatch) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	if err := g.away(); err != nil {
		return perdure.HeartbeatReply{}, err
	}
	return g.Dispatch.Heartbeat(ctx, h)
}

func (g *cutDispatch) Release(ctx context.Context, r perdure.Release) error {
	if err := g.away(); err != nil {
		return err
	}
	return g.Dispatch.Release(ctx, r)
}

func (g *cutDispatch) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	if err := g.away(); err != nil {
		return nil, err
	}
	return g.Dispatch.PollAgents(ctx, p)
}

func (g *cutDispatch) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	if err := g.away(); err != nil {
		return nil, err
	}
	return g.Dispatch.PollTasks(ctx, p)
}

// TestTraceContinuesAfterALostWorker checks that another worker continues in the same trace after a
// worker is lost during a tool call. The spans of the claims have links to spans of that trace. One
// lost lease of a task is counted. Log lines name their execution.
func TestTraceContinuesAfterALostWorker(t *testing.T) {
	longtest.Skip(t, "seconds")
	eachStore(t, func(t *testing.T, c server.Config) {
		provider, kept := spans(t)
		log := &lines{}
		c.TracerProvider, c.Lease = provider, time.Second
		c.Logger = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o := observe(t, c)
		way, inside := &cutDispatch{}, make(chan struct{})
		block := func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			close(inside)
			<-ctx.Done()
			return tool.Result{}, context.Cause(ctx)
		}
		stopFirst := o.employ(func(w *worker.Config, r *react.Config) {
			way.Dispatch = w.Dispatch
			w.Dispatch, w.TracerProvider = way, provider
			r.Tools[0].Run, r.Tools[0].OnLost = block, perdure.OnLostRetry
		})
		ctx, root := provider.Tracer("test").Start(t.Context(), "caller")
		x := o.start(ctx, "run")
		root.End()
		<-inside
		way.cut.Store(true)
		stopSecond := o.employ(traced(provider))
		if x = o.ended(x.ID); x.Status != perdure.StatusCompleted {
			t.Fatalf("the run is %s: %v", x.Status, *x.Error)
		}
		stopSecond()
		way.cut.Store(false) // the worker reconnects and learns that its lease is lost
		stopFirst()
		if got := o.scrape()["perdure_leases_lost_total{work=task}"]; got != 1 {
			t.Errorf("%v leases of tasks were lost, want 1", got)
		}
		workers := map[string]bool{}
		linked := 0
		for _, s := range named(kept.GetSpans(), "invoke_agent") {
			if s.SpanContext.TraceID() != root.SpanContext().TraceID() {
				t.Errorf("a claim is of another trace")
			}
			workers[attributeOf(s, "perdure.worker.id").AsString()] = true
			for _, l := range s.Links {
				linked++
				if l.SpanContext.TraceID() != root.SpanContext().TraceID() {
					t.Error("a link leads to another trace")
				}
			}
		}
		if len(workers) != 2 || linked == 0 {
			t.Errorf("claims of %d workers with %d links, want 2 and some", len(workers), linked)
		}
		log.check(t, root.SpanContext().TraceID().String())
	})
}

// lines collects the lines of a log, so that a test can read them.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// check parses every line as JSON. Lines of workers about the execution must name the execution,
// its org, the claim or attempt, the worker and the trace.
func (l *lines) check(t *testing.T, traceID string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	about := 0
	for line := range strings.Lines(l.all.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("a line is no JSON: %s", line)
			continue
		}
		if fields["execution"] == nil || fields["worker"] == nil {
			continue
		}
		about++
		if fields["org"] != server.DevOrg || fields["fence"] == nil && fields["attempt"] == nil || fields["trace_id"] != traceID {
			t.Errorf("a line does not say enough: %s", line)
		}
	}
	if about == 0 {
		t.Errorf("no line is about the execution:\n%s", l.all.String())
	}
}

// TestNoTraceUnlessAsked checks that a server without a TracerProvider creates no spans, and stores
// the trace context of a caller unchanged.
func TestNoTraceUnlessAsked(t *testing.T) {
	provider, kept := spans(t)
	o := observe(t, server.Config{})
	stop := o.employ(nil)
	ctx, root := provider.Tracer("test").Start(t.Context(), "caller")
	x := o.run(ctx, "run")
	root.End()
	stop()
	if !strings.Contains(x.Traceparent, root.SpanContext().TraceID().String()) {
		t.Errorf("the traceparent is %q", x.Traceparent)
	}
	for _, s := range kept.GetSpans() {
		if s.Name != "caller" && s.SpanKind != trace.SpanKindClient {
			t.Errorf("there is a span %s", s.Name)
		}
	}
}
