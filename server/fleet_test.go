package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/log/logtest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify/notifytest"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

// fleet is several servers that share one database.
type fleet struct {
	t       *testing.T
	key     string
	servers []*server.Server
	clients []*client.Client
	gates   []*gate // one in front of each server's port for workers
	http    *http.Client

	mu   sync.Mutex // guards the fields below
	done map[string]int
	// hold, if set, is called after each signal that the agent `tell` receives.
	hold func(agent.Context)
}

// newFleet runs n servers that exchange hints through the NATS server at the URL `nats`. If `nats`
// is "", the servers exchange no hints.
func newFleet(t *testing.T, n int, nats string) *fleet {
	t.Helper()
	return newFleetWith(t, n, nats, 0)
}

// patience is how long a worker may take to reconnect before the servers give its executions to
// other workers. It is long enough for a busy machine.
const patience = time.Minute

// newFleetWith is like newFleet, with the given duration of leases; 0 means the default duration.
func newFleetWith(t *testing.T, n int, nats string, lease time.Duration) *fleet {
	t.Helper()
	longtest.Skip(t, "PostgreSQL")
	f := &fleet{t: t, done: map[string]int{}, http: &http.Client{Transport: &http.Transport{}}}
	url := opentest.URL(t)
	for range n {
		f.open(server.Config{Store: url, NATS: nats, Lease: lease, ReconnectTimeout: patience})
	}
	_, secret, err := f.servers[0].CreateKey(t.Context(), server.DevOrg, "test", perdure.KeyAdmin)
	if err != nil {
		t.Fatal(err)
	}
	f.key = secret
	for _, s := range f.servers {
		c, err := client.New(client.Options{BaseURL: "http://" + s.HTTPAddress(), Key: secret, HTTPClient: f.http})
		if err != nil {
			t.Fatal(err)
		}
		f.clients = append(f.clients, c)
	}
	return f
}

func (f *fleet) open(c server.Config) {
	f.t.Helper()
	c.Data, c.HTTPAddr, c.GRPCAddr, c.Logger = f.t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", slog.New(slog.DiscardHandler)
	s, err := server.Open(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(f.t.Context()))
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	f.t.Cleanup(func() {
		f.http.CloseIdleConnections()
		stop()
		if err := <-over; err != nil {
			f.t.Error(err)
		}
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	})
	f.servers = append(f.servers, s)
	f.gates = append(f.gates, newGate(f.t, s.GRPCAddress()))
}

// work runs a worker until the test ends. `addr` is one address, or several separated by commas.
func (f *fleet) work(addr string) *worker.Worker {
	f.t.Helper()
	d, err := remote.Dial(f.t.Context(), remote.Options{Addr: addr, Token: f.key, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	w := worker.New(worker.Config{Dispatch: d, Drain: -1, Logger: slog.New(slog.DiscardHandler)})
	w.RegisterAgent(agent.DefineFunc("teller", f.tell))
	w.RegisterTask(agent.DefineTask("count", f.count))
	ctx, stop := context.WithCancel(context.WithoutCancel(f.t.Context()))
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	<-w.Registered()
	f.t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			f.t.Error(err)
		}
		if err := d.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return w
}

// everywhere returns the addresses of the ports in front of all servers (see the type gate),
// separated by commas.
func (f *fleet) everywhere() string {
	var all []string
	for _, g := range f.gates {
		all = append(all, g.addr())
	}
	return strings.Join(all, ",")
}

// story is the input of the agent `tell`.
type story struct {
	Chapters int
	Large    bool // each chapter is stored as an entry of 100 KiB
	Signals  bool // each chapter waits for a signal
}

// count is a task that must run once for each input.
func (f *fleet) count(ctx agent.TaskContext, what string) (string, error) {
	f.note("task " + what)
	ctx.Stream().Terminal("stdout", []byte("counted "+what+"\n"))
	return what, nil
}

func (f *fleet) holdBy(hold func(agent.Context)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = hold
}

func (f *fleet) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[what]++
}

// progress is the state of the agent `tell`. Told records that the text of the chapter was written,
// so that no worker writes that text again after a wait.
type progress struct {
	Chapter int
	Told    bool
}

// tell is the agent of these tests. In each chapter it streams text in pieces, and runs a step and
// a task.
func (f *fleet) tell(ctx agent.Context, s story) (string, error) {
	var at progress
	if _, err := ctx.State(&at); err != nil {
		return "", err
	}
	for ; at.Chapter < s.Chapters; at = (progress{Chapter: at.Chapter + 1}) {
		if !at.Told {
			if err := f.chapter(ctx, s, at.Chapter); err != nil {
				return "", err
			}
			at.Told = true
			if err := ctx.Checkpoint(at); err != nil {
				return "", err
			}
		}
		if _, err := agent.Await[string](ctx, ctx.Schedule("count", fmt.Sprint(ctx.ID(), " ", at.Chapter))); err != nil {
			return "", err
		}
		if !s.Signals {
			continue
		}
		if _, err := ctx.WaitSignal("go.on", 0); err != nil {
			return "", err
		}
		f.mu.Lock()
		hold := f.hold
		f.mu.Unlock()
		if hold != nil {
			hold(ctx)
		}
	}
	return "the end", nil
}

func (f *fleet) chapter(ctx agent.Context, s story, n int) error {
	for word := range 30 {
		ctx.Stream().Text(fmt.Sprintf("chapter %d, word %d. ", n, word))
	}
	name := fmt.Sprint(ctx.ID(), " ", n)
	if _, err := agent.Step(ctx, fmt.Sprint("step ", n), func(context.Context) (int, error) { f.note("step " + name); return n, nil }); err != nil {
		return err
	}
	text := fmt.Sprintf("chapter %d", n)
	if s.Large {
		text += strings.Repeat(" and so on", 10_000)
	}
	_, err := ctx.Append(perdure.UserText(text), agent.WithKey(fmt.Sprint("chapter ", n)))
	return err
}

func (f *fleet) start(at int, s story) uuid.UUID {
	f.t.Helper()
	input, err := json.Marshal(s)
	if err != nil {
		f.t.Fatal(err)
	}
	x, err := f.clients[at].Start(f.t.Context(), client.StartRequest{Kind: "teller", Input: input})
	if err != nil {
		f.t.Fatal(err)
	}
	return x.ID
}

// ended waits until the execution has ended. It asks the server with the index `at`. It checks that
// the execution completed, that the log contains every word that the agent streams, and that each
// step and task ran once.
func (f *fleet) ended(at int, id uuid.UUID, s story) *perdure.Execution {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), fleetPatience)
	defer cancel()
	texts := map[int64]string{}
	for e, err := range f.clients[at].Follow(ctx, id, "") {
		if err != nil {
			f.t.Fatal(err)
		}
		if e.Type != perdure.EventToken {
			continue
		}
		head, err := e.Head()
		if err != nil {
			f.t.Fatal(err)
		}
		texts[head.Seq] += head.Text()
	}
	x, err := f.clients[at].Get(ctx, id)
	if err != nil {
		f.t.Fatal(err)
	}
	entries := 0
	for _, err := range f.clients[at].AllEntries(ctx, id) {
		if err != nil {
			f.t.Fatal(err)
		}
		entries++
	}
	if x.Status != perdure.StatusCompleted || entries != s.Chapters {
		why := ""
		if x.Error != nil {
			why = ": " + *x.Error
		}
		f.t.Errorf("the execution is %s with %d entries of %d%s", x.Status, entries, s.Chapters, why)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	told := 0
	for _, text := range texts {
		told += strings.Count(text, "word")
	}
	if told != 30*s.Chapters {
		f.t.Errorf("%d words were shown of %d", told, 30*s.Chapters)
	}
	for n := range s.Chapters {
		for _, what := range []string{"step", "task"} {
			if times := f.done[fmt.Sprint(what, " ", id, " ", n)]; times != 1 {
				f.t.Errorf("%s %d was done %d times", what, n, times)
			}
		}
	}
	return x
}

// log returns an API that reads the log of an execution. For each request, the function `at`
// returns the index of the server that receives the request.
func (f *fleet) log(id uuid.UUID, at func() int) logtest.API {
	return logtest.API{
		URL: func() string { return "http://" + f.servers[at()].HTTPAddress() },
		Org: server.DevOrg, Key: f.key, Execution: id, Client: f.http,
	}
}

// gate is a port in front of a server. It forwards connections to the server.
type gate struct {
	t  *testing.T
	to string
	l  net.Listener

	mu     sync.Mutex // guards the fields below
	shut   bool
	silent chan struct{} // closed when traffic resumes; nil while traffic passes
	open   map[net.Conn]bool
	passed int // number of connections so far
	flows  sync.WaitGroup
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, to: to, l: l, open: map[net.Conn]bool{}}
	g.flows.Go(g.accept)
	t.Cleanup(func() {
		_ = l.Close()
		g.speak()
		g.cut()
		g.flows.Wait()
	})
	return g
}

func (g *gate) addr() string { return g.l.Addr().String() }

func (g *gate) accept() {
	for {
		in, err := g.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.to)
		if err != nil || !g.enter(in, out) {
			_ = in.Close()
			if err == nil {
				_ = out.Close()
			}
			continue
		}
		g.flows.Go(func() { g.flow(in, out) })
		g.flows.Go(func() { g.flow(out, in) })
	}
}

func (g *gate) enter(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range conns {
		g.open[c] = !g.shut
	}
	if g.shut {
		clear(g.open)
	} else {
		g.passed++
	}
	return !g.shut
}

// flow copies bytes from one connection to another until one of them is closed, and then closes
// both.
func (g *gate) flow(to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		g.mu.Lock()
		silent := g.silent
		g.mu.Unlock()
		if silent != nil {
			<-silent
		}
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			g.mu.Lock()
			delete(g.open, to)
			delete(g.open, from)
			g.mu.Unlock()
			return
		}
	}
}

// cut closes all connections and refuses new ones, as if the server had died.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for c := range g.open {
		_ = c.Close()
	}
}

// mend accepts new connections again.
func (g *gate) mend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// hush stops the forwarding of data. The gate keeps its connections, and accepts new ones.
func (g *gate) hush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.silent == nil {
		g.silent = make(chan struct{})
	}
}

func (g *gate) speak() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.silent != nil {
		close(g.silent)
		g.silent = nil
	}
}

// count returns the number of connections so far, and the number of open ones.
func (g *gate) count() (passed, open int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed, len(g.open) / 2
}

// nowhere returns the URL of a NATS server that loses all hints.
func nowhere(t *testing.T) string { return notifytest.NewNATS(t).MuteURL() }
