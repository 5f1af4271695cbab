package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify/notifytest"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
)

// TestTwoServersOneDatabase checks two servers that share a database. A worker of one server executes a
// run that was started at the other server, and both servers report the run's end.
func TestTwoServersOneDatabase(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
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

// TestServersConnectToNATSWhenItStarts checks that servers with a shared database start without NATS,
// report that hints are missing, and are ready. They connect to NATS when it starts.
func TestServersConnectToNATSWhenItStarts(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
	dir, store, nats := t.TempDir(), opentest.URL(t), notifytest.NewNATS(t)
	nats.Stop()
	write(t, dir, "s", "turn\n  text Done.\n")
	key := strings.TrimSpace(launch(t, dir, "keys", "create", "--store", store, "--role", "admin", "me").wantEnd(0))
	var addrs, rpcs []string
	for _, name := range []string{"one", "two"} {
		s := launch(t, dir, "server", "--store", store, "--nats", nats.URL(), "--data", filepath.Join(dir, name), "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
		addrs = append(addrs, strings.Fields(s.until("http://"))[1])
		rpcs = append(rpcs, strings.Fields(s.until("workers"))[1])
		wantReady(t, addrs[len(addrs)-1], `{"status":"ready","degraded":[{"check":"hints","detail":"hints from other servers do not come; what they write is found a second later"}]}`)
	}
	worker := launch(t, dir, "worker", "--server", rpcs[1], "--key", key)
	worker.until("bash ")
	launch(t, dir, "run", "--server", addrs[0], "--key", key, "--model", "scripted/s", "go").wantEnd(0, "Done.")
	nats.Start()
	for _, addr := range addrs {
		wantReady(t, addr, `{"status":"ready"}`)
	}
	launch(t, dir, "run", "--server", addrs[0], "--key", key, "--model", "scripted/s", "go").wantEnd(0, "Done.")
	nats.Stop()
	for _, addr := range addrs {
		wantReady(t, addr, `{"status":"ready","degraded":[{"check":"hints","detail":"hints from other servers do not come; what they write is found a second later"}]}`)
	}
	launch(t, dir, "run", "--server", addrs[0], "--key", key, "--model", "scripted/s", "go").wantEnd(0, "Done.")
}

// wantReady waits until the server's readiness response is exactly want.
func wantReady(t *testing.T, addr, want string) {
	t.Helper()
	give := time.After(time.Minute)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		resp, err := http.Get(strings.TrimSuffix(addr, "/") + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if closeErr := resp.Body.Close(); err != nil || closeErr != nil {
			t.Fatal(err, closeErr)
		}
		if resp.StatusCode == http.StatusOK && strings.TrimSpace(string(body)) == want {
			return
		}
		select {
		case <-tick.C:
		case <-give:
			t.Fatalf("readyz says %d %s, want %s", resp.StatusCode, body, want)
		}
	}
}

func TestInvalidNATSAddressIsRefused(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
	dir, store := t.TempDir(), opentest.URL(t)
	launch(t, dir, "server", "--nats", "nats://127.0.0.1").wantEnd(2, "postgres://")
	launch(t, dir, "server", "--store", store, "--nats", "http://me:topsecret@127.0.0.1").wantEnd(2, "nats://")
	launch(t, dir, "server", "--store", store, "--nats-creds", "nowhere").wantEnd(2, "URL")
	launch(t, dir, "server", "--store", store, "--nats", "nats://127.0.0.1", "--nats-creds", "nowhere").wantEnd(2, "nowhere")
}

func TestInvalidDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	launch(t, dir, "migrate").wantEnd(2, "--store")
	launch(t, dir, "server", "--store", "mysql://root:secret@db/x").wantEnd(2, "postgres://")
	p := launch(t, dir, "server", "--store", "postgres://perdure@127.0.0.1:1/none?connect_timeout=2")
	p.wantEnd(1, "cannot be reached")
}

// TestDatabaseWithASettingOffIsRefused checks that commands refuse a database with fsync off, and
// give advice. If --store-allow-off permits the setting, the server runs, and reports it in /readyz
// and in a metric.
func TestDatabaseWithASettingOffIsRefused(t *testing.T) {
	longtest.Skip(t, "PostgreSQL")
	dir := t.TempDir()
	c, err := cluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Set("fsync", "off"); err != nil {
		t.Fatal(err)
	}
	store := c.URL("postgres")
	launch(t, dir, "keys", "create", "--store", store, "--role", "admin", "me").wantEnd(2, "--store-allow-off fsync")
	launch(t, dir, "server", "--store", store, "--addr", "127.0.0.1:0").wantEnd(2, "--store-allow-off fsync")
	launch(t, dir, "server", "--store", store, "--store-allow-off", "jit", "--addr", "127.0.0.1:0").wantEnd(2, "full_page_writes")
	launch(t, dir, "server", "--store-allow-off", "fsync", "--addr", "127.0.0.1:0").wantEnd(2, "URL")
	launch(t, dir, "keys", "create", "--store", store, "--store-allow-off", "fsync", "--role", "admin", "me").wantEnd(0)
	s := launchWith(t, dir, []string{"PERDURE_STORE_ALLOW_OFF=fsync"}, "server", "--store", store, "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")
	wantReady(t, strings.Fields(s.until("http://"))[1], `{"status":"ready","degraded":[{"check":"durability","detail":"the database has fsync off: a power failure can lose or damage what was answered"}]}`)
	resp, err := http.Get(strings.Fields(s.until("metrics"))[1])
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), `perdure_store_setting_off{setting="fsync"} 1`) || !strings.Contains(string(body), `perdure_store_setting_off{setting="full_page_writes"} 0`) {
		t.Errorf("the metrics do not say that fsync is off, %v", err)
	}
	s.signal(syscall.SIGTERM)
	s.wantEnd(0)
}
