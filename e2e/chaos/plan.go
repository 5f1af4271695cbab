package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of fault that the chaos suite causes.
type Kind string

// Faults of processes, of the database, of the hints between servers, and of the connections
// between processes.
const (
	KillServer Kind = "kill server"
	KillWorker Kind = "kill worker"
	StopServer Kind = "stop server" // SIGSTOP, and SIGCONT after For
	StopWorker Kind = "stop worker"

	RestartDatabase Kind = "restart database" // a clean restart that does not wait for clients
	CrashDatabase   Kind = "crash database"   // a crash with recovery
	DropConnections Kind = "drop connections" // pg_terminate_backend ends some of the connections

	CutWorker   Kind = "cut worker"   // the worker's connections break, and new ones are refused for a while
	HoldUp      Kind = "hold up"      // data from the worker does not arrive until the fault heals
	HoldDown    Kind = "hold down"    // answers to the worker do not arrive until the fault heals
	HalfOpen    Kind = "half-open"    // the worker's connections are dead permanently, and the worker is not notified
	DelayWorker Kind = "delay worker" // all data from and to the worker arrives later

	CutDatabase      Kind = "cut database" // this and the next three: as for a worker, between one server and the database
	HoldDatabase     Kind = "hold database"
	HalfOpenDatabase Kind = "half-open database"
	DelayDatabase    Kind = "delay database"

	StopHints Kind = "stop hints" // NATS is unavailable to all servers for a while
	CutHints  Kind = "cut hints"  // NATS is unavailable to one server for a while
	HoldHints Kind = "hold hints"

	FullDisk Kind = "full disk" // the disk with the SQLite file has no free space

	JumpServer Kind = "jump server" // the clock of a server is moved by By, and corrected after For
	JumpWorker Kind = "jump worker"
)

// Fault is one planned fault.
type Fault struct {
	Kind Kind          `json:"kind"`
	At   time.Duration `json:"at"`  // since the start of the plan
	For  time.Duration `json:"for"` // until it heals, or the process is started again
	// Target is the number of the affected server or worker. It has no meaning for kinds of faults
	// that affect neither.
	Target int `json:"target"`
	// By is how far the fault moves a clock.
	By time.Duration `json:"by,omitempty"`
}

// String returns a description of the fault.
func (f Fault) String() string {
	text := fmt.Sprintf("%s %d at %s for %s", f.Kind, f.Target, f.At.Round(time.Millisecond), f.For.Round(time.Millisecond))
	if f.By != 0 {
		text += fmt.Sprintf(" by %s", f.By)
	}
	return text
}

// Size says how many faults a plan has, and how long they last.
type Size struct {
	Servers, Workers int
	// Kinds are the kinds of faults in the plan. Each occurs once before any occurs a second time.
	Kinds []Kind
	Count int
	// Gap is the mean time from one fault to the next.
	Gap time.Duration
	// Lease is the duration of the workers' leases. A fault that stops a process lasts longer than
	// a lease.
	Lease time.Duration
	// Longest is the duration of a fault of kind StopHints, during which servers get no hints.
	Longest time.Duration
}

// Plan returns a plan of faults, which depends only on size and the random source.
func Plan(random *rand.Rand, size Size) []Fault {
	var plan []Fault
	var deck []Kind
	at := size.Gap
	busy := map[string]time.Duration{}
	for range size.Count {
		if len(deck) == 0 {
			deck = slices.Clone(size.Kinds)
			random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		f := size.fault(random, deck[0])
		deck = deck[1:]
		// Faults of the same place do not overlap; faults of different places may.
		f.At = max(at, busy[f.Place()])
		busy[f.Place()] = f.At + f.For + size.Gap/2
		plan = append(plan, f)
		at += time.Duration(float64(size.Gap) * (0.5 + random.Float64()))
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return int(a.At - b.At) })
	return plan
}

func (s Size) fault(random *rand.Rand, kind Kind) Fault {
	f := Fault{Kind: kind}
	short := time.Duration(random.Int64N(int64(s.Lease)))
	long := s.Lease + s.Lease/2 + short
	switch kind {
	case KillServer, KillWorker, CutWorker, CutDatabase, DelayDatabase, DelayWorker, CutHints:
		f.For = short
	case StopServer, StopWorker, HoldUp, HoldDown, HoldDatabase, HoldHints, FullDisk:
		f.For = long
	case StopHints:
		f.For = s.Longest
	case JumpServer, JumpWorker:
		f.For = long
		f.By = time.Duration(random.Int64N(int64(2*time.Hour))) - time.Hour
	}
	switch {
	case f.OfServer():
		f.Target = random.IntN(s.Servers)
	case f.OfWorker():
		f.Target = random.IntN(s.Workers)
	}
	return f
}

// OfServer reports whether the fault has a server as its target.
func (f Fault) OfServer() bool {
	return slices.Contains([]Kind{KillServer, StopServer, CutDatabase, HoldDatabase, HalfOpenDatabase, DelayDatabase, CutHints, HoldHints, JumpServer}, f.Kind)
}

// OfWorker reports whether the fault has a worker as its target.
func (f Fault) OfWorker() bool {
	return slices.Contains([]Kind{KillWorker, StopWorker, CutWorker, HoldUp, HoldDown, HalfOpen, DelayWorker, JumpWorker}, f.Kind)
}

// Place returns a name for the part of the fleet that the fault affects.
func (f Fault) Place() string {
	switch {
	case f.OfServer():
		return fmt.Sprintf("server %d", f.Target)
	case f.OfWorker():
		return fmt.Sprintf("worker %d", f.Target)
	case f.Kind == StopHints:
		return "hints"
	}
	return "database"
}
