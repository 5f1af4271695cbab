//go:build !linux

package group

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// Group is a process group. On this system, processes that have left the group are not found.
type Group struct {
	id int
}

// Excess returns "", because limits of processes and memory are not enforced on this system.
func (*Group) Excess(Limits) string { return "" }

// KilledFor returns "", because this system does not report why a process was killed.
func (*Group) KilledFor() string { return "" }

// New returns the process group with this id.
func New(id int) *Group { return &Group{id: id} }

// Alive returns 1 if the group has members, and 0 otherwise. On some systems, a leader that has ended
// counts as a member until it is reaped.
func (g *Group) Alive() int {
	if err := syscall.Kill(-g.id, 0); errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return 0
	}
	return 1
}

// Stop sends SIGTERM to the members. After the time `grace` it kills the members that still run.
func (g *Group) Stop(grace time.Duration) {
	_ = syscall.Kill(-g.id, syscall.SIGTERM)
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for g.Alive() > 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			g.Kill()
			return
		}
	}
}

// Kill kills all members of the group.
func (g *Group) Kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// AwaitExit returns when the process has ended. On this system it reaps the process.
func AwaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
