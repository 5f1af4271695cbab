package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/e2e/chaos"
	"github.com/perdure/perdure/internal/store/sqlite"
	"github.com/perdure/perdure/server"
)

// faultInjector causes the faults of a plan, each at its time.
type faultInjector struct {
	*fleet
	began   time.Time
	plan    []chaos.Fault
	healing []faultEnd
	kills   []chaos.Kill
	done    []chaos.Fault
}

// faultEnd is the end of a fault.
type faultEnd struct {
	at  time.Time
	end func()
}

func (f *fleet) newFaultInjector(plan []chaos.Fault) *faultInjector {
	return &faultInjector{fleet: f, began: time.Now(), plan: plan}
}

// step starts and ends the faults that are due.
func (s *faultInjector) step() {
	s.t.Helper()
	now := time.Now()
	for len(s.plan) > 0 && now.Sub(s.began) >= s.plan[0].At {
		fault := s.plan[0]
		s.plan = s.plan[1:]
		s.note("%s", fault)
		s.healing = append(s.healing, faultEnd{at: now.Add(fault.For), end: s.bring(fault)})
		s.done = append(s.done, fault)
	}
	var later []faultEnd
	for _, h := range s.healing {
		if now.Before(h.at) {
			later = append(later, h)
			continue
		}
		h.end()
	}
	s.healing = later
	s.supervise()
}

// bring starts a fault and returns the function that ends it.
func (s *faultInjector) bring(f chaos.Fault) (end func()) {
	s.t.Helper()
	switch f.Kind {
	case chaos.KillServer:
		return s.kill(s.servers[f.Target])
	case chaos.KillWorker:
		return s.kill(s.workers[f.Target])
	case chaos.StopServer:
		return s.stop(s.servers[f.Target])
	case chaos.StopWorker:
		return s.stop(s.workers[f.Target])
	case chaos.RestartDatabase:
		return s.restartDatabase(syscall.SIGINT)
	case chaos.CrashDatabase:
		return s.restartDatabase(syscall.SIGQUIT)
	case chaos.DropConnections:
		return s.dropConnections()
	case chaos.StopHints:
		s.nats.Stop()
		return s.nats.Start
	case chaos.FullDisk:
		s.disk.fill()
		return s.disk.free
	case chaos.JumpServer:
		return s.jump(s.servers[f.Target], f.By)
	case chaos.JumpWorker:
		return s.jump(s.workers[f.Target], f.By)
	}
	return s.disturb(f)
}

// disturb breaks connections.
func (s *faultInjector) disturb(f chaos.Fault) (end func()) {
	s.t.Helper()
	links := s.linksOf(f)
	if len(links) == 0 {
		s.t.Fatalf("there is nothing to %s", f.Kind)
	}
	set := func(r chaos.Rule) {
		for _, link := range links {
			link.Set(r)
		}
	}
	switch f.Kind {
	case chaos.CutWorker, chaos.CutDatabase, chaos.CutHints:
		set(chaos.Rule{Refuse: true})
	case chaos.HoldUp:
		set(chaos.Rule{HoldUp: true})
	case chaos.HoldDown, chaos.HoldDatabase, chaos.HoldHints:
		set(chaos.Rule{HoldDown: true})
	case chaos.HalfOpen, chaos.HalfOpenDatabase:
		n := 0
		for _, link := range links {
			n += link.HalfOpen()
		}
		s.note("%d connections are dead", n)
	case chaos.DelayWorker, chaos.DelayDatabase:
		set(chaos.Rule{Delay: 30 * time.Millisecond})
	default:
		s.t.Fatalf("nobody knows how to %s", f.Kind)
	}
	return func() { set(chaos.Rule{}) }
}

// linksOf returns the proxies that a fault breaks. For a worker these are the proxies that have
// connections, so that the worker must connect to another server. If no proxy of the worker has a
// connection, linksOf returns all of them.
func (s *faultInjector) linksOf(f chaos.Fault) []*chaos.Proxy {
	switch {
	case f.OfWorker():
		all := s.workers[f.Target].links
		busy := slices.DeleteFunc(slices.Clone(all), func(p *chaos.Proxy) bool { return !p.Busy() })
		if len(busy) == 0 {
			return all
		}
		return busy
	case f.Kind == chaos.CutHints, f.Kind == chaos.HoldHints:
		return []*chaos.Proxy{s.servers[f.Target].hints}
	}
	return s.servers[f.Target].links
}

func (s *faultInjector) kill(m *member) (end func()) {
	m.away = true
	m.process.kill()
	if strings.HasPrefix(m.name, "worker") {
		s.noteKill(m)
	}
	return func() { s.again(m) }
}

func (s *faultInjector) stop(m *member) (end func()) {
	m.pause(true)
	return func() { m.pause(false) }
}

func (s *faultInjector) jump(m *member, by time.Duration) (end func()) {
	setClock(s.t, m.clock(), by)
	return func() { setClock(s.t, m.clock(), 0) }
}

func (s *faultInjector) restartDatabase(signal syscall.Signal) (end func()) {
	if err := s.cluster.Restart(signal); err != nil {
		s.t.Fatal(err)
	}
	return func() {}
}

func (s *faultInjector) dropConnections() (end func()) {
	err := s.database(s.t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(s.t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 6`)
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	return func() {}
}

// noteKill records a kill: the runs that the killed worker was executing, and the time by the
// store's clock.
func (s *faultInjector) noteKill(m *member) {
	raw, err := os.ReadFile(filepath.Join(m.home, "worker", "worker-id"))
	if err != nil {
		return // the worker was killed before it wrote its id
	}
	id, err := uuid.Parse(strings.TrimSpace(string(raw)))
	if err != nil {
		s.t.Errorf("the id of %s: %v", m.name, err)
		return
	}
	k := chaos.Kill{Name: m.name}
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	if s.cluster == nil {
		k.At = time.Now() // the server uses the same clock
		if k.Runs, err = heldIn(ctx, s.disk.copied("perdure.db"), id); err != nil {
			s.note("what %s held is not known: its server wrote to the file that was copied: %v", m.name, err)
			return
		}
	} else {
		k.At, k.Runs, err = s.heldBy(ctx, id)
	}
	if err != nil {
		s.t.Errorf("what %s held: %v", m.name, err)
		return
	}
	s.kills = append(s.kills, k)
}

// heldIn returns the runs whose agent or task a worker is executing. It reads them from a copy of
// the database file.
func heldIn(ctx context.Context, path string, worker uuid.UUID) ([]string, error) {
	look, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	held, err := look.HeldBy(ctx, server.DevOrg, worker)
	runs := make([]string, len(held))
	for i, id := range held {
		runs[i] = id.String()
	}
	return runs, errors.Join(err, look.Close())
}

// heldBy returns the database's time, and the runs whose agent or task the worker is executing.
func (s *faultInjector) heldBy(ctx context.Context, worker uuid.UUID) (at time.Time, runs []string, err error) {
	err = s.database(ctx, func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, "SELECT now()").Scan(&at); err != nil {
			return err
		}
		rows, err := conn.Query(ctx, `SELECT id::text FROM agent_execution WHERE worker_id = $1
			UNION SELECT agent_execution_id::text FROM task_execution WHERE worker_id = $1 AND status = 'RUNNING'`, worker)
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return at, runs, err
}
