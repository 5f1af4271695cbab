package group

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a process group that leads its own session, together with the processes that left it:
// members that changed their process group, as with set -m, and descendants that left the session.
// Descendants that left the session are known only if they were observed while their parent lived.
type Group struct {
	id int
	// First says that the group's leader is the first process of a PID namespace. That process is
	// not part of the command, and all other processes die with it.
	First bool
	// Control is the command's control group; nil if there is none.
	Control *Control
	// Leaves says that the command can leave its control group, because it can write the group's
	// files.
	Leaves bool
	known  map[int]uint64 // pid and start time of all members observed so far
}

// New returns the process group with this id.
func New(id int) *Group { return &Group{id: id, known: map[int]uint64{}} }

// members returns the living processes of the group, without zombies.
func (g *Group) members() []proc {
	procs := allProcs()
	family := map[int]bool{g.id: true}
	for _, pid := range g.Control.members() {
		family[pid] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range procs {
			ours := p.group == g.id || p.session == g.id || family[p.parent] || g.knows(p)
			if ours && !family[p.pid] {
				family[p.pid], grown = true, true
			}
		}
	}
	var living []proc
	for _, p := range procs {
		if family[p.pid] && !p.zombie && !(g.First && p.pid == g.id) {
			living = append(living, p)
			g.known[p.pid] = p.start
		}
	}
	return living
}

func (g *Group) knows(p proc) bool {
	start, known := g.known[p.pid]
	return known && start == p.start
}

// Excess describes the limit that the command exceeds, or returns "".
func (g *Group) Excess(l Limits) string {
	if g.Control != nil {
		if over := g.Control.excess(g.First); over != "" || !g.Leaves {
			return over
		}
	}
	return l.excess(g.usage(l))
}

// KilledFor describes the limit for which the kernel killed the command, or returns "".
func (g *Group) KilledFor() string {
	if g.Control == nil {
		return ""
	}
	return g.Control.outOfMemory()
}

// Alive returns the number of living processes.
func (g *Group) Alive() int { return len(g.members()) }

// Stop sends SIGTERM to each member once. After the time grace it sends SIGKILL to the members that
// still run.
func (g *Group) Stop(grace time.Duration) {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	asked := map[int]uint64{}
	for {
		members := g.members()
		if len(members) == 0 {
			return
		}
		for _, p := range members {
			if asked[p.pid] != p.start {
				asked[p.pid] = p.start
				signalProc(p, syscall.SIGTERM)
			}
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			g.Kill()
			return
		}
	}
}

// Kill kills the members and the processes that they start in the meantime. It waits at most one
// second for their end, because a process in an uninterruptible sleep dies only when it wakes.
func (g *Group) Kill() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	if g.First {
		_ = syscall.Kill(g.id, syscall.SIGKILL) // the process is not reaped yet, so no other process has its pid
	}
	for range 200 {
		members := g.members()
		if len(members) == 0 {
			return
		}
		g.Control.kill()
		_ = syscall.Kill(-g.id, syscall.SIGKILL)
		for _, p := range members {
			signalProc(p, syscall.SIGKILL)
		}
		<-tick.C
	}
}

// AwaitExit returns when the process has ended. It does not reap the process.
func AwaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
