package client

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	// idleConns is how many connections are kept that no request uses: as many as a
	// busy program makes requests at once. The standard library keeps two, and each
	// further request would make a connection of its own.
	idleConns = 256
	// idleFor is how long one is kept; servers close theirs after two minutes.
	idleFor = 90 * time.Second
	// connectWithin bounds how long a connection and its TLS handshake may take each.
	connectWithin = 10 * time.Second
)

// newTransport returns a transport of one client's own, by the environment's proxies.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectWithin, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: idleConns, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleFor,
		TLSHandshakeTimeout: connectWithin, ExpectContinueTimeout: time.Second,
	}
}

// onThisMachine reports whether a host is this machine under one of its loopback
// addresses. To compress an answer takes longer than to copy it.
func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
