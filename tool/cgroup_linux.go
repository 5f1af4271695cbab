package tool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
)

// Names of control groups below the worker's own.
const (
	workerGroupName    = "perdure-worker"
	commandGroupPrefix = "perdure-call-"
)

// commandGroupName is what names of commands' groups look like.
var commandGroupName = regexp.MustCompile("^" + commandGroupPrefix + "[0-9a-f]{16}$")

// ControlGroups gives each command a control group (cgroup v2) that bounds its
// memory and processes. The nil pointer gives none. It may be used concurrently.
type ControlGroups struct {
	dir string // the control group that this process was started in

	mu    sync.Mutex
	stale []string // groups that could not be removed yet
}

// OpenControlGroups divides the control group of this process, which it may do
// where the group is delegated and has no other process: it moves the process
// into a group below, turns on the controllers, and removes groups that an
// earlier process left. The error says why commands have no control groups here.
func OpenControlGroups() (*ControlGroups, error) {
	here, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if err := here.usable(); err != nil {
		return nil, err
	}
	g := &ControlGroups{dir: here.dir}
	if err := g.divide(os.Getpid()); err != nil {
		return nil, err
	}
	if err := g.try(); err != nil {
		return nil, errors.Join(fmt.Errorf("a command does not start in a control group: %w", err), g.Close())
	}
	return g, nil
}

// divide moves the process pid, the only one in the group, below it, since a group
// has either processes or controllers for the groups below.
func (g *ControlGroups) divide(pid int) error {
	procs, err := procsOf(g.dir)
	if err != nil {
		return err
	}
	if len(procs) != 1 || procs[0] != pid {
		return fmt.Errorf("the worker's control group %s has other processes, too", g.dir)
	}
	leaf := filepath.Join(g.dir, workerGroupName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if others, err := procsOf(leaf); err != nil || len(others) > 0 {
		return errors.Join(fmt.Errorf("another worker uses the control group %s", leaf), err)
	}
	g.sweep()
	if err := writeGroup(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return errors.Join(err, os.Remove(leaf))
	}
	if err := writeGroup(g.dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return errors.Join(err, g.unite())
	}
	return nil
}

// unite moves this process back to where it was.
func (g *ControlGroups) unite() error {
	return errors.Join(
		writeGroup(g.dir, "cgroup.procs", strconv.Itoa(os.Getpid())),
		os.Remove(filepath.Join(g.dir, workerGroupName)),
	)
}

// sweep kills and removes groups of commands whose worker is gone. No worker lives
// in the group when it is called, so they are nobody's.
func (g *ControlGroups) sweep() {
	entries, _ := os.ReadDir(g.dir)
	for _, e := range entries {
		if !e.IsDir() || !commandGroupName.MatchString(e.Name()) {
			continue
		}
		if err := removeGroup(filepath.Join(g.dir, e.Name())); err != nil {
			slog.Warn("a control group of an earlier worker is left", "error", err)
		}
	}
}

// try starts a command in a group.
func (g *ControlGroups) try() error {
	c, err := g.open(Limits{}.filled())
	if err != nil {
		return err
	}
	defer c.close()
	shell, err := findShell()
	if err != nil {
		return err
	}
	cmd := exec.Command(shell, "-c", "exit 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(c.file.Fd())}
	return cmd.Run()
}

// Close removes what is left of commands, and moves this process back. No command
// may run any more.
func (g *ControlGroups) Close() error {
	if g == nil {
		return nil
	}
	g.removeStale()
	return errors.Join(writeGroup(g.dir, "cgroup.subtree_control", "-memory -pids"), g.unite())
}

// take creates a group for one command. It returns nil where there are none; then
// the watcher holds the limits.
func (g *ControlGroups) take(l Limits) *commandGroup {
	if g == nil {
		return nil
	}
	c, err := g.open(l)
	if err != nil {
		slog.Warn("a command runs without a control group", "error", err)
		return nil
	}
	return c
}

// open creates a group for one command.
func (g *ControlGroups) open(l Limits) (*commandGroup, error) {
	g.removeStale()
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	dir := filepath.Join(g.dir, commandGroupPrefix+hex.EncodeToString(id[:]))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &commandGroup{all: g, dir: dir, limits: l}
	if err := c.bound(); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	var err error
	if c.file, err = os.Open(dir); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return c, nil
}

// removeStale tries again to remove groups whose processes did not die at once.
func (g *ControlGroups) removeStale() {
	g.mu.Lock()
	stale := g.stale
	g.stale = nil
	g.mu.Unlock()
	for _, dir := range stale {
		g.remove(dir)
	}
}

// remove removes a group, now or later.
func (g *ControlGroups) remove(dir string) {
	if err := removeGroup(dir); err != nil {
		slog.Warn("a control group of a command is not removed yet", "error", err)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stale = append(g.stale, dir)
	}
}
