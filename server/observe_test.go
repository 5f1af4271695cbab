package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/metrics"
	"github.com/perdure/perdure/worker/remote"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// script is a model's script with three model calls and two tool calls.
const script = `
turn
  text First the one.
  call one {"n": 1}
  usage in=100 out=10 cacheRead=7
turn
  call two {}
  usage in=200 out=20 cacheWrite=5
turn
  text Done.
  usage in=300 out=30
`

// observedServer is a server whose metrics or traces a test reads.
type observedServer struct {
	*testing.T
	server *server.Server
	client *client.Client
	dir    string // the folder of scripts
}

// eachStore runs the test with a server on each kind of store.
func eachStore(t *testing.T, test func(t *testing.T, c server.Config)) {
	t.Run("sqlite", func(t *testing.T) { test(t, server.Config{}) })
	t.Run("postgres", func(t *testing.T) { test(t, server.Config{Store: opentest.URL(t)}) })
}

func observe(t *testing.T, c server.Config) *observedServer {
	t.Helper()
	c.Dev, c.HTTPAddr, c.GRPCAddr, c.OpsAddr = true, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := openServer(t, c)
	cl, err := client.New(client.Options{BaseURL: "http://" + s.HTTPAddress(), Key: s.Token()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	o := &observedServer{T: t, server: s, client: cl, dir: t.TempDir()}
	o.script("run", script)
	return o
}

func (o *observedServer) script(name, text string) {
	o.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
}

// employ starts a worker over gRPC and returns a function that stops the worker. The function
// `change`, if not nil, modifies the worker's configuration before the start.
func (o *observedServer) employ(change func(c *worker.Config, r *react.Config)) (stop func()) {
	o.Helper()
	d, err := remote.Dial(o.Context(), remote.Options{Addr: o.server.GRPCAddress(), Token: o.server.Token(), Logger: o.server.Logger})
	if err != nil {
		o.Fatal(err)
	}
	wc := worker.Config{Dispatch: d, Logger: o.server.Logger, Drain: -1, PollWait: time.Second}
	rc := react.Config{
		Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: o.dir})), Counters: &react.Counters{},
		Tools: []tool.Tool{
			{Name: "one", Schema: []byte(`{"type":"object"}`), Run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("1"), nil }},
			{Name: "two", Schema: []byte(`{"type":"object"}`), Run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Errorf("no"), nil }},
		},
		Workspaces: func(string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(o.dir, "", tool.WorkspaceOptions{})
		},
	}
	if change != nil {
		change(&wc, &rc)
	}
	w := worker.New(wc)
	w.RegisterAgent(react.Agent(rc))
	for _, task := range react.Tasks(rc) {
		w.RegisterTask(task)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(o.Context()))
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	<-w.Registered()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-over; err != nil {
			o.Error(err)
		}
		if err := d.Close(); err != nil {
			o.Error(err)
		}
	}
	o.Cleanup(stop)
	return stop
}

// counted returns a function for the parameter `change` of employ. With it, the worker registers its
// metrics with r.
func (o *observedServer) counted(r prometheus.Registerer) func(*worker.Config, *react.Config) {
	m, err := metrics.New(r)
	if err != nil {
		o.Fatal(err)
	}
	return func(w *worker.Config, r *react.Config) { w.Observer, r.Observer = m.Worker(), m.React() }
}

// run starts a one-shot execution of a script, and waits for its end.
func (o *observedServer) run(ctx context.Context, name string) *perdure.Execution {
	o.Helper()
	x := o.start(ctx, name)
	return o.ended(x.ID)
}

func (o *observedServer) start(ctx context.Context, name string) *perdure.Execution {
	o.Helper()
	tools := []string{"one", "two"}
	x, err := o.client.Start(ctx, client.StartRequest{
		UserPrompt: "go", OneShot: true, Tools: &tools, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: name}},
	})
	if err != nil {
		o.Fatal(err)
	}
	return x
}

func (o *observedServer) ended(id uuid.UUID) *perdure.Execution {
	o.Helper()
	for e, err := range o.client.Follow(o.Context(), id, "") {
		if err != nil {
			o.Fatal(err)
		}
		if e.Type.Ends() {
			break
		}
	}
	x, err := o.client.Get(o.Context(), id)
	if err != nil {
		o.Fatal(err)
	}
	return x
}

// get sends a request to the port for operators, which serves metrics and profiles.
func (o *observedServer) get(path string) (int, string) {
	o.Helper()
	return get(o.T, "http://"+o.server.OpsAddress()+path)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// scrape reads the metrics and returns the values by name with labels. A histogram has two values: its
// count and, with the suffix "_sum", its sum.
func (o *observedServer) scrape() map[string]float64 {
	o.Helper()
	status, body := o.get("/metrics")
	if status != http.StatusOK {
		o.Fatalf("/metrics answers %d: %s", status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		o.Fatalf("the scrape does not parse: %v\n%s", err, body)
	}
	samples := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			key := name + labelsOf(m)
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				samples[key] = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				samples[key] = m.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				samples[key] = float64(m.GetHistogram().GetSampleCount())
				samples[name+"_sum"+labelsOf(m)] = m.GetHistogram().GetSampleSum()
			}
		}
	}
	return samples
}

func labelsOf(m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%s", l.GetName(), l.GetValue()))
	}
	slices.Sort(labels)
	return "{" + strings.Join(labels, ",") + "}"
}

// TestMetricsOfAKnownRun checks by how much a run with three model calls and two tool calls changes each
// metric, and that the text of the metrics is valid.
func TestMetricsOfAKnownRun(t *testing.T) {
	eachStore(t, func(t *testing.T, c server.Config) {
		registry := prometheus.NewRegistry()
		c.Registerer = registry
		o := observe(t, c)
		stop := o.employ(o.counted(registry))
		if x := o.run(t.Context(), "run"); x.Status != perdure.StatusCompleted {
			t.Fatalf("the run is %s: %v", x.Status, x.Error)
		}
		stop()
		got := o.scrape()
		const kind, of = "kind=react-agent", "model=run,provider=scripted"
		for sample, want := range map[string]float64{
			"perdure_model_calls_total{model=run,outcome=ok,provider=scripted}":                                                3,
			"perdure_model_call_duration_seconds{" + of + "}":                                                                  3,
			"perdure_model_tokens_total{" + of + ",type=input}":                                                                600,
			"perdure_model_tokens_total{" + of + ",type=output}":                                                               60,
			"perdure_model_tokens_total{" + of + ",type=cache_read}":                                                           7,
			"perdure_model_tokens_total{" + of + ",type=cache_write}":                                                          5,
			"perdure_tool_calls_total{outcome=ok,tool=one}":                                                                    1,
			"perdure_tool_calls_total{outcome=error,tool=two}":                                                                 1,
			"perdure_tool_call_duration_seconds{tool=one}":                                                                     1,
			"perdure_worker_entries_total{how=first," + kind + "}":                                                             1,
			"perdure_worker_task_attempts_total{kind=llm-request,outcome=ok}":                                                  3,
			"perdure_worker_task_attempts_total{kind=one,outcome=ok}":                                                          1,
			"perdure_worker_leases_lost_total{work=execution}":                                                                 0,
			"perdure_executions_ended_total{" + kind + ",status=COMPLETED}":                                                    1,
			"perdure_schedule_to_start_seconds{work=task}":                                                                     5,
			"perdure_schedule_to_start_seconds{work=execution}":                                                                6, // the start, and five ends of tasks
			"perdure_leases_lost_total{work=execution}":                                                                        0,
			"perdure_leases_lost_total{work=task}":                                                                             0,
			"perdure_takeovers_total{}":                                                                                        0,
			"perdure_grpc_requests_total{code=OK,method=perdure.v1.WorkerDispatch/FinishTask}":                                 5,
			"perdure_http_requests_total{code=201,method=POST,route=/api/orgs/{org}/agent-executions}":                         1,
			"perdure_http_request_duration_seconds{method=POST,route=/api/orgs/{org}/agent-executions}":                        1,
			"perdure_http_requests_total{code=200,method=GET,route=/api/orgs/{org}/agent-executions/{id}/stream/consolidated}": 1,
			"perdure_executions{reason=,status=PENDING}":                                                                       0,
			"perdure_stream_readers{transport=websocket}":                                                                      0,
			"perdure_hints_lost_total{}":                                                                                       0,
			"perdure_store_up{}":                                                                                               1,
		} {
			if value, there := got[sample]; !there || value != want {
				t.Errorf("%s is %v (%v), want %v", sample, value, there, want)
			}
		}
		for _, some := range []string{
			"perdure_store_size_bytes{}", "perdure_hints_sent_total{}", "perdure_commit_duration_seconds{}",
			"perdure_commit_batch_commands_sum{lane=commits}", "perdure_command_duration_seconds{lane=claims}", "perdure_stream_lag_seconds{transport=sse}",
		} {
			if got[some] <= 0 {
				t.Errorf("%s is %v", some, got[some])
			}
		}
		for sample := range got {
			if strings.Contains(sample, "status=RUNNING") || strings.Contains(sample, "status=WAITING") {
				t.Errorf("nothing runs or waits, but there is %s", sample)
			}
		}
	})
}

// TestPendingIsCountedByQueue checks the metrics of pending executions and tasks: their number in each
// queue, and the age of the oldest one. Queues that are named after a run (run:UUID) are counted
// together under one label, so no label contains a UUID.
func TestPendingIsCountedByQueue(t *testing.T) {
	o := observe(t, server.Config{})
	stop := o.employ(nil) // registers the kinds, which stay registered after the worker has stopped
	stop()
	for _, queue := range []string{"default", "default", "run:" + uuid.NewString(), "run:" + uuid.NewString()} {
		_, err := o.client.Start(t.Context(), client.StartRequest{
			UserPrompt: "go", Queue: queue, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "run"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := o.scrape()
	for sample, want := range map[string]float64{
		"perdure_queue_pending{queue=default,work=execution}": 2, "perdure_queue_ready{queue=default,work=execution}": 2,
		"perdure_queue_pending{queue=run:*,work=execution}": 2, "perdure_executions{reason=,status=PENDING}": 4,
	} {
		if got[sample] != want {
			t.Errorf("%s is %v, want %v", sample, got[sample], want)
		}
	}
	if age, there := got["perdure_queue_oldest_age_seconds{queue=default,work=execution}"]; !there || age < 0 {
		t.Errorf("the oldest is %v s old (%v)", age, there)
	}
	for sample := range got {
		if parts := strings.FieldsFunc(sample, func(r rune) bool { return strings.ContainsRune("{}=,:/", r) }); slices.ContainsFunc(parts, func(s string) bool {
			_, err := uuid.Parse(s)
			return err == nil
		}) {
			t.Errorf("an id is a label: %s", sample)
		}
	}
}

// TestMetricsAreOnThePrivatePortOnly checks that only the port for operators serves metrics and profiles.
// Requests for profiles need the token of that port.
func TestMetricsAreOnThePrivatePortOnly(t *testing.T) {
	o := observe(t, server.Config{})
	for path, want := range map[string]int{"/metrics": 200, "/debug/pprof/": 401, "/debug/pprof/cmdline": 401, "/healthz": 200, "/readyz": 200, "/api/orgs/default/agent-executions": 404} {
		if status, body := o.get(path); status != want {
			t.Errorf("the private port answers %d to %s, want %d: %s", status, path, want, body)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
		if status, _ := get(t, "http://"+o.server.HTTPAddress()+path); status != http.StatusNotFound {
			t.Errorf("the public port answers %d to %s", status, path)
		}
	}
	if got := o.scrape(); got["go_goroutines{}"] <= 0 {
		t.Error("the Go runtime is not told of")
	}
}
