package group

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Group contains the processes of a command: a process group that leads its own session, and the
// processes of the command that have left the process group. A process leaves the process group by
// moving to another one, as after set -m in a shell, or by leaving the session. The Group finds a
// process that has left the session through its parent, while the parent lives, or through the
// control group. A process that was found once is found again later.
type Group struct {
	id int
	// First says that the leader of the group is the first process of a PID namespace. This process
	// is not part of the command, and all other processes of the namespace die with it.
	First bool
	// Control is the command's control group; nil if there is none.
	Control *Control
	// Leaves says that the command can leave its control group, because it may write the files of the
	// control group.
	Leaves bool
	known  map[int]uint64 // pid and start time of all members observed so far
}

// New returns the Group whose process group has this id.
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

// Excess returns a description of the limit that the command exceeds, or "" if it exceeds none.
func (g *Group) Excess(l Limits) string {
	if g.Control != nil {
		if over := g.Control.excess(g.First); over != "" || !g.Leaves {
			return over
		}
	}
	return l.excess(g.usage(l))
}

// KilledFor returns a description of the limit for which the kernel has killed the command, or "" if there
// is none.
func (g *Group) KilledFor() string {
	if g.Control == nil {
		return ""
	}
	return g.Control.outOfMemory()
}

// Alive returns the number of living processes in the group.
func (g *Group) Alive() int { return len(g.members()) }

// Stop sends SIGTERM to each member once. After the time `grace` it sends SIGKILL to the members
// that still run.
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

// Kill kills the members, and the processes that they start in the meantime. It waits at most one second
// for their end, because a process in an uninterruptible sleep dies only when it wakes.
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

// AwaitExit waits until the process of cmd has ended. It leaves the process a zombie, so that its pid is
// not used again.
func AwaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
