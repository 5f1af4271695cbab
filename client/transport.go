package client

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	// idleConns is the maximum number of idle connections: the number of concurrent requests of a
	// busy program. The standard library keeps two per host, and each further request would open a
	// new connection.
	idleConns = 256
	// idleFor is how long an idle connection is kept. Servers close theirs after two minutes.
	idleFor = 90 * time.Second
	// connectWithin is the timeout of a connect and of a TLS handshake.
	connectWithin = 10 * time.Second
)

// newTransport returns a transport for one client, with the proxies of the environment.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectWithin, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: idleConns, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleFor,
		TLSHandshakeTimeout: connectWithin, ExpectContinueTimeout: time.Second,
	}
}

// onThisMachine reports whether a host is this machine under localhost or a loopback address.
// Responses from there are not compressed, because compression takes longer than copying.
func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
