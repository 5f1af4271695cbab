package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/e2e/chaos"
	"github.com/perdure/perdure/internal/notify/notifytest"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// fleet is several servers and workers over one PostgreSQL. All of them are processes, with proxies
// between them.
type fleet struct {
	t         *testing.T
	size      chaosSize
	root      string // folder of the processes' files
	workspace string
	cluster   *cluster.Cluster // nil: the only server has a SQLite file
	disk      *disk            // the disk of the SQLite file
	nats      *notifytest.NATS // nil if there is only one server
	servers   []*member
	workers   []*member
	adminKey  string
	workerKey string
	notes     []string // events that the plan did not contain
	*client.Client
}

// member is a server or a worker.
type member struct {
	*process
	home  string         // data directory
	web   string         // a server's address for clients
	rpc   string         // a server's address for workers
	links []*chaos.Proxy // a server's link to the database, a worker's links to the servers
	hints *chaos.Proxy   // a server's link to NATS
	since time.Time      // start time
	// away is set while a fault keeps the member down, so that supervise does not start it.
	away bool
}

// newFleet starts all processes and waits until the servers answer.
func newFleet(t *testing.T, size chaosSize) *fleet {
	t.Helper()
	f := &fleet{t: t, size: size, root: keptFolder(t)}
	f.workspace = filepath.Join(f.root, "workspace")
	for _, dir := range []string{f.workspace, filepath.Join(f.workspace, "effects"), filepath.Join(f.root, "home"), f.scripts()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if size.sqlite {
		f.disk = newDisk(t, filepath.Join(f.root, "server-0"), size.disk())
	} else {
		f.cluster, f.nats = newCluster(t), notifytest.NewNATS(t)
	}
	t.Cleanup(f.audit) // by then no process has the database open
	for i := range size.servers {
		f.servers = append(f.servers, f.newServer(i))
	}
	f.connect()
	for i := range size.workers {
		f.workers = append(f.workers, f.newWorker(i))
	}
	return f
}

func newCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	cluster, err := cluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// keptFolder creates a folder and removes it after the test. If the test fails, the folder stays and
// its path is logged. If PERDURE_CHAOS_DIR is set, the folder is created there and always stays.
func keptFolder(t *testing.T) string {
	t.Helper()
	stay := os.Getenv("PERDURE_CHAOS_DIR")
	dir, err := os.MkdirTemp(stay, "perdure-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() || stay != "" {
			t.Logf("what the processes wrote and left is in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (f *fleet) scripts() string { return filepath.Join(f.root, "scripts") }
func (f *fleet) journal() string { return filepath.Join(f.root, "journal") }

// audit checks that the database opens and satisfies the invariants.
func (f *fleet) audit() {
	if f.disk != nil {
		opentest.File(f.t, f.disk.copied("perdure.db"))
		return
	}
	s, err := postgres.Open(context.Background(), postgres.Options{URL: f.cluster.URL("postgres")})
	if err != nil {
		f.t.Errorf("what is left does not open: %v", err)
		return
	}
	invariants.Check(f.t, s)
	if err := s.Close(); err != nil {
		f.t.Error(err)
	}
}

// proxy starts a proxy that ends with the test.
func (f *fleet) proxy(target string) *chaos.Proxy {
	f.t.Helper()
	p, err := chaos.Listen("127.0.0.1:0", target)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { p.Close() })
	return p
}

// through starts a proxy to the host of a URL, and returns the URL through the proxy.
func (f *fleet) through(text string) (*chaos.Proxy, string) {
	f.t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		f.t.Fatal(err)
	}
	p := f.proxy(u.Host)
	u.Host = p.Addr()
	return p, u.String()
}

func (f *fleet) newServer(i int) *member {
	f.t.Helper()
	name := fmt.Sprintf("server-%d", i)
	m := &member{home: filepath.Join(f.root, name), web: freeAddress(f.t), rpc: freeAddress(f.t)}
	argv := []string{"server", "--data", m.home, "--addr", m.web, "--grpc-addr", m.rpc, "--lease", f.size.lease.String()}
	if f.size.plain[i] {
		argv = append(argv, "--store-plain")
	}
	if f.disk != nil {
		f.start(m, command{name: name, argv: argv}, f.disk.enter()...)
		return m
	}
	link, store := f.through(f.cluster.URL("postgres"))
	hints, nats := f.through(f.nats.URL())
	m.links, m.hints = []*chaos.Proxy{link}, hints
	f.start(m, command{name: name, argv: append(argv, "--store", store, "--nats", nats)})
	return m
}

func (f *fleet) newWorker(i int) *member {
	f.t.Helper()
	name := fmt.Sprintf("worker-%d", i)
	m := &member{home: filepath.Join(f.root, name)}
	var servers []string
	for n := range f.servers {
		link := f.proxy(f.servers[(i+n)%len(f.servers)].rpc)
		m.links, servers = append(m.links, link), append(servers, link.Addr())
	}
	f.start(m, command{name: name, argv: []string{
		"worker", "--server", strings.Join(servers, ","), "--key", f.workerKey, "--data", m.home, "--workspace", f.workspace,
		"--scripts", f.scripts(), "--agents", "100", "--tasks", "24",
	}})
	return m
}

// start launches a member for the first time. The parameter `by` is a command that runs the member,
// such as nsenter with its arguments; it may be empty.
func (f *fleet) start(m *member, c command, by ...string) {
	f.t.Helper()
	c.dir, c.log = f.root, filepath.Join(f.root, c.name+".log")
	c.env = append(environment(filepath.Join(f.root, "home"), "PERDURE_SCRIPTED_JOURNAL="+f.journal()), f.size.env...)
	var path string
	if f.size.clocks {
		path = movableProgram(f.t)
		c.env = append(c.env, newClock(f.t, m.clock()))
	} else {
		path = program(f.t)
	}
	c.argv = slices.Concat(by, []string{path}, c.argv)
	m.process, m.since = launch(f.t, c), time.Now()
}

// again launches a member that has ended.
func (f *fleet) again(m *member) {
	f.t.Helper()
	m.process, m.since, m.away = launch(f.t, m.command), time.Now(), false
}

// supervise restarts members that ended by themselves, as a service manager does, and records the
// reason. A server may end if it finds no database, a worker if it finds no server.
func (f *fleet) supervise() {
	f.t.Helper()
	for _, m := range f.members() {
		select {
		case <-m.ended:
		default:
			continue
		}
		if m.away || time.Since(m.since) < 200*time.Millisecond {
			continue
		}
		f.note("%s ended by itself: %v, %s", m.name, m.err, lastLine(m.output.String()))
		f.again(m)
	}
}

func (f *fleet) members() []*member {
	return append(f.servers[:len(f.servers):len(f.servers)], f.workers...)
}

func (f *fleet) note(format string, args ...any) {
	f.notes = append(f.notes, clock(time.Now())+" "+fmt.Sprintf(format, args...))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// clock returns the path of the member's clock file. The file exists only if clocks can be set.
func (m *member) clock() string { return m.home + ".clock" }

// pause stops a member's process with SIGSTOP, or lets it continue with SIGCONT.
func (m *member) pause(stop bool) {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	_ = m.cmd.Process.Signal(signal) // an error means that the process has ended
}

// connect creates the keys, and a client that can connect to every server.
func (f *fleet) connect() {
	f.t.Helper()
	first := f.servers[0]
	eventually(f.t, "a server answers", func() bool {
		f.supervise()
		token := filepath.Join(first.home, "token")
		if f.disk != nil {
			token = f.disk.outside("token")
		}
		raw, err := os.ReadFile(token)
		if err != nil {
			return false
		}
		c, err := client.New(client.Options{BaseURL: "http://" + first.web, Key: strings.TrimSpace(string(raw))})
		if err != nil {
			f.t.Fatal(err)
		}
		defer c.Close()
		if f.adminKey == "" {
			f.adminKey = newKey(f.t, c, perdure.KeyAdmin)
		}
		if f.adminKey != "" {
			f.workerKey = newKey(f.t, c, perdure.KeyWorker)
		}
		return f.workerKey != ""
	})
	f.Client = f.caller(nil)
}

// newKey returns a key, or "" if the server does not answer.
func newKey(t *testing.T, c *client.Client, role perdure.KeyRole) string {
	key, err := c.CreateKey(t.Context(), string(role), role)
	if err != nil {
		return ""
	}
	return key.Key
}

// anywhere is the address that the fleet's clients use. Each connection goes to one of the servers.
const anywhere = "http://fleet.example"

// caller returns a client that selects a server for every connection, like a simple load balancer.
func (f *fleet) caller(onReconnect func(error, time.Duration)) *client.Client {
	f.t.Helper()
	c, err := client.New(client.Options{BaseURL: anywhere, Key: f.adminKey, HTTPClient: f.web(), OnReconnect: onReconnect})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return c
}

// web returns an HTTP client that connects to a random server. Its timeouts are short, because a
// stopped server accepts connections and does not answer.
func (f *fleet) web() *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Second, ResponseHeaderTimeout: 5 * time.Second,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", f.servers[rand.IntN(len(f.servers))].web)
		},
	}}
}

// database connects to the database directly, not through a server or a proxy, and passes the
// connection to the function `work`.
func (f *fleet) database(ctx context.Context, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, f.cluster.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return work(conn)
}
