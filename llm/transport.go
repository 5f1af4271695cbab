package llm

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/dial"
)

// TransportConfig limits the connections to providers. The zero value is ready to use.
type TransportConfig struct {
	// ConnectTimeout limits the time to connect, and the time of the TLS handshake; default 10 s for
	// each.
	ConnectTimeout time.Duration
	// FirstByteTimeout limits the time from the start of the call to the first byte of the
	// response's body; default 120 s.
	FirstByteTimeout time.Duration
	// IdleTimeout limits the wait for each further byte of the body; default 60 s.
	IdleTimeout time.Duration
	// AllowLoopback allows connections to loopback addresses, for development.
	AllowLoopback bool
	// AllowHosts are the hosts in the endpoints that the operator configured (Endpoints.Hosts).
	// Connections to these hosts are allowed even if their addresses are private or loopback
	// addresses.
	AllowHosts []string
}

func (c TransportConfig) withDefaults() TransportConfig {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&c.ConnectTimeout, 10*time.Second)
	def(&c.FirstByteTimeout, 120*time.Second)
	def(&c.IdleTimeout, 60*time.Second)
	return c
}

// NewClient creates the HTTP client for calls of providers. It follows no redirects, because a
// redirect would send the key to another host. It connects to no private, link-local or loopback
// address that config does not allow. A call ends with an error if its response does not arrive
// within the timeouts. Errors about redirects, refused addresses and timeouts wrap an *Error.
func NewClient(config TransportConfig) *http.Client {
	config = config.withDefaults()
	d := &dialer{dialer: dial.Dialer{
		Timeout: config.ConnectTimeout,
		Policy:  dial.Policy{AllowLoopback: config.AllowLoopback},
		Refused: func(host string, _ netip.Addr) error { return refusedAddress(host) },
	}}
	for _, host := range config.AllowHosts {
		d.dialer.Policy.AllowHosts = append(d.dialer.Policy.AllowHosts, strings.ToLower(host))
	}
	base := &http.Transport{
		Proxy:               d.proxy,
		DialContext:         d.dial,
		TLSHandshakeTimeout: config.ConnectTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
	}
	return &http.Client{
		Transport:     &watchedTransport{next: base, firstByte: config.FirstByteTimeout, idle: config.IdleTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dialer connects to providers, or to proxies.
type dialer struct {
	dialer dial.Dialer
	// proxies contains the hosts of the proxies in environment variables. Connections to them are
	// allowed even if their addresses are private.
	proxies sync.Map
}

func (d *dialer) proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		d.proxies.Store(strings.ToLower(u.Hostname()), true)
	}
	return u, err
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, isProxy := d.proxies.Load(strings.ToLower(host)); isProxy {
		return d.dialer.Dial(ctx, network, address, host)
	}
	return d.dialer.Dial(ctx, network, address)
}

func refusedAddress(host string) *Error {
	return &Error{
		Kind:    InvalidRequest,
		Message: fmt.Sprintf("%s is at a private or local address, which is not allowed here; the worker's operator can allow it", host),
	}
}
