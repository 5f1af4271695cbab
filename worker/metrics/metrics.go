// Package metrics exports a worker's metrics to Prometheus: model and tool calls with their tokens
// and cost, and the work that the worker has at the moment. A server cannot measure these.
// docs/operations.md lists the metrics.
package metrics

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/meter"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/worker"
	"github.com/prometheus/client_golang/prometheus"
)

// maxLabels is the maximum number of values that a label for models, tools, kinds or error codes has.
// Further values are counted under the label "other".
const maxLabels = 100

// Metrics are the Prometheus metrics of a worker. The caller uses the result of Worker as the
// Observer in the worker's Config, and the result of React as the Observer in the Config of the
// react agent. It passes the worker to Watch.
type Metrics struct {
	registerer prometheus.Registerer
	models     *meter.Bounded
	tools      *meter.Bounded
	kinds      *meter.Bounded
	codes      *meter.Bounded

	modelCalls, tokens, cost, toolCalls, leases, entries, attempts, replayed, retries, notStored *prometheus.CounterVec
	modelTimes, toolTimes                                                                        *prometheus.HistogramVec
}

const namespace = "perdure"

// modelTimes and toolTimes are the upper bounds of the histogram buckets, in seconds.
var (
	modelTimes = []float64{.1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600}
	toolTimes  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 600}
)

// New creates the metrics and registers them with r. Error: invalid_argument, with the error of r.
func New(r prometheus.Registerer) (*Metrics, error) {
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	times := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		registerer: r,
		models:     meter.NewBounded(maxLabels), tools: meter.NewBounded(maxLabels), kinds: meter.NewBounded(maxLabels), codes: meter.NewBounded(maxLabels),

		modelCalls: count("model_calls_total", "Calls of models, by outcome: ok, or the kind of the error.", "provider", "model", "outcome"),
		modelTimes: times("model_call_duration_seconds", "Calls of models, to the end of the answer.", modelTimes, "provider", "model"),
		tokens:     count("model_tokens_total", "Tokens by the provider's count: input (not cached), output, cache_read, cache_write.", "provider", "model", "type"),
		cost:       count("model_cost_usd_total", "Cost of model calls in US dollars, of models whose price is known.", "provider", "model"),
		toolCalls:  count("tool_calls_total", "Runs of tools, by outcome: ok, error (which the model reads), failed, cancelled.", "tool", "outcome"),
		toolTimes:  times("tool_call_duration_seconds", "Runs of tools.", toolTimes, "tool"),
		leases:     count("worker_leases_lost_total", "Executions and tasks that this worker had to drop because their lease was over.", "work"),
		entries:    count("worker_entries_total", "How executions went on here: entered for the first time, entered again, or in place, parked before.", "kind", "how"),
		attempts:   count("worker_task_attempts_total", "Attempts of tasks that ended here, by outcome: ok, or the error's code.", "kind", "outcome"),
		replayed:   count("worker_results_replayed_total", "Attempts of tasks that ended with a result kept on this worker's disk, such as a model's answer that was not bought again.", "kind"),
		retries:    count("worker_retries_total", "Calls that the server did not take and that were sent again, by the error's code.", "code"),
		notStored:  count("worker_not_stored_total", "Commits of executions, and outcomes of tasks, that were given up because the server failed inside for too long.", "work"),
	}
	for _, work := range []string{"execution", "task"} {
		m.leases.WithLabelValues(work)
		m.notStored.WithLabelValues(work)
	}
	return m, m.register(m.modelCalls, m.modelTimes, m.tokens, m.cost, m.toolCalls, m.toolTimes, m.leases, m.entries, m.attempts, m.replayed, m.retries, m.notStored)
}

func (m *Metrics) register(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := m.registerer.Register(c); err != nil {
			return &perdure.Error{Code: perdure.InvalidArgument, Message: "the registerer has metrics of a worker already", Err: err}
		}
	}
	return nil
}

// Watch registers gauges of the worker's load and, unless `counters` is nil, counters of the react
// agent. The metrics are read at each scrape. Error: invalid_argument, with the error of the
// registerer.
func (m *Metrics) Watch(w *worker.Worker, counters *react.Counters) error {
	held := func(name, help string, labels prometheus.Labels, value func(worker.Load) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value(w.Load())) })
	}
	const executions, tasks = "Executions that this worker runs, or keeps parked.", "Attempts of tasks that this worker runs."
	all := []prometheus.Collector{
		held("worker_executions", executions, prometheus.Labels{"state": "running"}, func(l worker.Load) int { return l.Executions }),
		held("worker_executions", executions, prometheus.Labels{"state": "parked"}, func(l worker.Load) int { return l.Parked }),
		held("worker_tasks", tasks, nil, func(l worker.Load) int { return l.Tasks }),
		held("worker_parked_bytes", "About what parked executions hold in memory.", nil, func(l worker.Load) int { return l.ParkedBytes }),
		held("worker_slots", "How many this worker runs at once.", prometheus.Labels{"work": "execution"}, func(worker.Load) int { return w.Agents }),
		held("worker_slots", "How many this worker runs at once.", prometheus.Labels{"work": "task"}, func(worker.Load) int { return w.Tasks }),
	}
	if counters != nil {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: namespace, Name: "prompt_prefix_changes_total",
			Help: "Model calls whose prompt did not begin with that of the call before: they missed the provider's cache.",
		}, func() float64 { return float64(counters.PrefixChanges.Load()) }))
	}
	return m.register(all...)
}

// Worker returns an Observer for the Config of a worker.
func (m *Metrics) Worker() *worker.Observer {
	return &worker.Observer{
		LeaseLost: func(task bool) { m.leases.WithLabelValues(workOf(task)).Inc() },
		Entered: func(kind string, again bool) {
			how := "first"
			if again {
				how = "again"
			}
			m.entries.WithLabelValues(m.kinds.Of(kind), how).Inc()
		},
		Resumed:   func(kind string) { m.entries.WithLabelValues(m.kinds.Of(kind), "in_place").Inc() },
		Replayed:  func(kind string) { m.replayed.WithLabelValues(m.kinds.Of(kind)).Inc() },
		Retried:   func(code perdure.Code) { m.retries.WithLabelValues(m.codes.Of(string(code))).Inc() },
		NotStored: func(task bool) { m.notStored.WithLabelValues(workOf(task)).Inc() },
		Attempted: func(kind string, code perdure.Code) {
			m.attempts.WithLabelValues(m.kinds.Of(kind), m.outcome(string(code))).Inc()
		},
	}
}

func workOf(task bool) string {
	if task {
		return "task"
	}
	return "execution"
}

// outcome returns the label for an error code: "ok" for the code "", which means success. Applications may
// define codes, so after maxLabels of them the label is "other".
func (m *Metrics) outcome(code string) string {
	if code == "" {
		return "ok"
	}
	return m.codes.Of(code)
}

// React returns an Observer for the Config of a react agent.
func (m *Metrics) React() *react.Observer {
	return &react.Observer{ModelCalled: m.modelCalled, ToolCalled: m.toolCalled}
}

// model returns the labels for the provider and the model of a call. After maxLabels models, both
// are "other".
func (m *Metrics) model(c react.ModelCall) (provider, model string) {
	if m.models.Of(c.Provider+"/"+c.Model) == meter.Other {
		return meter.Other, meter.Other
	}
	return c.Provider, c.Model
}

func (m *Metrics) modelCalled(c react.ModelCall) {
	provider, model := m.model(c)
	m.modelCalls.WithLabelValues(provider, model, m.outcome(c.Error)).Inc()
	m.modelTimes.WithLabelValues(provider, model).Observe(c.Took.Seconds())
	if c.Usage == nil {
		return
	}
	for kind, n := range map[string]int64{
		"input": c.Usage.Input, "output": c.Usage.Output, "cache_read": c.Usage.CacheRead, "cache_write": c.Usage.CacheWrite,
	} {
		m.tokens.WithLabelValues(provider, model, kind).Add(float64(max(0, n)))
	}
	if c.Usage.Cost != nil {
		m.cost.WithLabelValues(provider, model).Add(max(0, *c.Usage.Cost))
	}
}

func (m *Metrics) toolCalled(c react.ToolCall) {
	name := m.tools.Of(c.Name)
	m.toolCalls.WithLabelValues(name, string(c.Outcome)).Inc()
	m.toolTimes.WithLabelValues(name).Observe(c.Took.Seconds())
}
