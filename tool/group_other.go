//go:build !linux

package tool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// group is a process group. Without /proc only the group itself is seen.
type group struct {
	id    int
	first bool // there are no PID namespaces
}

// excess is "" here: the limits of processes and memory do not hold.
func (*group) excess(Limits) string { return "" }

func (*group) killedFor() string { return "" }

func newGroup(id int) *group { return &group{id: id} }

// alive is 1 if the group has members. Its leader, ended and not reaped, is one
// too where the system counts it.
func (g *group) alive() int {
	if err := syscall.Kill(-g.id, 0); errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return 0
	}
	return 1
}

// stop asks the members to end, and kills those that have not after grace.
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

// awaitExit returns when the process has ended. Here that reaps it.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// openedPath is where an open file was opened, symlinks resolved.
func openedPath(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
