// Package ops serves the port for operators of a process: metrics, liveness, readiness and
// profiles. Only profiles require a token. The port is separate from the API port, so that it can
// be restricted to a private network.
package ops

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/perdure/perdure/internal/health"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config configures the handler.
type Config struct {
	Gatherer prometheus.Gatherer
	Health   health.Check
	Logger   *slog.Logger
	// Token is the token that requests for profiles must contain; see [OpenToken]. If it is "",
	// such requests are refused.
	Token string
}

// NewRegistry creates a registry with the metrics of the process, the Go runtime
// and the build.
func NewRegistry(version string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "perdure", Name: "build_info", Help: "1, with the version of the program, its revision and that of Go.",
	}, []string{"version", "revision", "goversion"})
	build.WithLabelValues(version, revision(), runtime.Version()).Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func revision() string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, s := range built.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

// Handler returns the handler for metrics, health checks and profiles.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4, Timeout: 20 * time.Second,
		// If some metrics cannot be collected, the response still contains the other metrics.
		ErrorHandling: promhttp.ContinueOnError,
	}))
	mux.HandleFunc("GET /healthz", health.Alive)
	mux.HandleFunc("GET /readyz", c.Health.Handler)
	mux.Handle("/debug/pprof/", profile(c.Token, pprof.Index))
	mux.Handle("/debug/pprof/cmdline", profile(c.Token, pprof.Cmdline))
	mux.Handle("/debug/pprof/profile", profile(c.Token, pprof.Profile))
	mux.Handle("/debug/pprof/symbol", profile(c.Token, pprof.Symbol))
	mux.Handle("/debug/pprof/trace", profile(c.Token, pprof.Trace))
	return mux
}

// profile protects a profile: the client must be on this machine and must have the token. The check
// of the machine is not enough, because the tools of agents can run on this machine and could send
// such requests.
func profile(token string, h http.HandlerFunc) http.Handler { return here(withToken(token, h)) }

// here refuses requests from other machines and from web pages, because a profile contains parts of
// the memory. The check of the Host header prevents DNS rebinding.
func here(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.RemoteAddr) || !loopback(r.Host) || r.Header.Get("Origin") != "" {
			http.Error(w, "profiles are given to this machine alone, by an address of its own", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Serve serves requests on the listener until ctx ends. Serve closes the listener before it
// returns.
func Serve(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = server.Close() // operators can repeat requests that were interrupted
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
