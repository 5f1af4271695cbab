package grpcapi

import (
	"context"
	"strings"
	"sync"
	"time"

	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/internal/health"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthService implements grpc.health.v1 for load balancers, which have no key. It reports one
// state for each service and, under the name "", for the whole server.
type healthService struct {
	healthpb.UnimplementedHealthServer
	check   health.Check
	once    sync.Once
	stopped chan struct{}
}

// watchEvery is the interval at which the state of the server is checked for a Watch call.
const watchEvery = 2 * time.Second

func newHealthService(check health.Check) *healthService {
	if check == nil {
		check = func(context.Context) health.Report { return health.Report{} }
	}
	return &healthService{check: check, stopped: make(chan struct{})}
}

func (s *healthService) stop() { s.once.Do(func() { close(s.stopped) }) }

var healthOf = map[string]bool{
	"": true, perdurev1.AgentDispatch_ServiceDesc.ServiceName: true, perdurev1.WorkerDispatch_ServiceDesc.ServiceName: true,
}

// isHealth reports whether the method belongs to the health service, which needs no key.
func isHealth(method string) bool {
	return strings.HasPrefix(method, "/"+healthpb.Health_ServiceDesc.ServiceName+"/")
}

func (s *healthService) serving(ctx context.Context) healthpb.HealthCheckResponse_ServingStatus {
	select {
	case <-s.stopped:
		return healthpb.HealthCheckResponse_NOT_SERVING
	default:
	}
	if !s.check(ctx).Ready() {
		return healthpb.HealthCheckResponse_NOT_SERVING
	}
	return healthpb.HealthCheckResponse_SERVING
}

// Check implements healthpb.HealthServer.
func (s *healthService) Check(ctx context.Context, m *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if !healthOf[m.GetService()] {
		return nil, status.Error(codes.NotFound, "there is no such service")
	}
	return &healthpb.HealthCheckResponse{Status: s.serving(ctx)}, nil
}

// unknown handles a Watch call for an unknown service. The protocol requires that the call stays
// open, because the service may be added later.
func (s *healthService) unknown(out grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	if err := out.Send(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVICE_UNKNOWN}); err != nil {
		return err
	}
	select {
	case <-s.stopped:
	case <-out.Context().Done():
	}
	return nil
}

// Watch implements healthpb.HealthServer: it sends each change of the state, and ends when the
// server stops.
func (s *healthService) Watch(m *healthpb.HealthCheckRequest, out grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	ctx := out.Context()
	if !healthOf[m.GetService()] {
		return s.unknown(out)
	}
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	told := healthpb.HealthCheckResponse_UNKNOWN
	for {
		if now := s.serving(ctx); now != told {
			told = now
			if err := out.Send(&healthpb.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-s.stopped:
			if told != healthpb.HealthCheckResponse_NOT_SERVING {
				continue
			}
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}
