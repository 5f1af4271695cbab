package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

const org = "acme"

// bench is a store with an engine and a sender of deliveries. The test moves their clock.
type bench struct {
	testing.TB
	store  store.Store
	engine *engine.Engine
	sender *Sender
	clock  *clock
}

// clock is a clock that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

func newClock() *clock { return &clock{now: time.Now().Truncate(time.Millisecond)} }

// each runs a test with a bench on every store.
func each(t *testing.T, test func(b *bench)) {
	t.Helper()
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		c := newClock()
		test(benchOn(t, open(t, c.Now), c, Network{AllowLoopback: true}))
	})
}

func benchOn(t testing.TB, s store.Store, c *clock, n Network) *bench {
	quiet := slog.New(slog.DiscardHandler)
	e := engine.New(engine.Config{Store: s, Logger: quiet})
	e.WebhookRules(tenants.WebhookPolicy{Loopback: true})
	b := &bench{TB: t, store: s, engine: e, clock: c, sender: New(Config{Engine: e, Links: e.Questions, Store: s, Hints: e.Hints, Network: n, Logger: quiet})}
	b.register(org, "other")
	return b
}

// register registers the kind of the test's executions in the orgs.
func (b *bench) register(orgs ...string) {
	b.Helper()
	for _, name := range orgs {
		_, err := b.engine.Dispatch(name, false).Register(b.Context(), perdure.Registration{WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
		b.must(err)
	}
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// webhook creates a webhook and returns it with its secret.
func (b *bench) webhook(url string, events ...string) (*perdure.Webhook, string) {
	b.Helper()
	return b.webhookOf(org, url, events...)
}

func (b *bench) webhookOf(org, url string, events ...string) (*perdure.Webhook, string) {
	b.Helper()
	w, secret, err := b.engine.CreateWebhook(b.Context(), org, perdure.WebhookRequest{URL: url, Events: events})
	b.must(err)
	return w, secret
}

// start starts an execution and returns its id.
func (b *bench) start() uuid.UUID {
	b.Helper()
	return b.startOf(org)
}

func (b *bench) startOf(org string) uuid.UUID {
	b.Helper()
	x, err := b.engine.Start(b.Context(), org, engine.StartRequest{Kind: "agent", Queue: "default", Input: json.RawMessage(`{"secret":"not to be sent"}`)})
	b.must(err)
	return x.ID
}

func (b *bench) step() {
	b.Helper()
	b.must(b.sender.Step(b.Context()))
}

func (b *bench) deliveries(w *perdure.Webhook) []*perdure.Delivery {
	b.Helper()
	page, err := b.store.Deliveries(b.Context(), store.DeliveryQuery{Org: w.Org, Webhook: w.ID, Limit: 1000})
	b.must(err)
	return page.Items
}

// only returns the only delivery of a webhook. It fails the test if the webhook has no delivery or
// several.
func (b *bench) only(w *perdure.Webhook) *perdure.Delivery {
	b.Helper()
	all := b.deliveries(w)
	if len(all) != 1 {
		b.Fatalf("%d deliveries, want 1", len(all))
	}
	return all[0]
}

type request struct {
	id, timestamp, signature string
	header                   http.Header
	body                     []byte
}

func (r request) event(t testing.TB) (kind string, data map[string]any) {
	t.Helper()
	var payload struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	if err := json.Unmarshal(r.body, &payload); err != nil || payload.Timestamp.IsZero() {
		t.Fatalf("%s: %v", r.body, err)
	}
	return payload.Type, payload.Data
}

// endpoint is the HTTP server to which a webhook sends. It records the requests, and responds as
// the test specifies.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	got    []request
	answer http.HandlerFunc
}

func newEndpoint(t testing.TB, answer http.HandlerFunc) *endpoint {
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.got = append(e.got, request{r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature"), r.Header, body})
	answer := e.answer
	e.mu.Unlock()
	if answer != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}
}

func (e *endpoint) answers(with http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = with
}

func (e *endpoint) requests() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// key returns the signing key in the secret of a webhook.
func key(t testing.TB, secret string) []byte {
	t.Helper()
	text, ours := strings.CutPrefix(secret, "whsec_")
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ours || err != nil || len(raw) != 32 {
		t.Fatalf("a secret of %d bytes: %v", len(raw), err)
	}
	return raw
}

// Step sends all due deliveries, and returns when the requests have ended.
func (s *Sender) Step(ctx context.Context) error {
	if err := s.checkOverdue(ctx); err != nil {
		return err
	}
	for {
		more, err := s.round(ctx, ctx)
		if err != nil {
			return err
		}
		s.running.Wait()
		if !more && !s.leftSome() {
			return nil
		}
	}
}

func (s *Sender) leftSome() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leftBehind
}
