package llmtest

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/perdure/perdure/llm"
)

func testHangBefore(t *testing.T, r Remote) {
	server := NewServer(t, r.Wire, Answer{HangBefore: true})
	p := r.At(t, server.URL, llm.TransportConfig{FirstByteTimeout: 50 * time.Millisecond})
	_, _, err := TryAsk(t.Context(), p, r.request())
	_ = WantError(t, err, llm.Timeout, true)
}

func testHangAfter(t *testing.T, r Remote) {
	server := NewServer(t, r.Wire, Answer{Text: []string{"half"}, HangAfter: true})
	p := r.At(t, server.URL, llm.TransportConfig{IdleTimeout: 200 * time.Millisecond})
	_, deltas, err := TryAsk(t.Context(), p, r.request())
	_ = WantError(t, err, llm.Timeout, true)
	if len(deltas) == 0 {
		t.Error("what came before the silence was not streamed")
	}
}

// testDeadHandshake checks that a call ends with a retryable timeout if the server does not answer
// the TLS handshake.
func testDeadHandshake(t *testing.T, r Remote) {
	l := listen(t)
	p := r.At(t, "https://"+l.Addr().String(), llm.TransportConfig{ConnectTimeout: 50 * time.Millisecond})
	_, _, err := TryAsk(t.Context(), p, r.request())
	_ = WantError(t, err, llm.Timeout, true)
}

func testNobodyListens(t *testing.T, r Remote) {
	l := listen(t)
	url := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := TryAsk(t.Context(), r.At(t, url, llm.TransportConfig{}), r.request())
	_ = WantError(t, err, llm.Network, true)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // some tests have closed it already
	return l
}

// testDeadline checks that a call whose context reaches its deadline returns
// context.DeadlineExceeded, and not a timeout of the provider.
func testDeadline(t *testing.T, r Remote) {
	p, _ := r.Serve(t, Answer{HangBefore: true})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := TryAsk(ctx, p, r.request()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}
