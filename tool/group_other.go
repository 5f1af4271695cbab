//go:build !linux

package tool

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// group is a process group. Without /proc, processes that left the group are not found.
type group struct {
	id    int
	first bool // there are no PID namespaces
}

// excess returns "", because limits of processes and memory are not enforced on this system.
func (*group) excess(Limits) string { return "" }

func (*group) killedFor() string { return "" }

func newGroup(id int) *group { return &group{id: id} }

// alive returns 1 if the group has members. Some systems count a leader that has ended but is not
// reaped.
func (g *group) alive() int {
	if err := syscall.Kill(-g.id, 0); errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return 0
	}
	return 1
}

// stop sends SIGTERM to the members, and kills those that still run after grace.
func (g *group) stop(grace time.Duration) {
	_ = syscall.Kill(-g.id, syscall.SIGTERM)
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for g.alive() > 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			g.kill()
			return
		}
	}
}

func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// awaitExit returns when the process has ended. On this system it reaps the process.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
