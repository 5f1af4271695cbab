package client

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	// idleConns is the maximum number of idle connections. It is as high as the number of
	// concurrent requests of a busy program. The standard library keeps two idle connections per
	// host, and would open a new connection for each further request.
	idleConns = 256
	// idleFor is how long an idle connection stays open. Servers close idle connections after two
	// minutes.
	idleFor = 90 * time.Second
	// connectWithin is the timeout of a connect and of a TLS handshake.
	connectWithin = 10 * time.Second
)

// newTransport returns the transport for one client. It uses the proxies that environment variables
// configure.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectWithin, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: idleConns, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleFor,
		TLSHandshakeTimeout: connectWithin, ExpectContinueTimeout: time.Second,
	}
}

// onThisMachine reports whether host is localhost or a loopback address. The client does not ask a
// server on this machine for compressed responses, because compression takes longer than copying.
func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
