package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// requestRounds answers requests in groups of `size`: when that many requests have arrived, it
// answers all of them.
type requestRounds struct {
	size    int
	mu      sync.Mutex
	waiting int
	full    chan struct{}
}

func (r *requestRounds) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	full := r.full
	if r.waiting++; r.waiting == r.size {
		r.waiting, r.full = 0, make(chan struct{})
		close(full)
	}
	r.mu.Unlock()
	<-full
	_, _ = io.WriteString(w, `{"id":"default"}`)
}

// TestConnectionsAreUsedAgain checks that the client reuses its connections: it opens fewer than twice
// as many as it has concurrent requests.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const atOnce, times = 64, 10
	for name, connect := range map[string]func(server *httptest.Server) *Client{
		"New": func(server *httptest.Server) *Client {
			c, err := New(Options{BaseURL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		"NewWithDialer": func(server *httptest.Server) *Client {
			return NewWithDialer(func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
			}, "token")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			server := httptest.NewUnstartedServer(&requestRounds{size: atOnce, full: make(chan struct{})})
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					conns.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			c := connect(server)
			defer c.Close()
			for range times {
				var round sync.WaitGroup
				for range atOnce {
					round.Go(func() {
						if _, err := c.Org(t.Context(), "default"); err != nil {
							t.Error(err)
						}
					})
				}
				round.Wait()
			}
			// A connection becomes idle just after its response has been read. A request that begins
			// before that creates another connection.
			if got := conns.Load(); got < atOnce || got >= 2*atOnce {
				t.Errorf("%d requests, %d at once, made %d connections", atOnce*times, atOnce, got)
			}
		})
	}
}

// TestProxiesOfTheEnvironmentHold checks that proxies from environment variables apply to a client with
// an address, but not to a client of a socket.
func TestProxiesOfTheEnvironmentHold(t *testing.T) {
	proxy := func(c *Client) func(*http.Request) (*url.URL, error) {
		return c.o.HTTPClient.Transport.(*http.Transport).Proxy
	}
	c, err := New(Options{BaseURL: "http://server.example"})
	if err != nil {
		t.Fatal(err)
	}
	if proxy(c) == nil {
		t.Error("a client by address knows no proxies")
	}
	if proxy(Socket("/nowhere", "")) != nil {
		t.Error("a client of a socket asks for proxies")
	}
}
