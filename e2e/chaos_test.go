package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/e2e/chaos"
)

// chaosSize configures the amounts and durations of a chaos test.
type chaosSize struct {
	servers, workers int
	runs, turns      int
	readers          int    // number of readers of each run
	wandering        int    // runs of which every projection is read
	pause            string // pause of a tool between its effects, in seconds
	lease            time.Duration
	rampUp           time.Duration // period in which the runs start
	speech           time.Duration // period in which each message is sent
	kinds            []chaos.Kind
	faults           int
	hintless         time.Duration // how long NATS is unavailable
	gap              time.Duration
	limit            time.Duration // maximum duration of the whole test
	sqlite           bool          // an embedded store instead of PostgreSQL
	clocks           bool          // clocks can be set; derived from the kinds of faults
	leases           bool          // no lease may be lost
	// plain says, for each server, whether its store runs without optimizations.
	plain []bool
	// env contains environment variables for all processes.
	env []string
}

// chaosIsLong reports whether the long form is requested, as by make chaos. Otherwise the tests run
// a short form.
func chaosIsLong() bool { return os.Getenv("PERDURE_CHAOS") == "long" }

var (
	shortChaos = chaosSize{
		servers: 3, workers: 3, runs: 12, turns: 8, readers: 1, wandering: 1, pause: "0.05", lease: 1500 * time.Millisecond,
		rampUp: 2 * time.Second, speech: 5 * time.Second, gap: 600 * time.Millisecond, hintless: 5 * time.Second, limit: 3 * time.Minute,
	}
	longChaos = chaosSize{
		servers: 3, workers: 3, runs: 200, turns: 20, readers: 1, wandering: 5, pause: "0.2", lease: 3 * time.Second,
		rampUp: 20 * time.Second, speech: 40 * time.Second, gap: 2 * time.Second, hintless: time.Minute, limit: 20 * time.Minute,
	}
)

// Kinds of faults. Some faults occur only in the long form: either the servers need more time to
// recover than the short form has, or the faults need a program that takes long to build.
var (
	processFaults = []chaos.Kind{
		chaos.KillServer, chaos.KillWorker, chaos.StopServer, chaos.StopWorker,
		chaos.CutWorker, chaos.HoldUp, chaos.HoldDown, chaos.HalfOpen, chaos.DelayWorker,
	}
	databaseFaults = []chaos.Kind{
		chaos.RestartDatabase, chaos.CrashDatabase, chaos.DropConnections,
		chaos.CutDatabase, chaos.HoldDatabase, chaos.DelayDatabase,
	}
	hintFaults  = []chaos.Kind{chaos.StopHints, chaos.CutHints, chaos.HoldHints}
	clockFaults = []chaos.Kind{chaos.JumpServer, chaos.JumpWorker}
)

// TestChaos checks that every run ends under faults of servers, workers, database, NATS and
// connections, and that chaos.Check finds no error. No message, effect, signal or event is lost or
// duplicated, and a model call is repeated only by another attempt.
func TestChaos(t *testing.T) {
	size, kinds := shortChaos, slices.Concat(processFaults, databaseFaults, hintFaults)
	size.faults = len(kinds)
	if chaosIsLong() {
		size, kinds = longChaos, slices.Concat(kinds, clockFaults, []chaos.Kind{chaos.HalfOpenDatabase})
		size.faults = 4 * len(kinds)
	}
	size.kinds = kinds
	endure(t, size)
}

// TestChaosOnSQLite is like TestChaos, for one server with an embedded store whose disk is repeatedly
// full.
func TestChaosOnSQLite(t *testing.T) {
	size, kinds := shortChaos, slices.Concat(processFaults, []chaos.Kind{chaos.FullDisk, chaos.FullDisk})
	size.faults = len(kinds)
	if chaosIsLong() {
		size, kinds = longChaos, slices.Concat(kinds, clockFaults)
		size.faults = 3 * len(kinds)
	}
	size.kinds, size.sqlite, size.servers, size.workers = kinds, true, 1, 2
	endure(t, size)
}

// endure runs agents while the faults of one chaos.Plan occur. At the end it checks the results of the
// agents.
func endure(t *testing.T, size chaosSize) {
	t.Helper()
	size = size.changed(t)
	seed := seedOf(t)
	size.plain = plainServers(seed, size.servers)
	f := newFleet(t, size)
	began := time.Now() // a build of the program before this does not count
	ctx, cancel := context.WithTimeout(t.Context(), size.limit)
	defer cancel()
	if size.leases {
		f.watchLeases()
	}
	l := f.newLoad(ctx, seed)
	storm := f.newFaultInjector(chaos.Plan(rand.New(rand.NewPCG(seed, 0)), size.plan()))
	storm.blow(l.over())
	runs := l.gather()
	for _, w := range l.wanderers {
		w.Compare(ctx)
	}
	report := chaos.Report{
		Seed: seed, Store: "PostgreSQL", Servers: size.servers, Plain: size.plain, Workers: size.workers, Runs: size.runs, Turns: size.turns,
		Took: time.Since(began), Lease: size.lease, Faults: storm.done, Takeovers: chaos.Takeovers(storm.kills, runs),
		Notes: f.notes, Wrong: l.wrong,
	}
	if size.sqlite {
		report.Store = "SQLite"
	}
	for _, r := range runs {
		report.Wrong = append(report.Wrong, chaos.Check(r)...)
	}
	if size.leases {
		report.Wrong = append(report.Wrong, f.takenLeases()...)
	}
	l.countReaders(&report)
	report.Measure(runs)
	conclude(t, &report, f.root)
}

// plainServers decides, for each server, whether its store runs without optimizations. Each server
// runs without them for half of all seeds.
func plainServers(seed uint64, servers int) []bool {
	plain := make([]bool, servers)
	for i := range plain {
		plain[i] = seed>>i&1 == 1
	}
	return plain
}

// disk returns the size in bytes of the volume for the database. It is three times the size of the
// database that a test writes.
func (s chaosSize) disk() int { return 32<<20 + s.runs*s.turns*80<<10 }

// changed returns the size with changes that environment variables request.
func (s chaosSize) changed(t *testing.T) chaosSize {
	t.Helper()
	s.runs, s.turns = number(t, "PERDURE_CHAOS_RUNS", s.runs), number(t, "PERDURE_CHAOS_TURNS", s.turns)
	s.faults = number(t, "PERDURE_CHAOS_FAULTS", s.faults)
	if only := os.Getenv("PERDURE_CHAOS_KINDS"); only != "" {
		s.kinds = nil
		for kind := range strings.SplitSeq(only, ",") {
			s.kinds = append(s.kinds, chaos.Kind(kind))
		}
	}
	s.clocks = slices.ContainsFunc(clockFaults, func(k chaos.Kind) bool { return slices.Contains(s.kinds, k) })
	return s
}

// blow causes the faults of the plan at their times. It returns when the channel `over` is closed,
// which means that all runs have ended, and no fault is active any more.
func (s *faultInjector) blow(over <-chan struct{}) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended || len(s.healing) > 0; {
		if ended {
			s.plan = nil // no run is left to disturb
		}
		s.step()
		select {
		case <-over:
			ended, over = true, nil
		case <-tick.C:
		}
	}
}

func (s chaosSize) plan() chaos.Size {
	return chaos.Size{Servers: s.servers, Workers: s.workers, Kinds: s.kinds, Count: s.faults, Gap: s.gap, Lease: s.lease, Longest: s.hintless}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func (l *load) countReaders(r *chaos.Report) {
	for _, run := range l.runs {
		for _, reader := range run.readers {
			r.Counts.Readers++
			r.Counts.Reconnects += reader.breaks
		}
	}
}

// conclude logs the report, and fails the test if the report has errors.
func conclude(t *testing.T, r *chaos.Report, kept string) {
	t.Helper()
	dir := kept
	if wanted := os.Getenv("PERDURE_CHAOS_REPORT"); wanted != "" {
		dir = filepath.Join(wanted, t.Name())
	}
	if err := r.Write(dir); err != nil {
		t.Error(err)
	}
	t.Logf("%s", "\n"+r.Table())
	for i, wrong := range r.Wrong {
		if i == 50 {
			t.Errorf("and %d more, in %s", len(r.Wrong)-i, fmt.Sprint(dir, "/chaos.json"))
			break
		}
		t.Error(wrong)
	}
	for _, note := range r.Notes {
		if t.Failed() {
			t.Log(note)
		}
	}
	if t.Failed() {
		t.Logf("PERDURE_E2E_SEED=%d makes the same plan", r.Seed)
	}
}
