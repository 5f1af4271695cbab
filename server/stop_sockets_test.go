package server_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/perdure/perdure/server"
)

// TestServerWaitsForWebSockets checks that a server that stops has ended all WebSockets before Run
// returns, so that the process does not end before the clients have the close code.
func TestServerWaitsForWebSockets(t *testing.T) {
	s, err := server.Open(t.Context(), server.Config{Data: t.TempDir(), HTTPAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	path := "ws://" + s.HTTPAddress() + "/api/orgs/default/agent-executions/" + begun(t, s).String() + "/ws"
	closed := make(chan error)
	const sockets = 20
	for range sockets {
		conn, _, err := websocket.Dial(t.Context(), path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token()}}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var err error
			for err == nil {
				_, _, err = conn.Read(context.WithoutCancel(t.Context()))
			}
			closed <- err
		}()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; strings.Contains(string(stacks), "face/ws.(*socket)") {
		t.Errorf("a WebSocket outlives the server:\n%s", stacks)
	}
	for range sockets {
		if err := <-closed; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("a socket ends with %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
