package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/store/opentest"
)

// Two servers share a database: a run that is begun at one is run by a worker of
// the other, and either shows it to its end.
func TestTwoServersOneDatabase(t *testing.T) {
	dir, store := t.TempDir(), opentest.URL(t)
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo over there\"}\nturn\n  text Done.\n")
	launch(t, dir, "migrate", "--store", store).wantEnd(0, "already")
	key := strings.TrimSpace(launch(t, dir, "keys", "create", "--store", store, "--role", "admin", "me").wantEnd(0))
	var addrs, rpcs []string
	var servers []*program
	for _, name := range []string{"one", "two"} {
		s := launch(t, dir, "server", "--store", store, "--data", filepath.Join(dir, name), "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
		addrs = append(addrs, strings.Fields(s.until("http://"))[1])
		rpcs = append(rpcs, strings.Fields(s.until("workers"))[1])
		s.until("data")
		servers = append(servers, s)
	}
	worker := launch(t, dir, "worker", "--server", rpcs[1], "--key", key)
	worker.until("bash ")
	out := launch(t, dir, "run", "--server", addrs[0], "--key", key, "--model", "scripted/s", "go").wantEnd(0, "over there", "Done.")
	id := idIn(t, out)
	launch(t, dir, "show", "--server", addrs[1], "--key", key, id).wantEnd(0, "completed")
	for _, p := range append([]*program{worker}, servers...) {
		p.signal(syscall.SIGTERM)
		p.wantEnd(0)
	}
}

func TestDatabaseThatIsNone(t *testing.T) {
	dir := t.TempDir()
	launch(t, dir, "migrate").wantEnd(2, "--store")
	launch(t, dir, "server", "--store", "mysql://root:secret@db/x").wantEnd(2, "postgres://")
	p := launch(t, dir, "server", "--store", "postgres://perdure@127.0.0.1:1/none?connect_timeout=2")
	p.wantEnd(1, "cannot be reached")
}
