package server

import (
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/front"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/webhook"
	"github.com/prometheus/client_golang/prometheus"
)

// observers are the observers of the parts of the server. Each part reports its actions to its
// observer. All observers are nil if the server has no metrics.
type observers struct {
	registerer prometheus.Registerer
	store      *store.Observer
	engine     engine.Observer
	http       front.Observer
	grpc       grpcapi.Observer
	webhooks   webhook.Observer
}

// observers creates the observers. If OpsAddr is set and Registerer is not, it also creates a registry.
func (s *Server) observers() (observers, error) {
	if s.Registerer == nil && s.OpsAddr != "" {
		s.Registerer = ops.NewRegistry(s.Version)
	}
	if s.Registerer == nil {
		return observers{}, nil
	}
	m, err := newMetrics(s.Registerer)
	return observers{registerer: s.Registerer, store: m.store(), engine: m, http: m, grpc: m, webhooks: m}, err
}

// reads registers the metrics whose values are computed only when a request reads the metrics.
func (o observers) reads(s store.Counter, hints notify.Notifier, processor *fair.Share) error {
	if o.registerer == nil {
		return nil
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "requests_waiting", Help: "Requests and calls that wait for their org's share of the processor.",
	}, func() float64 { return float64(processor.Waiting()) })
	return register(o.registerer, append(hintCounters(hints), newCensus(s), waiting)...)
}

// gatherer returns the metrics that the port for operators serves.
func (s *Server) gatherer() prometheus.Gatherer {
	if g, ok := s.Registerer.(prometheus.Gatherer); ok {
		return g
	}
	return prometheus.DefaultGatherer
}
