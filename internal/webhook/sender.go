// Package webhook sends deliveries to webhooks. Any number of servers may send the deliveries of
// one store: a server takes a delivery with a lease, so that only one server sends it. If a server
// stops between the request and the record of its outcome, another server sends the delivery again
// with the same webhook-id.
package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// Engine is the part of the engine that a Sender uses: commands on webhooks.
type Engine interface {
	TakeDeliveries(ctx context.Context, picks []store.DeliveryPick) ([]*perdure.Delivery, error)
	EndAttempt(ctx context.Context, d *perdure.Delivery, o tenant.Outcome) (*perdure.Delivery, error)
	WebhookKeys(ctx context.Context, w *perdure.Webhook) ([][]byte, error)
	DisableOverdue(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, error)
	// Claims reports whether the org is enabled, so that its deliveries may be sent.
	Claims(ctx context.Context, org string) bool
}

// Links creates links to questions.
type Links interface {
	// WebhookLink creates a link with which the API key answers the question, and returns the token
	// of the link; "" if the key may not answer now.
	WebhookLink(ctx context.Context, org string, question, key uuid.UUID) (string, error)
}

// Store is the part of the store that a Sender reads.
type Store interface {
	DueWebhooks(ctx context.Context, now perdure.Time, after uuid.UUID, limit int) ([]*perdure.Webhook, error)
	Overdue(ctx context.Context, limit int) ([]*perdure.Webhook, error)
	Now() perdure.Time
}

// Observer is notified of the outcomes of deliveries.
type Observer interface {
	// Attempted reports the end of an attempt. The parameter `outcome` is "delivered", "failed"
	// (there will be another attempt) or "dead". The parameter `took` is the duration of the
	// attempt.
	Attempted(outcome string, took time.Duration)
	// Disabled reports that the server has disabled a webhook.
	Disabled()
}

// Config configures a Sender. Observer may be nil. PublicURL is the address at which people reach
// the server; without it no delivery contains a link.
type Config struct {
	Engine   Engine
	Links    Links
	Store    Store
	Hints    notify.Notifier
	Network  Network
	Observer Observer
	Logger   *slog.Logger

	PublicURL *url.URL
}

const (
	// perWebhook is the maximum number of concurrent requests to one webhook. perOrg limits the
	// requests of an org, and atOnce those of the server. But a webhook for which no request runs
	// may always begin a request, so that an endpoint that does not respond delays only its own
	// deliveries. In all, never more than twice atOnce requests run.
	perWebhook, perOrg, atOnce = 4, 32, 512
	// tick is the interval at which the Sender looks for due deliveries, even without a hint.
	tick = time.Second
	// overdueEvery is the interval at which the Sender looks for webhooks with too many waiting
	// deliveries.
	overdueEvery = 5 * time.Second
	// duePage is the maximum number of webhooks with due deliveries that one round considers.
	duePage = 500
	// grace is how long running requests may take to end after the server was told to stop.
	grace = 3 * time.Second
)

// Sender sends due deliveries. [New] creates one.
type Sender struct {
	Config
	client *http.Client
	// freed receives a value when a request has ended, if the last round could not take all due
	// deliveries.
	freed   chan struct{}
	running sync.WaitGroup

	after uuid.UUID // the webhook after which the next round begins

	mu         sync.Mutex // guards the following fields
	total      int
	byOrg      map[string]int
	byWebhook  map[uuid.UUID]int
	leftBehind bool // the last round could not take all due deliveries
}

// New creates a Sender.
func New(c Config) *Sender {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return &Sender{Config: c, client: newClient(c.Network), freed: make(chan struct{}, 1), byOrg: map[string]int{}, byWebhook: map[uuid.UUID]int{}}
}

// Run sends deliveries until ctx ends. Then it waits a short time for the running requests to end.
func (s *Sender) Run(ctx context.Context) error {
	hints, unsubscribe := s.Hints.Subscribe(notify.Deliveries)
	defer unsubscribe()
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer s.client.CloseIdleConnections()
	defer s.running.Wait()
	defer cancel()
	ticks, checks := time.NewTicker(tick), time.NewTicker(overdueEvery)
	defer ticks.Stop()
	defer checks.Stop()
	for ctx.Err() == nil {
		more, err := s.round(ctx, attempts)
		s.failed(ctx, err)
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-hints:
		case <-s.freed:
		case <-ticks.C:
		case <-checks.C:
			s.failed(ctx, s.checkOverdue(ctx))
		}
	}
	s.waitFor(grace)
	return nil
}

func (s *Sender) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.Logger.Error("webhooks are not served", "error", err)
	}
}

// waitFor waits until the running requests have ended, for at most the time `most`.
func (s *Sender) waitFor(most time.Duration) {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(most):
	}
}

// round takes as many due deliveries as may be sent now, and starts their requests. The requests
// use the context `attempts`. The result `more` reports whether another round should follow at
// once.
func (s *Sender) round(ctx, attempts context.Context) (more bool, err error) {
	due, err := s.Store.DueWebhooks(ctx, s.Store.Now(), s.after, duePage)
	if err != nil {
		return false, err
	}
	more = s.after != uuid.Nil // the webhooks up to s.after follow
	s.after = uuid.Nil
	if len(due) == duePage {
		s.after, more = due[len(due)-1].ID, true
	}
	picks, full := s.room(s.enabled(ctx, due))
	if len(picks) == 0 {
		s.leave(full)
		return more && !full, nil
	}
	taken, err := s.Engine.TakeDeliveries(ctx, picks)
	if err != nil {
		return false, err
	}
	byID := map[uuid.UUID]*perdure.Webhook{}
	for _, w := range due {
		byID[w.ID] = w
	}
	for _, d := range taken {
		s.start(attempts, byID[d.WebhookID], d)
	}
	asked := 0
	for _, p := range picks {
		asked += p.Limit
	}
	s.leave(full || len(taken) >= asked)
	return more && !full, nil
}

// enabled returns the webhooks of orgs that are not disabled.
func (s *Sender) enabled(ctx context.Context, all []*perdure.Webhook) (enabled []*perdure.Webhook) {
	works := map[string]bool{}
	for _, w := range all {
		if _, known := works[w.Org]; !known {
			works[w.Org] = s.Engine.Claims(ctx, w.Org)
		}
		if works[w.Org] {
			enabled = append(enabled, w)
		}
	}
	return enabled
}

// leave is called at the end of a round. If `behind` is set, the round could not take all due
// deliveries; then another round starts when the next request ends.
func (s *Sender) leave(behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftBehind = behind
	if behind && s.total == 0 {
		s.signal()
	}
}

func (s *Sender) signal() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// start starts an attempt in the background.
func (s *Sender) start(ctx context.Context, w *perdure.Webhook, d *perdure.Delivery) {
	s.mu.Lock()
	s.total++
	s.byOrg[d.Org]++
	s.byWebhook[d.WebhookID]++
	s.mu.Unlock()
	s.running.Go(func() {
		defer s.ended(d)
		s.attempt(ctx, w, d)
	})
}

func (s *Sender) ended(d *perdure.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.byOrg[d.Org]--; s.byOrg[d.Org] == 0 {
		delete(s.byOrg, d.Org)
	}
	if s.byWebhook[d.WebhookID]--; s.byWebhook[d.WebhookID] == 0 {
		delete(s.byWebhook, d.WebhookID)
	}
	if s.leftBehind {
		s.signal()
	}
}
