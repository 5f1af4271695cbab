package chaos

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

var allKinds = []Kind{
	KillServer, KillWorker, StopServer, StopWorker, RestartDatabase, CrashDatabase, DropConnections,
	CutWorker, HoldUp, HoldDown, HalfOpen, DelayWorker, CutDatabase, HoldDatabase, HalfOpenDatabase, DelayDatabase,
	StopHints, CutHints, HoldHints, FullDisk, JumpServer, JumpWorker,
}

var someSize = Size{
	Servers: 3, Workers: 3, Kinds: allKinds, Count: 3 * len(allKinds), Gap: time.Second, Lease: 2 * time.Second, Longest: time.Minute,
}

func plan(seed uint64) []Fault { return Plan(rand.New(rand.NewPCG(seed, 0)), someSize) }

// TestASeedIsAPlan checks that equal seeds have equal plans, and that different seeds have different
// plans.
func TestASeedIsAPlan(t *testing.T) {
	if !reflect.DeepEqual(plan(1), plan(1)) {
		t.Error("the same seed makes two plans")
	}
	if reflect.DeepEqual(plan(1), plan(2)) {
		t.Error("two seeds make the same plan")
	}
}

// TestPlansAreWhole checks that every plan contains all kinds of faults. A stopped process is
// stopped for longer than a lease, and faults with the same target do not overlap.
func TestPlansAreWhole(t *testing.T) {
	for seed := range uint64(50) {
		counts, busy := map[Kind]int{}, map[string]time.Duration{}
		for _, f := range plan(seed) {
			counts[f.Kind]++
			if f.At < busy[f.Place()] {
				t.Errorf("seed %d: %s begins before what went before has ended", seed, f)
			}
			busy[f.Place()] = f.At + f.For
			if (f.Kind == StopServer || f.Kind == StopWorker) && f.For <= someSize.Lease {
				t.Errorf("seed %d: %s is within the lease", seed, f)
			}
		}
		for _, kind := range allKinds {
			if counts[kind] != 3 {
				t.Errorf("seed %d: %s comes %d times", seed, kind, counts[kind])
			}
		}
	}
}
