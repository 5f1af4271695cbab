package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/meter"
	"github.com/perdure/perdure/internal/store"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// censusEvery is how long the result of one count is reused for further requests of the
	// metrics.
	censusEvery = 5 * time.Second
	// censusWithin is the timeout of one count of the store's rows.
	censusWithin = 3 * time.Second
)

// census provides the metrics that count rows of the store. Each server that shares a store reports
// the rows of the whole store, so the values of several servers must not be added.
type census struct {
	store  store.Counter
	now    func() time.Time
	queues *meter.Bounded

	mu   sync.Mutex // guards the fields below; held during a query, so that only one runs
	at   time.Time
	last store.Census
	err  error
}

func newCensus(s store.Counter) *census {
	return &census{store: s, now: time.Now, queues: meter.NewBounded(maxLabels)}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	queuePending = describe("queue_pending", "What is PENDING on a queue, also what is put off.", "queue", "work")
	queueReady   = describe("queue_ready", "What is PENDING on a queue and could be claimed now.", "queue", "work")
	queueAge     = describe("queue_oldest_age_seconds", "For how long the oldest of what could be claimed has been ready; 0 where there is none.", "queue", "work")
	executions   = describe("executions", "Executions that have not ended, by status; those that wait by the reason, too.", "status", "reason")
	storeSize    = describe("store_size_bytes", "Size of the database on disk, without a write-ahead log.")
	storeRaw     = describe("store_unchecked", "1 while the file of the store has not passed a check since an end that was not orderly, else 0.")
	deliveries   = describe("webhook_deliveries_pending", "Events that wait to be sent to a webhook.")
	storeUp      = describe("store_up", "Whether the store answered when it was last asked: 1 or 0.")
)

// Describe implements prometheus.Collector.
func (c *census) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queuePending, queueReady, queueAge, executions, deliveries, storeSize, storeRaw, storeUp} {
		out <- d
	}
}

// take returns the numbers of rows. They are at most censusEvery old.
func (c *census) take() (store.Census, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.at.IsZero() || now.Sub(c.at) >= censusEvery {
		ctx, cancel := context.WithTimeout(context.Background(), censusWithin)
		defer cancel()
		c.last, c.err = c.store.Census(ctx)
		c.at = now
	}
	return c.last, c.err
}

// Collect implements prometheus.Collector. If the store does not answer, Collect reports only the
// metrics storeUp and storeRaw.
func (c *census) Collect(out chan<- prometheus.Metric) {
	last, err := c.take()
	unchecked := 0.
	if k, ok := c.store.(store.Checking); ok {
		if _, is := k.Unchecked(); is {
			unchecked = 1
		}
	}
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	tell(storeRaw, unchecked)
	if err != nil {
		tell(storeUp, 0)
		return
	}
	tell(storeUp, 1)
	tell(storeSize, float64(last.Bytes))
	tell(deliveries, float64(last.Deliveries))
	pending := 0
	for name, q := range c.byLabel(last) {
		tell(queuePending, q.pending, name.queue, name.work)
		tell(queueReady, q.ready, name.queue, name.work)
		tell(queueAge, q.age, name.queue, name.work)
	}
	for _, q := range last.Queues {
		if !q.Tasks {
			pending += q.Pending
		}
	}
	tell(executions, float64(pending), "PENDING", "")
	for status, n := range last.Held {
		tell(executions, float64(n), string(status), "")
	}
	for reason, n := range last.Waiting {
		tell(executions, float64(n), "WAITING", reason)
	}
}

type queueLabels struct{ queue, work string }

type queueValues struct{ pending, ready, age float64 }

// byLabel returns the values of the queue metrics by their labels. The values of queues that share
// a label are combined: counts are added, and the age is the maximum.
func (c *census) byLabel(of store.Census) map[queueLabels]queueValues {
	all := map[queueLabels]queueValues{}
	for _, q := range of.Queues {
		name := queueLabels{c.label(q.Queue), "execution"}
		if q.Tasks {
			name.work = "task"
		}
		v := all[name]
		v.pending += float64(q.Pending)
		v.ready += float64(q.Ready)
		if !q.Since.IsZero() {
			v.age = max(v.age, of.At.Sub(q.Since.Time).Seconds())
		}
		all[name] = v
	}
	return all
}

// label returns the metric label of a queue. Queues that are created for one run or one worker share a
// label.
func (c *census) label(queue string) string {
	for _, prefix := range []string{"run:", "local:"} {
		if strings.HasPrefix(queue, prefix) {
			return prefix + "*"
		}
	}
	return c.queues.Of(queue)
}
