package notifytest

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS is a NATS server inside the test, on loopback. It accepts a few users, each with a password.
type NATS struct {
	t    testing.TB
	port int

	mu      sync.Mutex // guards running
	running *server.Server
}

const (
	speaking = "perdure"
	mute     = "mute"
	secret   = "of-the-test"
)

// NewNATS starts a server. It is stopped at the end of the test.
func NewNATS(t testing.TB) *NATS {
	t.Helper()
	n := &NATS{t: t, port: server.RANDOM_PORT}
	n.Start()
	t.Cleanup(n.Stop)
	return n
}

// Start starts the server at its previous address, if it is not running.
func (n *NATS) Start() {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running != nil {
		return
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: n.port, NoLog: true, NoSigs: true,
		Users: []*server.User{
			{Username: speaking, Password: secret},
			{Username: mute, Password: secret, Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{">"}}}},
		},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		n.t.Fatal("NATS does not start")
	}
	n.running, n.port = s, s.Addr().(*net.TCPAddr).Port
}

// Stop ends the server and all connections.
func (n *NATS) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == nil {
		return
	}
	n.running.Shutdown()
	n.running.WaitForShutdown()
	n.running = nil
}

// URL returns the address of NATS for Perdure's servers.
func (n *NATS) URL() string { return n.url(speaking, secret) }

// MuteURL returns the address for a user without permission to publish, so that all of its messages
// are lost.
func (n *NATS) MuteURL() string { return n.url(mute, secret) }

// RefusedURL returns an address with a wrong password.
func (n *NATS) RefusedURL() string { return n.url(speaking, "another") }

func (n *NATS) url(user, password string) string {
	return fmt.Sprintf("nats://%s:%s@127.0.0.1:%d", user, password, n.port)
}
