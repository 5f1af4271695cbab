package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/health"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// healthServer is a running server with a client of its gRPC health service.
type healthServer struct {
	*testing.T
	*Server
	cancel context.CancelFunc
	over   chan error
	health healthpb.HealthClient
}

func startHealthServer(t *testing.T, c Config) *healthServer {
	t.Helper()
	c.Data, c.Dev, c.HTTPAddr, c.GRPCAddr, c.OpsAddr = t.TempDir(), true, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Logger = slog.New(slog.DiscardHandler)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	h := &healthServer{T: t, Server: s, cancel: cancel, over: make(chan error, 1)}
	go func() { h.over <- s.Run(ctx) }()
	conn, err := grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	h.health = healthpb.NewHealthClient(conn)
	t.Cleanup(func() {
		_ = conn.Close() // the server has stopped
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

// end waits until the server has stopped, and closes it. The test must have told the server to
// stop.
func (h *healthServer) end() {
	h.Helper()
	if err := <-h.over; err != nil {
		h.Error(err)
	}
	if err := h.Close(); err != nil {
		h.Error(err)
	}
}

func (h *healthServer) get(url, key string) (int, string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		h.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// wantReady checks the readiness over HTTP, at the operators' port and over gRPC. The argument
// `reason` is the name of the failing check; "" means that the server must be ready.
func (h *healthServer) wantReady(reason string) {
	h.Helper()
	want, serving := http.StatusOK, healthpb.HealthCheckResponse_SERVING
	if reason != "" {
		want, serving = http.StatusServiceUnavailable, healthpb.HealthCheckResponse_NOT_SERVING
	}
	for _, base := range []string{h.HTTPAddress(), h.OpsAddress()} {
		status, body := h.get("http://"+base+"/readyz", "")
		if status != want || !strings.Contains(body, reason) || !json.Valid([]byte(body)) {
			h.Errorf("/readyz of %s answers %d %s, want %d because of %q", base, status, body, want, reason)
		}
		if status, _ := h.get("http://"+base+"/healthz", ""); status != http.StatusOK {
			h.Errorf("/healthz of %s answers %d", base, status)
		}
	}
	for _, service := range []string{"", "perdure.v1.WorkerDispatch", "perdure.v1.AgentDispatch"} {
		reply, err := h.health.Check(h.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || reply.GetStatus() != serving {
			h.Errorf("the health of %q is %v (%v), want %v", service, reply.GetStatus(), err, serving)
		}
	}
}

// TestStoppingServerIsNotReady checks that a server that is told to stop first reports that it is
// not ready. The server continues to answer requests during DrainDelay.
func TestStoppingServerIsNotReady(t *testing.T) {
	h := startHealthServer(t, Config{DrainDelay: time.Hour})
	h.wantReady("")
	watch, err := h.health.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if now, err := watch.Recv(); err != nil || now.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("a watch is told %v (%v)", now.GetStatus(), err)
	}
	h.cancel()
	if now, err := watch.Recv(); err != nil || now.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("a watch is told %v (%v)", now.GetStatus(), err)
	}
	h.wantReady("stopping")
	if status, body := h.get("http://"+h.HTTPAddress()+"/api/orgs/default/agent-executions", h.Token()); status != http.StatusOK {
		t.Errorf("a request is answered %d before the delay is over: %s", status, body)
	}
	h.fail(errors.New("enough")) // ends the delay
	h.end()
}

// TestNotReadyWithoutItsStore checks that a server whose store does not answer reports that it is
// alive but not ready. The reason is the check named "store".
func TestNotReadyWithoutItsStore(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{
		"sqlite":   func(testing.TB) string { return "" },
		"postgres": opentest.URL,
	} {
		t.Run(name, func(t *testing.T) {
			h := startHealthServer(t, Config{Store: url(t)})
			h.wantReady("")
			if err := h.store.Close(); err != nil {
				t.Fatal(err)
			}
			h.wantReady("store")
			if _, body := h.get("http://"+h.OpsAddress()+"/metrics", ""); !strings.Contains(body, "\nperdure_store_up 0\n") {
				t.Error("a scrape does not tell that the store is away")
			}
			h.cancel()
			h.end()
		})
	}
}

// TestHealthNeedsNoKey checks that the server reports its health without a key, and that the health
// of an unknown gRPC service is an error. A request to the API without a key is refused.
func TestHealthNeedsNoKey(t *testing.T) {
	h := startHealthServer(t, Config{})
	if _, err := h.health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "other"}); err == nil {
		t.Error("an unknown service has a health")
	}
	if status, body := h.get("http://"+h.HTTPAddress()+"/api/orgs/default/agent-executions", ""); status != http.StatusUnauthorized {
		t.Errorf("a request without a key is answered %d %s", status, body)
	}
	h.cancel()
	h.end()
}

// degradedStore is a store with a warning.
type degradedStore struct {
	store.Store
	reasons []store.Degradation
}

func (d degradedStore) Degraded(context.Context) []store.Degradation { return d.reasons }

// TestReadinessNamesWhatIsWrongWithTheStore checks that /readyz lists the warnings of a store by
// the names of the checks, and still reports ready. Without warnings its response has no member
// "degraded".
func TestReadinessNamesWhatIsWrongWithTheStore(t *testing.T) {
	s, err := Open(t.Context(), Config{Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sound := s.store
	for check, want := range map[string]string{
		"":                    `{"status":"ready"}`,
		store.CheckDisk:       `{"status":"ready","degraded":[{"check":"disk","detail":"why"}]}`,
		store.CheckDurability: `{"status":"ready","degraded":[{"check":"durability","detail":"why"}]}`,
	} {
		s.store = sound
		if check != "" {
			s.store = degradedStore{sound, []store.Degradation{{Check: check, Detail: "why"}}}
		}
		w := httptest.NewRecorder()
		health.Check(s.health).Handler(w, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("with %q: %d %s, want %s", check, w.Code, got, want)
		}
	}
	s.store = sound
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// uncheckedStore is a store whose check still runs.
type uncheckedStore struct{ store.Store }

func (uncheckedStore) Unchecked() (store.CheckProgress, bool) {
	return store.CheckProgress{Bytes: 3 << 20, Of: 10 << 20}, true
}

func (uncheckedStore) CheckBeside() {}

// damagedStore is a store whose check has failed.
type damagedStore struct{ store.Store }

func (damagedStore) Failed() error {
	return perdure.Errorf(perdure.Internal, "the database is damaged")
}

// TestReadinessReportsTheCheck checks that /readyz reports ready with a note while the check of a store
// runs. If the check has failed, /readyz reports that the server is not ready.
func TestReadinessReportsTheCheck(t *testing.T) {
	s, err := Open(t.Context(), Config{Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sound := s.store
	for want, of := range map[string]store.Store{
		`200 {"status":"ready","notes":[{"check":"unchecked","detail":"the store was not closed in order, and is being checked for damage: 3 of 10 MiB"}]}`: uncheckedStore{sound},
		`503 {"status":"unready","reasons":[{"check":"store","detail":"the database is damaged"}]}`:                                                         damagedStore{sound},
	} {
		s.store = of
		w := httptest.NewRecorder()
		health.Check(s.health).Handler(w, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
		if got := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String())); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	s.store = sound
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
