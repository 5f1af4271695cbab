package tool

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one row of the process table. start is in clock ticks since boot. pid and start together
// identify a process until the next boot.
type proc struct {
	pid, parent, group, session int
	start                       uint64
	zombie                      bool
}

// readProc reads /proc/<pid>/stat. ok is false if the process does not exist.
func readProc(pid int) (p proc, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The name is in parentheses and may itself contain parentheses.
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return proc{}, false
	}
	p.pid = pid
	p.zombie = fields[0] == "Z" || fields[0] == "X"
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	p.session, _ = strconv.Atoi(fields[3])
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err == nil
}

func allProcs() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var procs []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				procs = append(procs, p)
			}
		}
	}
	return procs
}

// group is a process group that leads its own session, with the processes that left the group:
// members that changed their group, as with set -m, and descendants that left the session. The
// latter are known only if they were observed while their parent lived.
type group struct {
	id int
	// first is set if the leader is the first process of a PID namespace. That process is not part
	// of the command, and all others die with it.
	first bool
	// control is the command's control group; nil if there is none.
	control *commandGroup
	// leaves is set if the command can leave its control group, because it can write the group's
	// files.
	leaves bool
	known  map[int]uint64 // pid and start time of all members observed so far
}

func newGroup(id int) *group { return &group{id: id, known: map[int]uint64{}} }

// members returns the living processes of the group, without zombies.
func (g *group) members() []proc {
	procs := allProcs()
	family := map[int]bool{g.id: true}
	for _, pid := range g.control.members() {
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
		if family[p.pid] && !p.zombie && !(g.first && p.pid == g.id) {
			living = append(living, p)
			g.known[p.pid] = p.start
		}
	}
	return living
}

func (g *group) knows(p proc) bool {
	start, known := g.known[p.pid]
	return known && start == p.start
}

// excess describes the limit that the command exceeds, or returns "".
func (g *group) excess(l Limits) string {
	if g.control != nil {
		if over := g.control.excess(g.first); over != "" || !g.leaves {
			return over
		}
	}
	return l.excess(g.usage(l))
}

// killedFor describes the limit for which the kernel killed the command, or returns "".
func (g *group) killedFor() string {
	if g.control == nil {
		return ""
	}
	return g.control.outOfMemory()
}

func (g *group) alive() int { return len(g.members()) }

// signalProc sends a signal to p unless p's pid now belongs to another process. It ignores a
// process that has ended.
func signalProc(p proc, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// stop sends SIGTERM to each member once, and SIGKILL to the members that still run after grace.
func (g *group) stop(grace time.Duration) {
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
			g.kill()
			return
		}
	}
}

// kill kills the members and the processes that they start in the meantime. It waits at most one
// second for their end, because a process in an uninterruptible sleep dies only when it wakes.
func (g *group) kill() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	if g.first {
		_ = syscall.Kill(g.id, syscall.SIGKILL) // the process is not reaped yet, so no other process has its pid
	}
	for range 200 {
		members := g.members()
		if len(members) == 0 {
			return
		}
		g.control.kill()
		_ = syscall.Kill(-g.id, syscall.SIGKILL)
		for _, p := range members {
			signalProc(p, syscall.SIGKILL)
		}
		<-tick.C
	}
}

// awaitExit returns when the process has ended. It does not reap the process.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// bootID returns an id of the current boot, because pids and start times restart at each boot.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
