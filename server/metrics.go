package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/meter"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// metrics are the metrics of a server. docs/operations.md lists them. A label whose values users
// choose, such as a kind, has at most maxLabels different values.
type metrics struct {
	waited       *prometheus.HistogramVec
	leasesLost   *prometheus.CounterVec
	takeovers    prometheus.Counter
	ended        *prometheus.CounterVec
	refused      *prometheus.CounterVec
	commands     *prometheus.HistogramVec
	commits      prometheus.Histogram
	batches      *prometheus.HistogramVec
	readers      *prometheus.GaugeVec
	lag          *prometheus.HistogramVec
	settings     *prometheus.GaugeVec
	requests     *prometheus.CounterVec
	requestTimes *prometheus.HistogramVec
	calls        *prometheus.CounterVec
	callTimes    *prometheus.HistogramVec
	kinds        *meter.Bounded

	deliveries    *prometheus.CounterVec
	deliveryTimes prometheus.Histogram
	webhooksOff   prometheus.Counter
}

var (
	_ engine.Observer = (*metrics)(nil)
	_ front.Observer  = (*metrics)(nil)
)

// maxLabels is the maximum number of distinct label values for queues, and for kinds.
const maxLabels = 100

var (
	// quick are the histogram buckets for durations from a tenth of a millisecond to seconds.
	quick = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	// long are the histogram buckets for the durations of work that may wait for a worker or a
	// reader.
	long  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	sizes = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		waited: histogram("schedule_to_start_seconds", "How long executions and tasks were ready before a worker claimed them.", long, "work"),
		leasesLost: counter("leases_lost_total", "Leases taken back because the worker was silent for too long, or its process ended.",
			"work"),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "takeovers_total", Help: "Executions that a worker went on with after theirs was lost.",
		}),
		ended:    counter("executions_ended_total", "Executions that ended, by agent kind and terminal status.", "kind", "status"),
		refused:  counter("commands_refused_total", "Writes that were refused, by command and error code.", "command", "code"),
		commands: histogram("command_duration_seconds", "How long callers waited for a write, from the queue to its outcome.", quick, "lane"),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "commit_duration_seconds", Help: "Transactions of the committers.", Buckets: quick,
		}),
		batches:      histogram("commit_batch_commands", "Commands in one transaction, by lane; lanes without any are not counted.", sizes, "lane"),
		readers:      gauge("stream_readers", "Open streams, sockets and waiting polls, by transport.", "transport"),
		lag:          histogram("stream_lag_seconds", "Age of events when they were written to readers that had caught up.", quick, "transport"),
		settings:     gauge("store_setting_off", "1 where a setting of the database is off without which a power failure can lose what was answered.", "setting"),
		requests:     counter("http_requests_total", "HTTP requests answered.", "method", "route", "code"),
		requestTimes: histogram("http_request_duration_seconds", "Time to answer HTTP requests; of streams, to begin them.", quick, "method", "route"),
		calls:        counter("grpc_requests_total", "gRPC calls of workers that ended.", "method", "code"),
		callTimes:    histogram("grpc_request_duration_seconds", "Duration of gRPC calls; polls and streams take as long as they wait.", long, "method"),
		kinds:        meter.NewBounded(maxLabels),
		deliveries:   counter("webhook_attempts_total", "Attempts to send an event to a webhook: delivered, failed (another follows) or dead (none follows).", "outcome"),
		deliveryTimes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "webhook_attempt_duration_seconds", Help: "Time until an attempt to send an event to a webhook was recorded.", Buckets: quick,
		}),
		webhooksOff: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "webhooks_disabled_total", Help: "Webhooks that the server has disabled.",
		}),
	}
	for _, outcome := range []string{"delivered", "failed", "dead"} {
		m.deliveries.WithLabelValues(outcome)
	}
	for _, t := range front.Transports() {
		m.readers.WithLabelValues(t)
	}
	for _, work := range []engine.Work{engine.WorkExecution, engine.WorkTask} {
		m.leasesLost.WithLabelValues(string(work))
	}
	return m, register(r, m.waited, m.leasesLost, m.takeovers, m.ended, m.refused, m.commands, m.commits, m.batches,
		m.readers, m.lag, m.requests, m.requestTimes, m.calls, m.callTimes, m.settings, m.deliveries, m.deliveryTimes, m.webhooksOff)
}

// Attempted implements webhook.Observer.
func (m *metrics) Attempted(outcome string, took time.Duration) {
	m.deliveries.WithLabelValues(outcome).Inc()
	m.deliveryTimes.Observe(took.Seconds())
}

// Disabled implements webhook.Observer.
func (m *metrics) Disabled() { m.webhooksOff.Inc() }

const namespace = "perdure"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// register registers the collectors with r. It returns the first error.
func register(r prometheus.Registerer, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return &perdure.Error{Code: perdure.InvalidArgument, Message: "the registerer has metrics of a Perdure server already", Err: err}
		}
	}
	return nil
}

// hintCounters returns collectors of a notifier's counters.
func hintCounters(n notify.Notifier) []prometheus.Collector {
	counted, ok := n.(notify.Counted)
	if !ok {
		return nil
	}
	of := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		of("hints_sent_total", "Hints to pollers, readers and other servers.", func() int64 { sent, _ := counted.Counts(); return sent }),
		of("hints_lost_total", "Hints that are known to have been lost; what they told of is found later.", func() int64 { _, lost := counted.Counts(); return lost }),
	}
}

// Claimed implements engine.Observer.
func (m *metrics) Claimed(work engine.Work, _ string, waited time.Duration) {
	m.waited.WithLabelValues(string(work)).Observe(max(0, waited).Seconds())
}

// LeaseLost implements engine.Observer.
func (m *metrics) LeaseLost(work engine.Work, _ string) {
	m.leasesLost.WithLabelValues(string(work)).Inc()
}

// TakenOver implements engine.Observer.
func (m *metrics) TakenOver(string) { m.takeovers.Inc() }

// Ended implements engine.Observer.
func (m *metrics) Ended(kind string, status perdure.Status) {
	m.ended.WithLabelValues(m.kinds.Of(kind), string(status)).Inc()
}

// Refused implements engine.Observer.
func (m *metrics) Refused(command string, code perdure.Code) {
	m.refused.WithLabelValues(command, string(code)).Inc()
}

// store returns an observer of the store's committers.
func (m *metrics) store() *store.Observer {
	var lanes [store.Lanes]prometheus.Observer
	var batches [store.Lanes]prometheus.Observer
	for l := range lanes {
		name := store.Lane(l).String()
		lanes[l], batches[l] = m.commands.WithLabelValues(name), m.batches.WithLabelValues(name)
	}
	return &store.Observer{
		Command: func(lane store.Lane, took time.Duration) { lanes[lane].Observe(took.Seconds()) },
		Batch: func(commands [store.Lanes]int, took time.Duration) {
			m.commits.Observe(took.Seconds())
			for lane, n := range commands {
				if n > 0 {
					batches[lane].Observe(float64(n))
				}
			}
		},
		Setting: func(name string, off bool) {
			value := 0.
			if off {
				value = 1
			}
			m.settings.WithLabelValues(name).Set(value)
		},
	}
}

var httpMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// Request implements front.Observer.
func (m *metrics) Request(method, route string, status int, took time.Duration) {
	if !httpMethods[method] {
		method = meter.Other
	}
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(method, route, statusText(status)).Inc()
	m.requestTimes.WithLabelValues(method, route).Observe(took.Seconds())
}

// statusText returns an HTTP status code as a label.
func statusText(status int) string {
	if status < 100 || status > 999 {
		return meter.Other
	}
	digits := [3]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)}
	return string(digits[:])
}

// Reading implements front.Observer.
func (m *metrics) Reading(transport string) (left func()) {
	open := m.readers.WithLabelValues(transport)
	open.Inc()
	return open.Dec
}

// Delivered implements front.Observer.
func (m *metrics) Delivered(transport string, age time.Duration) {
	m.lag.WithLabelValues(transport).Observe(age.Seconds())
}

// Call implements grpcapi.Observer.
func (m *metrics) Call(method string, code codes.Code, took time.Duration) {
	method = strings.TrimPrefix(method, "/")
	m.calls.WithLabelValues(method, code.String()).Inc()
	m.callTimes.WithLabelValues(method).Observe(took.Seconds())
}
