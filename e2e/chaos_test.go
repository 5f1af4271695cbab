package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/e2e/chaos"
)

// chaosSize says how much of everything there is.
type chaosSize struct {
	servers, workers int
	runs, turns      int
	readers          int    // of each run
	pause            string // of a tool between its effects, in seconds
	lease            time.Duration
	rampUp           time.Duration // within which the runs begin
	speech           time.Duration // within which each message is sent
	kinds            []chaos.Kind
	faults           int
	gap              time.Duration
	limit            time.Duration // of all of it
}

// The short form runs with the other tests, the long one with make chaos.
var (
	shortChaos = chaosSize{
		servers: 3, workers: 3, runs: 12, turns: 8, readers: 1, pause: "0.05", lease: 1500 * time.Millisecond,
		rampUp: 2 * time.Second, speech: 6 * time.Second, kinds: chaosKinds, faults: len(chaosKinds), gap: 700 * time.Millisecond, limit: 3 * time.Minute,
	}
	longChaos = chaosSize{
		servers: 3, workers: 3, runs: 200, turns: 20, readers: 1, pause: "0.2", lease: 3 * time.Second,
		rampUp: 20 * time.Second, speech: 40 * time.Second, kinds: slowKinds, faults: 4 * len(slowKinds), gap: 2 * time.Second, limit: 20 * time.Minute,
	}
)

// chaosKinds are the faults of a fleet.
var chaosKinds = []chaos.Kind{
	chaos.KillServer, chaos.KillWorker, chaos.StopServer, chaos.StopWorker,
	chaos.RestartDatabase, chaos.CrashDatabase, chaos.DropConnections,
	chaos.CutWorker, chaos.HoldUp, chaos.HoldDown, chaos.HalfOpen, chaos.DelayWorker,
	chaos.CutDatabase, chaos.HoldDatabase, chaos.DelayDatabase,
}

// slowKinds take a server longer to get over than the short form has time for.
var slowKinds = append([]chaos.Kind{chaos.HalfOpenDatabase}, chaosKinds...)

// Whatever happens to servers, workers, database and connections while agents
// work, their clients speak to them and read along: no message, effect, model
// call, signal or event is lost or doubled, and every run ends.
func TestChaos(t *testing.T) {
	size := shortChaos
	if os.Getenv("PERDURE_CHAOS") == "long" {
		size = longChaos
	}
	size.runs, size.turns = number(t, "PERDURE_CHAOS_RUNS", size.runs), number(t, "PERDURE_CHAOS_TURNS", size.turns)
	if only := os.Getenv("PERDURE_CHAOS_KINDS"); only != "" {
		size.kinds = nil
		for kind := range strings.SplitSeq(only, ",") {
			size.kinds = append(size.kinds, chaos.Kind(kind))
		}
	}
	size.faults = number(t, "PERDURE_CHAOS_FAULTS", size.faults)
	seed := seedOf(t)
	began := time.Now()
	f := newFleet(t, size)
	ctx, cancel := context.WithTimeout(t.Context(), size.limit)
	defer cancel()
	l := f.newLoad(ctx, seed)
	storm := f.newStorm(chaos.Plan(rand.New(rand.NewPCG(seed, 0)), size.plan()))
	storm.blow(ctx, l.over())
	runs := l.gather()
	report := chaos.Report{
		Seed: seed, Store: "PostgreSQL", Servers: size.servers, Workers: size.workers, Runs: size.runs, Turns: size.turns,
		Took: time.Since(began), Lease: size.lease, Faults: storm.done, Takeovers: chaos.Takeovers(storm.kills, runs),
		Notes: f.notes, Wrong: l.wrong,
	}
	for _, r := range runs {
		report.Wrong = append(report.Wrong, chaos.Check(r)...)
	}
	l.countReaders(&report)
	report.Measure(runs)
	conclude(t, &report, f.root)
}

// blow goes through the plan, and waits for the runs' end.
func (s *storm) blow(ctx context.Context, over <-chan struct{}) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended || len(s.healing) > 0; {
		if !ended {
			s.step()
		} else {
			s.plan = nil // there is nothing left to disturb
			s.step()
		}
		select {
		case <-over:
			ended, over = true, nil
		case <-tick.C:
		}
	}
}

func (s chaosSize) plan() chaos.Size {
	return chaos.Size{Servers: s.servers, Workers: s.workers, Kinds: s.kinds, Count: s.faults, Gap: s.gap, Lease: s.lease, Longest: time.Minute}
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

// conclude shows the report, and fails the test with what is wrong.
func conclude(t *testing.T, r *chaos.Report, kept string) {
	t.Helper()
	dir := cmp.Or(os.Getenv("PERDURE_CHAOS_REPORT"), kept)
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
