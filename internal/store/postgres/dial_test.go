package postgres

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/e2e/chaos"
)

// All connections die without a word, as after the failover of an address: reads
// and writes that nobody has set a limit come back all the same, and go on over
// new ones.
func TestDeadConnectionsAreGivenUp(t *testing.T) {
	u, err := url.Parse(emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := chaos.Listen("127.0.0.1:0", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	u.Host = proxy.Addr()
	s := open(t, Options{URL: u.String(), Logger: quiet, Committers: 1})
	s.db.silence = 200 * time.Millisecond
	id := begin(t, s)
	if _, err := s.LogHead(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if n := proxy.HalfOpen(); n < 2 {
		t.Fatalf("there were %d connections, not one that writes and one that reads", n)
	}
	// Without a limit of its own, as the server's loops read.
	if _, err := s.LogHead(context.Background(), id); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a read over a dead connection: %v", err)
	}
	if _, err := s.LogHead(context.Background(), id); err != nil {
		t.Errorf("a read after it: %v", err)
	}
	if err := note(context.Background(), s, id, uuid.New()); err != nil {
		t.Errorf("a write over a dead connection: %v", err)
	}
	noted(t, s, id, 1)
}
