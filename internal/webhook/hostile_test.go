package webhook

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// on returns a bench (the engine and sender of a test) on SQLite, for tests that need no other kind
// of store.
func on(t *testing.T, n Network) *bench {
	t.Helper()
	c := newClock()
	return benchOn(t, opentest.SQLite(t, c.Now), c, n)
}

// TestARedirectIsNotFollowed checks that a redirect makes the attempt fail, and that its target
// gets no request.
func TestARedirectIsNotFollowed(t *testing.T) {
	b := on(t, Network{AllowLoopback: true})
	target := newEndpoint(b, nil)
	for _, code := range []int{301, 302, 303, 307, 308} {
		e := newEndpoint(b, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, code) })
		w, _ := b.webhook(e.URL, "agent.created")
		b.start()
		b.step()
		d := b.only(w)
		if d.Status != perdure.DeliveryPending || d.ResponseStatus != code || !strings.Contains(d.Error, "redirect") {
			b.Errorf("%d: %+v", code, d)
		}
		_, err := b.engine.DeleteWebhook(b.Context(), org, w.ID)
		b.must(err)
	}
	if n := len(target.requests()); n != 0 {
		b.Errorf("the target got %d requests", n)
	}
}

// TestALargeAnswerIsNotRead checks that only the part of a response that is stored is read, even if
// the response has a gigabyte.
func TestALargeAnswerIsNotRead(t *testing.T) {
	b := on(t, Network{AllowLoopback: true})
	var wrote atomic.Int64
	ended := make(chan struct{})
	e := newEndpoint(b, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		chunk := []byte(strings.Repeat("x", 64<<10))
		for range 1 << 14 { // 1 GiB
			n, err := w.Write(chunk)
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	w, _ := b.webhook(e.URL)
	b.start()
	b.step()
	if d := b.only(w); d.Status != perdure.DeliveryDelivered || len(d.ResponseBody) != perdure.MaxDeliveryAnswer {
		b.Errorf("the delivery is %s with %d bytes", d.Status, len(d.ResponseBody))
	}
	<-ended
	if n := wrote.Load(); n > 64<<20 {
		b.Errorf("the endpoint could write %d bytes", n)
	}
}

// TestAPrivateAddressIsRefused checks that the sender does not connect to a private, loopback or
// link-local address, even if the name of the host resolved to a public address before. The test
// also checks the settings with which operators can allow private addresses.
func TestAPrivateAddressIsRefused(t *testing.T) {
	const private, never = "can allow it with --webhook-allow-private", "webhooks are never sent"
	for name, c := range map[string]struct {
		network Network
		address string
		refusal string
	}{
		"loopback":                  {Network{}, "127.0.0.1", private},
		"loopback in dev mode":      {Network{AllowLoopback: true}, "127.0.0.1", ""},
		"private in dev mode":       {Network{AllowLoopback: true}, "10.1.2.3", private},
		"loopback that is allowed":  {Network{AllowPrivate: true}, "127.0.0.1", ""},
		"metadata of a cloud":       {Network{}, "169.254.169.254", never},
		"metadata if private is ok": {Network{AllowPrivate: true}, "169.254.169.254", never},
	} {
		t.Run(name, func(t *testing.T) {
			c.network.Resolver = resolver(t, c.address)
			b := on(t, c.network)
			e := newEndpoint(b, nil)
			_, port, err := net.SplitHostPort(e.Listener.Addr().String())
			b.must(err)
			w, _ := b.webhook("https://hook.example.com:" + port + "/x")
			b.start()
			b.step()
			d := b.only(w)
			refused := strings.HasPrefix(d.Error, "hook.example.com is at ")
			if refused != (c.refusal != "") || !strings.Contains(d.Error, c.refusal) || d.Status != perdure.DeliveryPending {
				b.Errorf("the delivery is %+v", d)
			}
			if strings.Contains(d.Error, "/x") {
				b.Errorf("the error has the URL: %s", d.Error)
			}
			if n := len(e.requests()); n != 0 {
				b.Errorf("the endpoint got %d requests without TLS", n)
			}
		})
	}
}

// resolver returns a DNS resolver that returns one address for every name.
func resolver(t *testing.T, address string) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answerNames(theirs, net.ParseIP(address).To4())
		return ours, nil
	}}
}

// answerNames answers one DNS query over a stream. If the query is for an IPv4 address, the answer
// contains the address `ip`.
func answerNames(conn net.Conn, ip net.IP) {
	defer conn.Close()
	size := make([]byte, 2)
	if _, err := io.ReadFull(conn, size); err != nil {
		return
	}
	q := make([]byte, int(size[0])<<8|int(size[1]))
	if _, err := io.ReadFull(conn, q); err != nil {
		return
	}
	end := 12
	for q[end] != 0 {
		end += int(q[end]) + 1
	}
	end += 5
	answer := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
	if q[end-3] == 1 { // A
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4)
		answer = append(answer, ip...)
	}
	_, _ = conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...))
}

// TestAHangingEndpointDelaysNoOther checks that the deliveries of one webhook arrive while the
// endpoint of another webhook of the same org, with many deliveries, does not respond.
func TestAHangingEndpointDelaysNoOther(t *testing.T) {
	each(t, func(b *bench) {
		release := make(chan struct{})
		hanging := newEndpoint(b, func(http.ResponseWriter, *http.Request) { <-release })
		var all []*perdure.Webhook
		for range 5 {
			w, _ := b.webhook(hanging.URL)
			all = append(all, w)
		}
		for range 10 {
			b.start()
		}
		arrived := make(chan string, 100)
		good := newEndpoint(b, func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Header.Get("webhook-id") })
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.sender.Run(ctx) }()
		w, _ := b.webhook(good.URL)
		for range 10 {
			b.start()
		}
		for range 10 {
			<-arrived
		}
		close(release)
		stop()
		b.must(<-ended)
		for _, d := range b.deliveries(w) {
			if d.Status != perdure.DeliveryDelivered && d.LeaseUntil.IsZero() {
				b.Errorf("a delivery is %+v", d)
			}
		}
		running := 0
		for _, w := range all {
			for _, d := range b.deliveries(w) {
				if d.Attempts > 0 {
					running++
				}
			}
		}
		if n := len(hanging.requests()); n < 5 {
			b.Errorf("the hanging endpoint got %d requests (%d attempts)", n, running)
		}
	})
}

// TestAnEndpointThatHangsIsGivenUp checks, in virtual time, that an attempt ends after 10 seconds if
// the endpoint does not respond, or if its response does not end.
func TestAnEndpointThatHangsIsGivenUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			transport transport
			want      tenant.Outcome
		}{
			{func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}, tenant.Outcome{Error: "no answer within 10s"}},
			{func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(endless{r.Context()})}, nil
			}, tenant.Outcome{Status: 200}},
		} {
			began := time.Now()
			w := &perdure.Webhook{URL: "https://example.com"}
			o := post(t.Context(), &http.Client{Transport: c.transport}, w, &perdure.Delivery{}, body{content: []byte(`{}`)}, [][]byte{[]byte("k")}, perdure.AtMilli(1))
			if took := time.Since(began); o != c.want || took != 10*time.Second {
				t.Errorf("after %s: %+v", took, o)
			}
		}
	})
}

type transport func(r *http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endless is a response body that never arrives.
type endless struct{ ctx context.Context }

// Read implements [io.Reader].
func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

// TestTooManyWaitingDeliveriesDisableAWebhook checks that the sender disables a webhook that has
// too many undelivered events.
func TestTooManyWaitingDeliveriesDisableAWebhook(t *testing.T) {
	each(t, func(b *bench) {
		w, _ := b.webhook("http://127.0.0.1:1/nobody")
		add := func(n int) {
			var some []*perdure.Delivery
			for range n {
				at := perdure.AtMilli(b.clock.Now().Add(time.Hour).UnixMilli())
				some = append(some, &perdure.Delivery{
					ID: newID(), WebhookID: w.ID, Org: org, EventType: perdure.EventCreated, Status: perdure.DeliveryPending,
					NextAttemptAt: &at, CreatedAt: at, Payload: []byte(`{}`),
				})
			}
			_, err := b.store.Do(b.Context(), store.Command{Lane: store.LaneCommits, Org: org, Decide: func(*store.State) (*store.Changes, error) {
				return &store.Changes{Deliveries: some}, nil
			}})
			b.must(err)
		}
		for range 20 {
			add(perdure.MaxUndelivered / 20)
		}
		b.step()
		if w, err := b.store.Webhook(b.Context(), org, w.ID); err != nil || !w.Enabled {
			b.Fatalf("with as many as allowed: %+v, %v", w, err)
		}
		add(1)
		b.step()
		off, err := b.store.Webhook(b.Context(), org, w.ID)
		b.must(err)
		if off.Enabled || !strings.Contains(off.DisabledReason, "10,000") {
			b.Errorf("with one more: %+v", off)
		}
		page, err := b.store.Deliveries(b.Context(), store.DeliveryQuery{Org: org, Webhook: w.ID, Status: perdure.DeliveryPending, Limit: 1})
		b.must(err)
		if len(page.Items) != 0 {
			b.Error("a disabled webhook has waiting deliveries")
		}
		audit, err := b.store.AuditLog(b.Context(), org, "", 1)
		b.must(err)
		if audit.Items[0].Action != perdure.AuditWebhookDisabled {
			b.Errorf("the audit log ends with %+v", audit.Items[0])
		}
	})
}
