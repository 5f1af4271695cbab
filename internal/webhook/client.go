package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dial"
	"github.com/perdure/perdure/internal/rules/tenant"
)

// attemptTime is the time limit of an attempt to send a delivery, including the endpoint's
// response.
const attemptTime = 10 * time.Second

// Network restricts the addresses to which deliveries are sent.
type Network struct {
	// AllowLoopback permits loopback addresses. AllowPrivate permits loopback addresses and private
	// networks.
	AllowLoopback, AllowPrivate bool
	// Resolver resolves names; nil is the default one.
	Resolver *net.Resolver
}

// newClient returns the HTTP client for deliveries. It follows no redirect, because a redirect
// would send the event to an address that the org has not configured. It uses no proxy, because a
// proxy resolves the host name itself and could connect to a private address.
func newClient(n Network) *http.Client {
	d := &dial.Dialer{
		Timeout: attemptTime, Resolver: n.Resolver, Policy: dial.Policy{AllowLoopback: n.AllowLoopback, AllowPrivate: n.AllowPrivate},
		Refused: func(host string, addr netip.Addr) error {
			return &refusedError{host, dial.Policy{AllowPrivate: true}.Permits(host, addr)}
		},
	}
	transport := &http.Transport{
		DialContext:         func(ctx context.Context, network, addr string) (net.Conn, error) { return d.Dial(ctx, network, addr) },
		TLSHandshakeTimeout: attemptTime, ForceAttemptHTTP2: true, MaxIdleConns: 100, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refusedError is the error of a delivery to a host whose address the Network does not permit.
type refusedError struct {
	host      string
	allowable bool // AllowPrivate would permit the address
}

func (e *refusedError) Error() string {
	if !e.allowable {
		return e.host + " is at an address to which webhooks are never sent, such as a link-local one; set the webhook's URL to another host"
	}
	return e.host + " is at a private or local address, which is not allowed here; the server's operator can allow it with --webhook-allow-private"
}

func post(ctx context.Context, client *http.Client, w *perdure.Webhook, d *perdure.Delivery, b body, keys [][]byte, now perdure.Time) tenant.Outcome {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	o := tenant.Outcome{Fence: d.Fence}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(b.content))
	if err != nil {
		o.Error = "the URL cannot be used"
		return o
	}
	stamp := now.Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Perdure-Webhooks/1")
	req.Header.Set("Webhook-Id", d.ID.String())
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(stamp, 10))
	req.Header.Set("Webhook-Signature", sign(keys, d.ID.String(), stamp, b.content))
	resp, err := client.Do(req)
	if err != nil {
		o.Error = reason(ctx, err)
		return o
	}
	defer resp.Body.Close()
	o.Status = resp.StatusCode
	o.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	// The bytes that arrived are stored, even if the response is incomplete. The read stops at a
	// limit, because a response may be long or never end.
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, perdure.MaxDeliveryAnswer))
	o.Body = b.hide(shown(answer))
	if o.Status >= 300 && o.Status < 400 {
		o.Error = "the endpoint answered with a redirect, which is not followed; set the webhook's URL to where it leads"
	}
	return o
}

// reason returns the reason why there is no response, without the URL, which may contain a secret.
func reason(ctx context.Context, err error) string {
	var refused *refusedError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", attemptTime)
	case errors.As(err, &dns):
		return "the host's name cannot be resolved"
	case errors.As(err, &op):
		return shown([]byte(op.Op + ": " + op.Err.Error()))
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		err = next
	}
	text := shown([]byte(err.Error()))
	return text[:min(len(text), 200)]
}

// shown returns the bytes as text that every store can hold: valid UTF-8 without zero characters.
func shown(raw []byte) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(string(raw), "\uFFFD"), "\x00", "\uFFFD")
	for len(text) > perdure.MaxDeliveryAnswer {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// retryAfter returns the pause in the header Retry-After, which contains seconds or a date; 0 for
// none.
func retryAfter(header string, now perdure.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now.Time))
	}
	return 0
}
